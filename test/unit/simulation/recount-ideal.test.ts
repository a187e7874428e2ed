import { describe, expect, it } from 'vitest';
import type { LoggedRecord } from '../../../simulation/recount.ts';
import { idealRecount } from '../../../simulation/recount-ideal.ts';
import { ARRIVAL_MS, planOf, recordAt } from '../state/fold-fixture.ts';

const plan = planOf({
  name: 'p',
  time: { field: 't', lateness: '0s', skew: '1s', idle: '1s' },
  category: { field: 'kind' },
  dedupe: { id: 'id', within: '1ms' },
  views: {
    v: {
      category: 'a',
      window: { tumbling: '10s' },
      late: 'drop',
      aggregates: { n: { count: '*' } },
    },
  },
});
const log = (...data: unknown[]): LoggedRecord[] =>
  data.map((each, index) => recordAt(index, each));
const order = (id: number, t: number, kind = 'a') => ({ id, t, kind });

describe('idealRecount', () => {
  it('counts each record in the window of its own time, however late or far ahead it is', () => {
    const ahead = ARRIVAL_MS + 600_000;
    const { views, countedCount } = idealRecount(plan, [
      log(order(1, 50_000), order(2, 5_000), order(3, ahead), order(4, 5_001)),
    ]);
    const rows = [...(views.get('v')?.values() ?? [])];
    expect(rows.map(({ windowStartMs, values }) => [windowStartMs, values['n']])).toEqual([
      [50_000, 1],
      [0, 2],
      [ahead, 1],
    ]);
    expect(countedCount).toBe(4);
  });

  it('knows an id forever and in all shards, but not one of a record that no view selects', () => {
    const { countedCount, duplicateCount } = idealRecount(plan, [
      log(order(1, 1_000), order(2, 900_000), order(1, 900_000)),
      log(order(2, 5_000), order(3, 5_000, 'other'), order(3, 5_000)),
    ]);
    expect({ countedCount, duplicateCount }).toEqual({ countedCount: 3, duplicateCount: 2 });
  });

  it('leaves out heartbeats and what cannot be read', () => {
    const { countedCount, views } = idealRecount(plan, [
      log('{"tidemark":"heartbeat"}', '{"broken', { t: 1, kind: 'a' }, order(1, 1)),
    ]);
    expect(countedCount).toBe(1);
    expect(views.get('v')?.size).toBe(1);
  });
});
