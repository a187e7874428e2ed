import { describe, expect, it } from 'vitest';
import { ByteReader } from '../../../core/bytes.ts';
import { encodeNoChange } from '../../../core/checkpoint/rewind.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { drainClosing } from '../../../core/state/closing.ts';
import { SliceImage } from '../../../core/state/slice-image.ts';
import { closedOf, foldAll, planOf, recordAt } from './fold-fixture.ts';

const AGGREGATES = { records: { count: '*' }, middle: { quantile: 'n', at: [0.5] } };
const plan = planOf({
  name: 'p',
  time: { field: 't', lateness: '0s', skew: 'none' },
  views: { w: { groupBy: ['key'], window: { tumbling: '10s' }, aggregates: AGGREGATES } },
});
const records = (count: number, t = 0) =>
  Array.from({ length: count }, (_, n) => ({ t: t + (n % 10), key: `k${n}`, n }));

describe('the keyed state', () => {
  it('counts the entries that are open, before a commit as after it', () => {
    const state = foldAll(plan, records(50));
    expect(state.openEntryCount).toBe(50);
    state.commit();
    expect(state.openEntryCount).toBe(50);
    state.fold(recordAt(50, { t: 5, key: 'k0', n: 1 }));
    expect(state.openEntryCount).toBe(50);
    state.fold(recordAt(51, { t: 10_000, key: 'new', n: 1 }));
    expect(state.openEntryCount).toBe(1);
    state.commit();
    expect(state.image.openEntryCount).toBe(1);
    expect(closedOf(state)[0]).toHaveLength(50);
  });

  it('gives the room of closed windows to the next ones', () => {
    const state = foldAll(plan, records(200));
    state.commit();
    const bytes = state.heapBytes();
    for (let window = 1; window < 30; window++) {
      const data = records(200, window * 10_000);
      for (const [n, each] of data.entries()) state.fold(recordAt(window * 200 + n, each));
      state.commit();
      const [bound = null] = drainClosing(state.image, 1_000_000).bounds;
      state.image.forgetDrained(0, bound);
    }
    expect(state.heapBytes()).toBeLessThan(bytes * 3);
  });

  it('closes a window of more entries than a call takes arguments', () => {
    const state = foldAll(plan, records(150_000));
    state.fold(recordAt(150_000, { t: 10_000, key: 'new', n: 1 }));
    const delta = state.encodeDelta().bytes;
    expect(closedOf(state)[0]).toHaveLength(150_000);
    state.commit();
    const image = new SliceImage(plan);
    image.apply(new ByteReader(delta));
    for (const each of [state.image, image]) {
      const drain = drainClosing(each, Number.POSITIVE_INFINITY);
      expect(drain.entries[0]).toHaveLength(150_000);
      each.forgetDrained(0, drain.bounds[0] ?? null);
      expect([each.keptEntryCount, each.tables[0]?.entryCount]).toEqual([1, 1]);
    }
  });

  it('holds more bytes the more it knows, about a few hundred an entry', () => {
    const [empty, some, many] = [0, 1_000, 20_000].map((count) => {
      const state = foldAll(plan, records(count));
      state.commit();
      return state.heapBytes();
    }) as [number, number, number];
    expect(empty).toBeLessThan(some);
    expect(many / 20_000).toBeGreaterThan(50);
    expect(many / 20_000).toBeLessThan(5_000);
  });

  it('counts what lies in the quarantine of an epoch that is not committed', () => {
    const state = foldAll(plan, [{ t: 1 }]);
    state.fold(recordAt(1, 'x'));
    state.undo();
    const before = state.heapBytes();
    state.fold(recordAt(2, 'x'.repeat(100_000)));
    expect(state.heapBytes()).toBeGreaterThan(before + 100_000);
    state.undo();
    expect(state.heapBytes()).toBe(before);
  });

  it('shares no bytes with the change that it applied', () => {
    const owner = foldAll(plan, [...records(3), 'bad', { t: 10_000, key: 'z', n: 1 }]);
    const bytes = owner.encodeDelta().bytes;
    const image = new SliceImage(plan);
    const quarantined = image.apply(new ByteReader(bytes));
    const before = JSON.stringify([image.late, quarantined]);
    bytes.fill(0);
    expect(JSON.stringify([image.late, quarantined])).toBe(before);
  });

  it('refuses a change of a view that the plan does not have', () => {
    const other = planOf({
      name: 'p',
      time: { field: 't', lateness: '0s', skew: 'none' },
      views: { w: { groupBy: ['n'], window: { tumbling: '10s' }, aggregates: AGGREGATES } },
    });
    const bytes = foldAll(other, records(1)).encodeDelta().bytes;
    expect(() => new SliceImage(plan).apply(new ByteReader(bytes))).toThrow(CorruptStateFault);
    expect(() => new SliceImage(plan).apply(new ByteReader(bytes))).toThrow(/view 'w' \(/);
  });
});

describe('the memory of late partials', () => {
  const kept = { late: 'update', groupBy: ['key'], window: { tumbling: '10s' } };
  const of = (views: object) => planOf({ name: 'p', time: { field: 't', lateness: '0s' }, views });
  const both = of({ w: { ...kept, aggregates: AGGREGATES } });

  /** An image of `both` with 50 late partials that then reads what `other` wrote in epoch 2. */
  function lateUnder(other: typeof both): SliceImage {
    const state = foldAll(both, [{ t: 20_000, key: 'k', n: 1 }, ...records(50)]);
    state.commit();
    expect(state.image.late[0]).toHaveLength(50);
    const between = new SliceImage(other);
    between.apply(new ByteReader(state.image.encode()), { foreign: true, epoch: 1 });
    between.adoptPlan(2);
    state.image.apply(new ByteReader(encodeNoChange(between)), { foreign: true, epoch: 2 });
    return state.image;
  }

  function lateBytes(image: SliceImage): number {
    const before = image.heapBytes();
    image.forgetLate();
    return before - image.heapBytes();
  }

  it('is given back where their view goes', () => {
    const image = lateUnder(of({ w: { ...kept, groupBy: [], aggregates: AGGREGATES } }));
    expect(image.late[0]).toHaveLength(0);
    expect(lateBytes(image)).toBe(0);
  });

  it('is counted again where an aggregate of theirs goes', () => {
    const { middle: _, ...fewer } = AGGREGATES;
    const image = lateUnder(of({ w: { ...kept, aggregates: fewer } }));
    const [entries = []] = image.late;
    expect(entries).toHaveLength(50);
    const bytes = entries.map(({ key, accumulators }) => key.length + accumulators.length + 500);
    expect(lateBytes(image)).toBe(bytes.reduce((sum, each) => sum + each, 0));
  });
});
