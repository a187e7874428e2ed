import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes } from '../../core/bytes.ts';
import { hashKey, KeyTable } from '../../core/state/key-table.ts';

// Few bytes, so that keys are prefixes of each other; hashes of a few bits, so that many share their place.
const anyKey = fc.uint8Array({ maxLength: 5, max: 3 });
const anyHash = (bits: number) => (key: Uint8Array) => hashKey(key) & (2 ** bits - 1);

const listOf = (table: KeyTable) =>
  Array.from({ length: table.size }, (_, ordinal) => [
    table.keyAt(ordinal).join(),
    table.slotAt(ordinal),
  ]);

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
            const known = [...model.keys()].indexOf(key.join());
            expect(table.find(key, key.length, hashOf(key))).toBe(known);
            if (known >= 0) continue;
            expect(table.add(key, key.length, hashOf(key), index * 7)).toBe(model.size);
            model.set(key.join(), index * 7);
          }
          expect(listOf(table)).toEqual([...model]);
        },
      ),
    );
  });

  it('is what it was at its last commit, or when it was sealed, once the keys that came since are undone', () => {
    const anyStep = fc.oneof(
      { weight: 8, arbitrary: anyKey },
      { weight: 2, arbitrary: fc.constantFrom('commit', 'undo', 'seal', 'reopen') },
    );
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 200 }), fc.boolean(), (steps, isCrowded) => {
        const hashOf = isCrowded ? anyHash(2) : hashKey;
        const table = new KeyTable();
        type Content = (string | number)[][];
        // What an undo leaves; and, of a commit that is under way, what was touched before it.
        let kept: Content = [];
        let sealed: string[] | null = null;
        let touched: string[] = [];
        const undo = () => {
          const left: number[] = [];
          const expected = listOf(table)
            .slice(kept.length)
            .map(([, slot]) => slot);
          table.undo((slot) => left.push(slot));
          expect(left.reverse()).toEqual(expected);
          expect(listOf(table)).toEqual(kept);
          touched = [];
        };
        let committed: Content = [];
        for (const [index, step] of steps.entries()) {
          if (step === 'undo') undo();
          else if (step === 'seal') {
            if (sealed !== null) continue;
            table.seal();
            [kept, sealed, touched] = [listOf(table), touched, []];
          } else if (step === 'reopen') {
            if (sealed === null) continue;
            undo();
            table.reopen();
            [kept, touched, sealed] = [committed, sealed, null];
          } else if (step === 'commit') {
            table.commit();
            if (sealed === null) [kept, touched] = [listOf(table), []];
            [committed, sealed] = [kept, null];
          } else {
            const known = table.find(step, step.length, hashOf(step));
            const ordinal = known < 0 ? table.add(step, step.length, hashOf(step), index) : known;
            expect(table.isNew(ordinal)).toBe(ordinal >= kept.length);
            expect(table.touch(ordinal)).toBe(!touched.includes(step.join()));
            if (!touched.includes(step.join())) touched.push(step.join());
          }
          expect(table.committedSize).toBe(committed.length);
          const found = [...table.touched()].map((ordinal) => table.keyAt(ordinal).join());
          expect(found).toEqual(touched);
        }
      }),
    );
  });

  it('finds keys that are chosen to have one hash, in an order of its own no longer', () => {
    const table = new KeyTable();
    const keyOf = (index: number) => Uint8Array.of(index & 0xff, index >> 8, 7);
    for (let index = 0; index < 5_000; index++) {
      expect(table.find(keyOf(index), 3, 42)).toBe(-1);
      table.add(keyOf(index), 3, 42, index);
      table.touch(index);
      if (index === 2_999) table.commit();
    }
    const committed = listOf(table).slice(0, 3_000);
    table.undo(() => {});
    expect(listOf(table)).toEqual(committed);
    for (let index = 0; index < 5_000; index++) {
      expect(table.find(keyOf(index), 3, 42)).toBe(index < 3_000 ? index : -1);
    }
  });

  it('orders keys as their bytes do', () => {
    fc.assert(
      fc.property(anyKey, anyKey, (a, b) => {
        const table = new KeyTable();
        for (const key of [a, b]) table.add(key, key.length, hashKey(key), 0);
        expect(Math.sign(table.compare(0, 1))).toBe(Math.sign(compareBytes(a, b)));
      }),
    );
  });

  it('compares as many bytes as it is told', () => {
    const table = new KeyTable();
    const bytes = Uint8Array.of(1, 2, 3, 4);
    table.add(bytes, 2, hashKey(bytes, 2), 5);
    expect(table.find(Uint8Array.of(1, 2), 2, hashKey(bytes, 2))).toBe(0);
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
