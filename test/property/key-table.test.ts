import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashKey, KeyTable } from '../../core/state/key-table.ts';

// Few bytes, so that keys are prefixes of each other; hashes of a few bits, so that many share their place.
const anyKey = fc.uint8Array({ maxLength: 5, max: 3 });
const anyHash = (bits: number) => (key: Uint8Array) => hashKey(key) & (2 ** bits - 1);

describe('a table of keys', () => {
  it('finds what a Map finds, keeps the order in which keys came, and gives their bytes back', () => {
    fc.assert(
      fc.property(
        fc.array(anyKey, { maxLength: 300 }),
        fc.constantFrom(1, 3, 32).map((bits) => (bits === 32 ? hashKey : anyHash(bits))),
        (keys, hashOf) => {
          const table = new KeyTable();
          const model = new Map<string, number>();
          for (const [index, key] of keys.entries()) {
            const slot = index * 7;
            const known = model.get(key.join());
            expect(table.find(key, key.length, hashOf(key))).toBe(known ?? -1);
            if (known !== undefined) continue;
            model.set(key.join(), slot);
            table.add(key, key.length, hashOf(key), slot);
          }
          expect(table.size).toBe(model.size);
          const listed = Array.from({ length: table.size }, (_, ordinal) => {
            return [table.keyAt(ordinal).join(), table.slotAt(ordinal)];
          });
          expect(listed).toEqual([...model]);
        },
      ),
    );
  });

  it('compares as many bytes as it is told', () => {
    const table = new KeyTable();
    const bytes = Uint8Array.of(1, 2, 3, 4);
    table.add(bytes, 2, hashKey(bytes, 2), 5);
    expect(table.find(Uint8Array.of(1, 2), 2, hashKey(bytes, 2))).toBe(5);
    expect(table.find(bytes, 3, hashKey(bytes, 3))).toBe(-1);
    expect(table.find(bytes, 4, hashKey(bytes, 2))).toBe(-1);
  });

  it('keeps what it has given out as it was when it grows', () => {
    const table = new KeyTable();
    for (let index = 0; index < 4; index++) table.add(Uint8Array.of(index), 1, index, index);
    const given = table.keyAt(2);
    for (let index = 4; index < 2_000; index++) {
      const key = Uint8Array.of(index & 0xff, index >> 8, 9);
      table.add(key, 3, hashKey(key), index);
    }
    expect([...given]).toEqual([2]);
    expect([...table.keyAt(2)]).toEqual([2]);
    expect(table.heapBytes()).toBeGreaterThan(2_000 * 3);
  });
});
