import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes } from '../../../core/bytes.ts';
import { encodeGroupKey } from '../../../core/state/group-key.ts';
import { hashKey, KeyTable } from '../../../core/state/key-table.ts';
import { SortedKeys, type SortedWindow } from '../../../core/state/sorted-keys.ts';

interface Entry {
  readonly key: Uint8Array;
  readonly startMs: number;
}

function finished<T>(work: Generator<void, T, void>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

function entriesOf({ windows, windowOf, ordinals }: SortedKeys): Entry[] {
  return Array.from(ordinals, (ordinal, place) => {
    const { startMs, keys } = windows[windowOf[place] as number] as SortedWindow;
    return { key: keys.keyAt(ordinal).slice(), startMs };
  });
}

function expectedOf(windows: readonly SortedWindow[]): Entry[] {
  const entries = windows.flatMap(({ startMs, keys }) =>
    Array.from({ length: keys.size }, (_, ordinal) => ({
      key: keys.keyAt(ordinal).slice(),
      startMs,
    })),
  );
  return entries.sort((a, b) => compareBytes(a.key, b.key) || a.startMs - b.startMs);
}

function add(table: KeyTable, key: Uint8Array): void {
  const hash = hashKey(key);
  if (table.find(key, key.length, hash) < 0) table.add(key, key.length, hash, table.size);
}

// Of few bytes and long, so that many are equal for more than a word.
const anyText = fc.string({ unit: fc.constantFrom('a', 'b', '\u0000'), maxLength: 24 });
const anyValue = fc.oneof(anyText, fc.integer({ min: -2, max: 2 }), fc.constant(null));
const anyKeys = fc.array(fc.tuple(anyValue, anyValue).map(encodeGroupKey), { maxLength: 120 });
const anyWindows = fc.array(
  fc.record({ startMs: fc.nat(4), keys: anyKeys, isGone: fc.boolean() }),
  { maxLength: 6 },
);

describe('keys in order', () => {
  it('are by (key, window), at once and as keys come and windows go, and are found', () => {
    fc.assert(
      fc.property(fc.array(anyWindows, { minLength: 1, maxLength: 4 }), (rounds) => {
        const tables = new Map<number, KeyTable>();
        let sorted = finished(SortedKeys.of([]));
        for (const round of rounds) {
          for (const { startMs, keys, isGone } of round) {
            if (isGone) tables.delete(startMs);
            const table = tables.get(startMs) ?? new KeyTable();
            tables.set(startMs, table);
            for (const key of keys) add(table, key);
          }
          const windows = [...tables]
            .map(([startMs, keys]) => ({ startMs, keys }))
            .sort((a, b) => a.startMs - b.startMs);
          const expected = expectedOf(windows);
          expect(entriesOf(finished(SortedKeys.of(windows)))).toEqual(expected);
          sorted = finished(sorted.followed(windows));
          expect(entriesOf(sorted)).toEqual(expected);
          expect(finished(sorted.followed(windows))).toBe(sorted);
          for (const [place, { key, startMs }] of expected.entries()) {
            expect(sorted.seek(key, startMs)).toBe(place);
            expect(sorted.seek(key, startMs + 0.5)).toBe(place + 1);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('are sorted by digits of sixteen bits where they are many', () => {
    const table = new KeyTable();
    for (let index = 0; index < 70_000; index++) {
      add(table, encodeGroupKey([`device-${(index * 7_919) % 70_000}`]));
    }
    const windows = [{ startMs: 0, keys: table }];
    const { ordinals } = finished(SortedKeys.of(windows));
    for (let place = 1; place < ordinals.length; place++) {
      const [before, at] = [ordinals[place - 1] as number, ordinals[place] as number];
      if (table.compare(before, at) >= 0) throw new Error(`wrong at ${place}`);
    }
    expect(new Set(ordinals).size).toBe(70_000);
  });
});
