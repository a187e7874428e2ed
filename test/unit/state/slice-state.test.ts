import { describe, expect, it } from 'vitest';
import { ByteReader } from '../../../core/bytes.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { SliceImage } from '../../../core/state/slice-image.ts';
import { foldAll, planOf, recordAt } from './fold-fixture.ts';

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
    expect(state.entryCount).toBe(50);
    state.commit();
    expect(state.entryCount).toBe(50);
    state.fold(recordAt(50, { t: 5, key: 'k0', n: 1 }));
    expect(state.entryCount).toBe(50);
    state.fold(recordAt(51, { t: 10_000, key: 'new', n: 1 }));
    expect(state.entryCount).toBe(1);
    state.commit();
    expect(state.image.entryCount).toBe(1);
    expect(state.closedSinceRuns()[0]).toHaveLength(50);
  });

  it('gives the room of closed windows to the next ones', () => {
    const state = foldAll(plan, records(200));
    state.commit();
    state.image.forgetClosed();
    const bytes = state.heapBytes();
    for (let window = 1; window < 30; window++) {
      const data = records(200, window * 10_000);
      for (const [n, each] of data.entries()) state.fold(recordAt(window * 200 + n, each));
      state.commit();
      state.image.forgetClosed();
    }
    expect(state.heapBytes()).toBeLessThan(bytes * 3);
  });

  it('closes a window of more entries than a call takes arguments', () => {
    const state = foldAll(plan, records(150_000));
    state.fold(recordAt(150_000, { t: 10_000, key: 'new', n: 1 }));
    const delta = state.encodeDelta();
    expect(state.closedSinceRuns()[0]).toHaveLength(150_000);
    state.commit();
    const image = new SliceImage(plan);
    image.apply(new ByteReader(delta));
    expect([state.image.closed[0]?.length, image.closed[0]?.length]).toEqual([150_000, 150_000]);
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
    const bytes = owner.encodeDelta();
    const image = new SliceImage(plan);
    const quarantined = image.apply(new ByteReader(bytes));
    const before = JSON.stringify([image.closed, quarantined]);
    bytes.fill(0);
    expect(JSON.stringify([image.closed, quarantined])).toBe(before);
  });

  it('refuses a change of a view that the plan does not have', () => {
    const other = planOf({
      name: 'p',
      time: { field: 't', lateness: '0s', skew: 'none' },
      views: { w: { groupBy: ['n'], window: { tumbling: '10s' }, aggregates: AGGREGATES } },
    });
    const bytes = foldAll(other, records(1)).encodeDelta();
    expect(() => new SliceImage(plan).apply(new ByteReader(bytes))).toThrow(CorruptStateFault);
    expect(() => new SliceImage(plan).apply(new ByteReader(bytes))).toThrow(/view 'w' \(/);
  });
});

describe('the memory of closed entries', () => {
  const kept = { late: 'drop', groupBy: ['key'], window: { tumbling: '10s' } };
  const of = (views: object) => planOf({ name: 'p', time: { field: 't', lateness: '0s' }, views });
  const both = of({ w: { ...kept, aggregates: AGGREGATES } });

  /** An image of `both` with 50 closed entries that then reads what `other` wrote in epoch 2. */
  function closedUnder(other: typeof both): SliceImage {
    const state = foldAll(both, records(50));
    state.fold(recordAt(50, { t: 20_000, key: 'k', n: 1 }));
    state.commit();
    expect(state.image.closed[0]).toHaveLength(50);
    const between = new SliceImage(other);
    between.apply(new ByteReader(state.image.encode()), { foreign: true, epoch: 1 });
    between.adoptPlan(2);
    state.image.apply(new ByteReader(between.encodeNoChange()), { foreign: true, epoch: 2 });
    return state.image;
  }

  function closedBytes(image: SliceImage): number {
    const before = image.heapBytes();
    image.forgetClosed();
    return before - image.heapBytes();
  }

  it('is given back where their view goes', () => {
    const image = closedUnder(of({ w: { ...kept, groupBy: [], aggregates: AGGREGATES } }));
    expect(image.closed[0]).toHaveLength(0);
    expect(closedBytes(image)).toBe(0);
  });

  it('is counted again where an aggregate of theirs goes', () => {
    const { middle: _, ...fewer } = AGGREGATES;
    const image = closedUnder(of({ w: { ...kept, aggregates: fewer } }));
    const [entries = []] = image.closed;
    expect(entries).toHaveLength(50);
    const bytes = entries.map(({ key, accumulators }) => key.length + accumulators.length + 500);
    expect(closedBytes(image)).toBe(bytes.reduce((sum, each) => sum + each, 0));
  });
});
