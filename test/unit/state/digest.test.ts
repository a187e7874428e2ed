import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '../../../core/bytes.ts';
import { Digest, digestSeed } from '../../../core/state/digest.ts';

const positions = Array.from({ length: 200 }, (_, index) => ({
  sequenceNumber: String(10n ** 55n + BigInt(index)),
  subSequence: index % 3,
}));

function digestOf(order: typeof positions, shardId = 'shardId-000000000000'): Digest {
  const digest = new Digest();
  for (const position of order) digest.add(position, digestSeed(shardId));
  return digest;
}

describe('a digest', () => {
  it('does not depend on the order, nor on how the records are divided', () => {
    const whole = digestOf(positions);
    const merged = digestOf(positions.slice(0, 77));
    merged.merge(digestOf(positions.slice(77).reverse()));
    expect(merged.value()).toEqual(whole.value());
    expect(merged.equals(whole)).toBe(true);
  });

  it('tells a missing record, one counted twice, and one of another place or shard', () => {
    const [first, ...rest] = positions as [(typeof positions)[0], ...typeof positions];
    const others = [
      digestOf(rest),
      digestOf([...positions, first]),
      digestOf([{ ...first, subSequence: 1 }, ...rest]),
      digestOf([{ ...first, sequenceNumber: '1' }, ...rest]),
      digestOf(positions, 'shardId-000000000001'),
    ];
    const sums = new Set([digestOf(positions), ...others].map((digest) => digest.value().sum));
    expect(sums.size).toBe(6);
  });

  it('carries from its low word to its high one', () => {
    const digest = new Digest(1, 0xffff_ffff, 1);
    digest.merge(new Digest(2, 1, 0xffff_fffe));
    expect(digest.value()).toEqual({ count: 3, sum: '0000000000000000' });
  });

  it('comes back from its bytes, and a copy goes its own way', () => {
    const digest = digestOf(positions);
    const writer = new ByteWriter();
    digest.encode(writer);
    const read = Digest.decode(new ByteReader(writer.finish()));
    expect(read.value()).toEqual(digest.value());
    const copy = digest.copy();
    copy.add({ sequenceNumber: '7', subSequence: 0 }, 0);
    expect(copy.equals(digest)).toBe(false);
    expect(read.equals(digest)).toBe(true);
  });
});
