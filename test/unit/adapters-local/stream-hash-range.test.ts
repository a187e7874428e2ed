import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cutHashRanges,
  decimalOfHashKey,
  findRange,
  hashKeyOfDecimal,
  hashKeyOfPartition,
} from '../../../adapters/local/stream/hash-range.ts';

const LARGEST = 2n ** 128n - 1n;

describe('hash ranges', () => {
  it('of three shards are the ones that Kinesis cuts', () => {
    const ranges = cutHashRanges(3).map(({ start, end }) => [
      decimalOfHashKey(start),
      decimalOfHashKey(end),
    ]);
    expect(ranges).toEqual([
      ['0', '113427455640312821154458202477256070484'],
      ['113427455640312821154458202477256070485', '226854911280625642308916404954512140969'],
      ['226854911280625642308916404954512140970', '340282366920938463463374607431768211455'],
    ]);
  });

  it('tile all hash keys, whatever their number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), (count) => {
        const ranges = cutHashRanges(count);
        expect(ranges).toHaveLength(count);
        let next = 0n;
        for (const { start, end } of ranges) {
          expect(start).toMatch(/^[0-9a-f]{32}$/);
          expect(BigInt(`0x${start}`)).toBe(next);
          expect(end >= start).toBe(true);
          next = BigInt(`0x${end}`) + 1n;
        }
        expect(next - 1n).toBe(LARGEST);
      }),
    );
  });

  it('find the one range that holds a key', () => {
    const anyKey = fc.bigInt({ min: 0n, max: LARGEST });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), anyKey, (count, key) => {
        const ranges = cutHashRanges(count);
        const hashKey = hashKeyOfDecimal(String(key)) as string;
        const found = findRange(
          ranges.map(({ end }) => end),
          hashKey,
        );
        const holding = ranges.findIndex(({ start, end }) => start <= hashKey && hashKey <= end);
        expect(found).toBe(holding);
      }),
    );
  });

  it('hold both of their ends', () => {
    const ranges = cutHashRanges(7);
    const ends = ranges.map(({ end }) => end);
    expect(ranges.map(({ start }) => findRange(ends, start))).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(ranges.map(({ end }) => findRange(ends, end))).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });
});

describe('hash keys', () => {
  it('of partition keys are the MD5 of their UTF-8', () => {
    expect(hashKeyOfPartition('a')).toBe('0cc175b9c0f1b6a831c399e269772661');
    expect(hashKeyOfPartition('é')).toBe('66ddcd97cfdeabb2f6fb8a999b4bc76f');
  });

  it('of decimals keep leading zeros and their ends', () => {
    expect(hashKeyOfDecimal('0')).toBe('0'.repeat(32));
    expect(hashKeyOfDecimal('255')).toBe(`${'0'.repeat(30)}ff`);
    expect(hashKeyOfDecimal(String(LARGEST))).toBe('f'.repeat(32));
  });

  it.each([String(LARGEST + 1n), '-1', '01', '1.5', '0x10', '', ' 1'])(
    'are not made of %j',
    (decimal) => {
      expect(hashKeyOfDecimal(decimal)).toBeNull();
    },
  );
});
