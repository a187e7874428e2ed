import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareBytes } from '../../core/bytes.ts';
import { encodeGroupKey } from '../../core/state/group-key.ts';
import { hashKey } from '../../core/state/key-table.ts';
import { ViewTable } from '../../core/state/view-table.ts';
import { smallPlan } from '../world/small-log.ts';

/** As in key-ranges.ts. */
const CHUNK = 16_384;
const keyOf = (number: number) => encodeGroupKey([`k${String(number).padStart(6, '0')}`]);

const step = fc.record({
  /** Keys that are touched, and what becomes of it. */
  first: fc.nat(40_000),
  count: fc.integer({ min: 1, max: 9_000 }),
  outcome: fc.constantFrom('commit', 'undo', 'open'),
  from: fc.option(fc.nat(50_000)),
  to: fc.option(fc.nat(50_000)),
});

describe('ranges of keys', () => {
  it('are what is between their bounds, in order, whatever came, was committed or taken back', () => {
    let partial = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
        const table = new ViewTable(smallPlan.views[0]!);
        const committed = new Set<number>();
        let open = new Set<number>();
        for (const { first, count, outcome, from, to } of steps) {
          for (let index = 0; index < count; index++) {
            const number = (first + index * 7_919) % 50_000;
            const key = keyOf(number);
            table.touch(0, key, key.length, hashKey(key));
            open.add(number);
          }
          if (outcome === 'commit') {
            table.commit();
            for (const number of open) committed.add(number);
          } else if (outcome === 'undo') table.undo();
          if (outcome !== 'open') open = new Set();
          const all = [...new Set([...committed, ...open])];
          const least = from === null ? null : keyOf(from);
          const some = table.firstKeys(0, least, count);
          const reaches = (number: number) =>
            some.to === null || compareBytes(keyOf(number), some.to) < 0;
          const behind = all.filter((number) => from === null || number >= from);
          expect(some.ordinals).toEqual(table.between(0, least, some.to));
          expect(some.ordinals.length).toBe(behind.filter(reaches).length);
          if (behind.length > 0) expect(some.ordinals.length).toBeGreaterThan(0);
          if (some.to !== null) partial++;
          // A few chunks, and what came after them.
          expect(some.ordinals.length).toBeLessThanOrEqual(count + 2 * CHUNK);
          const before = all.filter((number) => to !== null && number < to).length;
          if (to !== null) expect(table.countBefore(0, keyOf(to))).toBe(before);
          const [low, high] = [from, to].map((bound) => (bound === null ? null : keyOf(bound)));
          const found = table.between(0, low ?? null, high ?? null);
          const expected = all.filter(
            (number) => (from === null || number >= from) && (to === null || number < to),
          );
          expect(found.length).toBe(expected.length);
          const keys = table.window(0);
          for (let at = 1; at < found.length; at++) {
            const order = compareBytes(keys.keyAt(found[at - 1]!), keys.keyAt(found[at]!));
            if (order >= 0) expect.fail(`place ${at} is not after the one before`);
          }
        }
      }),
      { numRuns: 25 },
    );
    expect(partial).toBeGreaterThan(0);
  }, 60_000);
});
