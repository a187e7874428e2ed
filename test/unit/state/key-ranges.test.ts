import { describe, expect, it } from 'vitest';
import { compareBytes } from '../../../core/bytes.ts';
import { KeyRanges } from '../../../core/state/key-ranges.ts';
import { hashKey, KeyTable } from '../../../core/state/key-table.ts';

const encoder = new TextEncoder();

/** Keys in no order, as many as two chunks and some that are in none. */
const COUNT = 40_000;
const keyOf = (index: number) => encoder.encode(`key ${(index * 7_919) % COUNT}`);

function add(table: KeyTable, from: number, to: number): void {
  for (let index = from; index < to; index++) {
    const key = keyOf(index);
    table.add(key, key.length, hashKey(key), index);
  }
}

/** All of them by key. */
const SORTED = Array.from({ length: COUNT }, (_, index) => ({ index, key: keyOf(index) })).sort(
  (a, b) => compareBytes(a.key, b.key),
);

function expected(count: number, from: Uint8Array | null, to: Uint8Array | null): string {
  const isWithin = (key: Uint8Array) =>
    (from === null || compareBytes(key, from) >= 0) && (to === null || compareBytes(key, to) < 0);
  const found = SORTED.filter(({ index, key }) => index < count && isWithin(key));
  return found.map(({ index }) => index).join(' ');
}

describe('ranges of keys', () => {
  const bounds = ['key 1', 'key 25', 'key 2500', 'key 9', 'zzz'].map((text) =>
    encoder.encode(text),
  );

  it('are those of all chunks, and of the keys behind them, in order', () => {
    const table = new KeyTable();
    const ranges = new KeyRanges();
    let count = 0;
    for (const size of [100, 16_384, 16_385, 33_000, COUNT]) {
      add(table, count, size);
      count = size;
      table.commit();
      for (const [from, to] of [
        [null, bounds[1]],
        [bounds[0], bounds[2]],
        [bounds[2], null],
        [bounds[3], bounds[4]],
        [bounds[4], null],
        [null, null],
      ] as const) {
        const found = ranges.between(table, from ?? null, to ?? null);
        expect(found.join(' ')).toBe(expected(count, from ?? null, to ?? null));
      }
    }
    expect(ranges.heapBytes()).toBe(2 * 16_384 * 4);
    ranges.forget(table);
    expect(ranges.heapBytes()).toBe(0);
  });

  it('have keys that are not committed, and forget those that an undo took away', () => {
    const table = new KeyTable();
    const ranges = new KeyRanges();
    add(table, 0, 16_000);
    table.commit();
    add(table, 16_000, 20_000);
    for (let ordinal = 16_000; ordinal < 20_000; ordinal++) table.touch(ordinal);
    const [, from = null] = bounds;
    expect(ranges.between(table, from, null).join(' ')).toBe(expected(20_000, from, null));
    table.undo(() => {});
    expect(ranges.between(table, from, null).join(' ')).toBe(expected(16_000, from, null));
  });
});
