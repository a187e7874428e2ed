import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '../../../core/bytes.ts';
import { Digest, SequenceHash } from '../../../core/state/digest.ts';
import { hashOfRecord, hexOf } from '../../../simulation/recount-digest.ts';

const SHARD = 'shardId-000000000000';
const numbers = Array.from({ length: 200 }, (_, index) => String(10n ** 55n + BigInt(index)));

function digestOf(order: readonly string[], shardId = SHARD): Digest {
  const digest = new Digest();
  const hash = new SequenceHash(shardId);
  for (const number of order) digest.add(number, hash);
  return digest;
}

describe('a digest', () => {
  it('does not depend on the order, nor on how the records are divided', () => {
    const whole = digestOf(numbers);
    const merged = digestOf(numbers.slice(0, 77));
    merged.merge(digestOf(numbers.slice(77).reverse()));
    expect(merged.value()).toEqual(whole.value());
    expect(merged.equals(whole)).toBe(true);
  });

  it('tells a missing record, one counted twice, and one of another place or shard', () => {
    const [first, ...rest] = numbers as [string, ...string[]];
    const others = [
      digestOf(rest),
      digestOf([...numbers, first]),
      digestOf(['1', ...rest]),
      digestOf(numbers, 'shardId-000000000001'),
    ];
    const sums = new Set([digestOf(numbers), ...others].map((digest) => digest.value().sum));
    expect(sums.size).toBe(5);
  });

  it('tells sequence numbers that differ in any one of 56 digits', () => {
    const digits = '4'.repeat(56);
    const others = Array.from({ length: 56 }, (_, at) => {
      return `${digits.slice(0, at)}5${digits.slice(at + 1)}`;
    });
    const sums = [digits, ...others].map((number) => digestOf([number]).value().sum);
    expect(new Set(sums).size).toBe(57);
  });

  // By another implementation, of what docs/checkpoint-format.md says.
  it.each([
    '0',
    '7',
    '12345678',
    '123456789',
    '4'.repeat(55),
    '9'.repeat(56),
    '49590338271490256608559692538361571095921575989136588898',
  ])('adds the documented hash of shard and sequence number: %s', (number) => {
    for (const shardId of [SHARD, 'shardId-000000000001', 'x'.repeat(128)]) {
      const sum = hexOf(hashOfRecord(shardId, number));
      expect(digestOf([number], shardId).value()).toEqual({ count: 1, sum });
    }
  });

  it('is frozen', () => {
    const frozen = { count: 200, sum: '3d033884e503bdd4' };
    expect(digestOf(numbers).value()).toEqual(frozen);
  });

  it('carries from its low word to its high one', () => {
    const digest = new Digest(1, 0xffff_ffff, 1);
    digest.merge(new Digest(2, 1, 0xffff_fffe));
    expect(digest.value()).toEqual({ count: 3, sum: '0000000000000000' });
  });

  it('comes back from its bytes, and a copy goes its own way', () => {
    const digest = digestOf(numbers);
    const writer = new ByteWriter();
    digest.encode(writer);
    const read = Digest.decode(new ByteReader(writer.finish()));
    expect(read.value()).toEqual(digest.value());
    const copy = digest.copy();
    copy.add('7', new SequenceHash(SHARD));
    expect(copy.equals(digest)).toBe(false);
    expect(read.equals(digest)).toBe(true);
  });
});
