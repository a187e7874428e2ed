import { describe, expect, it } from 'vitest';
import { BINS_KEPT_MAX, BinStore } from '../../../core/aggregate/bin-store.ts';
import { ByteReader, ByteWriter } from '../../../core/bytes.ts';
import { toHex } from './slots.ts';

describe('a store of bins', () => {
  it('counts a few bins in little memory', () => {
    const store = storeOf([5, -300, 2000 - 300]);
    expect(countsOf(store)).toEqual([
      [-300, 1],
      [5, 1],
      [1700, 1],
    ]);
    expect(store.heapBytes()).toBeLessThan(200);
  });

  it('says by how much it grew', () => {
    const store = new BinStore();
    let bytes = store.heapBytes();
    for (const bin of [0, 900, 1, 1, ...range(2, 400), -500, 5000, 5001]) {
      bytes += store.add(bin, 1);
      expect(store.heapBytes()).toBe(bytes);
    }
  });

  it('keeps every count when it becomes a window and when the window moves', () => {
    for (const bins of [range(0, 300), range(0, 300).reverse(), shuffled(range(-150, 150))]) {
      const store = storeOf([...bins, ...bins]);
      expect(countsOf(store)).toEqual(bins.toSorted((a, b) => a - b).map((bin) => [bin, 2]));
    }
  });

  it('keeps the highest bins and counts what is lower in the lowest of them', () => {
    const limit = 1000 - BINS_KEPT_MAX + 1;
    for (const bins of orders([limit, limit - 1, limit - 2, limit - 9000, limit + 1, 1000])) {
      expect(countsOf(storeOf(bins))).toEqual([
        [limit, 4],
        [limit + 1, 1],
        [1000, 1],
      ]);
    }
  });

  it('keeps one bin of a store whose values were all far below the new highest', () => {
    const bins = [...range(0, 100), 50_000];
    expect(countsOf(storeOf(bins))).toEqual([
      [50_001 - BINS_KEPT_MAX, 100],
      [50_000, 1],
    ]);
  });

  it('collapses the same in a window, whichever end comes first', () => {
    const bins = range(0, 5000);
    const expected = hexOf(storeOf(bins));
    expect(hexOf(storeOf(bins.toReversed()))).toBe(expected);
    expect(hexOf(storeOf(shuffled(bins)))).toBe(expected);
    const counts = countsOf(storeOf(bins));
    expect(counts.length).toBe(BINS_KEPT_MAX);
    expect(counts[0]).toEqual([5000 - BINS_KEPT_MAX, 5000 - BINS_KEPT_MAX + 1]);
  });

  it('never holds more than its 2,048 bins in memory', () => {
    const store = storeOf(shuffled(range(-8000, 8000)));
    expect(store.heapBytes()).toBeLessThan(8 * BINS_KEPT_MAX + 400);
  });

  it('merges to what one store would hold', () => {
    const parts = [range(0, 40), range(3000, 3003), shuffled(range(-2000, 2500)), [9], []];
    for (const order of orders(parts)) {
      const merged = new BinStore();
      for (const part of order) merged.merge(storeOf(part));
      expect(hexOf(merged)).toBe(hexOf(storeOf(parts.flat())));
    }
  });

  it('has clones that share nothing with it', () => {
    for (const bins of [[1, 2, 5000], range(0, 100)]) {
      const store = storeOf(bins);
      const clone = store.clone();
      expect(clone.heapBytes()).toBe(store.heapBytes());
      store.add(1, 7);
      expect(hexOf(clone)).toBe(hexOf(storeOf(bins)));
      clone.add(2, 7);
      expect(hexOf(store)).toBe(hexOf(storeOf([...bins, ...Array<number>(7).fill(1)])));
    }
  });

  it('finds the bin of a rank from either end', () => {
    for (const bins of [
      [3, 3, 7, 7, 7, 900],
      [...range(0, 50), 20, 20],
    ]) {
      const store = storeOf(shuffled(bins));
      const sorted = bins.toSorted((a, b) => a - b);
      expect(store.total()).toBe(bins.length);
      for (let rank = 0; rank < bins.length; rank++) {
        expect(store.binAtRank(rank)).toBe(sorted[rank]);
        expect(store.binAtRankFromTop(rank)).toBe(sorted[bins.length - 1 - rank]);
        if (rank < bins.length - 1) expect(store.binAtRank(rank + 0.5)).toBe(sorted[rank]);
      }
    }
  });
});

function storeOf(bins: readonly number[]): BinStore {
  const store = new BinStore();
  for (const bin of bins) store.add(bin, 1);
  return store;
}

function hexOf(store: BinStore): string {
  const writer = new ByteWriter();
  store.encode(writer);
  return toHex(writer.finish());
}

/** Bins and counts, read back from the store's bytes. */
function countsOf(store: BinStore): [number, number][] {
  const writer = new ByteWriter();
  store.encode(writer);
  const reader = new ByteReader(writer.finish());
  const bins = reader.varint();
  const counts: [number, number][] = [];
  let bin = -37_590;
  for (let index = 0; index < bins; index++) {
    bin += reader.varint();
    counts.push([bin, reader.varint()]);
  }
  reader.end();
  return counts;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** The same items in an order that has nothing to do with theirs, but is always the same. */
function shuffled(items: readonly number[]): number[] {
  return items
    .map((item, index) => ({ item, place: (index * 7919 + 13) % 10_007 }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

/** All orders of a few items. */
function orders<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) =>
    orders(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  );
}
