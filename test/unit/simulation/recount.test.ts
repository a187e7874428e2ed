import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BadRecord } from '../../../core/decode/record-decoder.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import {
  type ClosedEntry,
  closedEntriesOf,
  mergeClosedEntries,
} from '../../../core/state/closed-entries.ts';
import { decodeGroupKey } from '../../../core/state/group-key.ts';
import type { SliceState } from '../../../core/state/slice-state.ts';
import type { WindowSource } from '../../../core/state/state-change.ts';
import { ViewTable } from '../../../core/state/view-table.ts';
import {
  differenceOf,
  type LoggedRecord,
  mergeRecounts,
  type Redriven,
  recountShard,
  rowId,
  type ShardRecount,
} from '../../../simulation/recount.ts';
import { SHARD } from '../../world/small-log.ts';
import { ARRIVAL_MS, emptyState, planOf, recordAt } from '../state/fold-fixture.ts';
import { anyLog, anyPlan } from './random-log.ts';

type Values = Record<string, unknown>;

/** By view and row: what core's fold holds, open and closed together. */
function foldedRows(plan: Plan, state: SliceState): Map<string, Map<string, { values: Values }>> {
  state.commit();
  const { views } = state.image.source();
  return new Map(
    plan.views.map((view, index) => {
      const entries = mergeClosedEntries(view, [
        ...closedEntriesOf(views[index]?.entries as WindowSource[]),
        ...(state.image.late[index] as ClosedEntry[]),
      ]);
      const rows = entries.map(({ key, windowStartMs, accumulators }) => {
        const table = new ViewTable(view);
        table.decode(table.insert(0, new Uint8Array()), accumulators);
        const results = table.results(0);
        const values = view.aggregates.map(({ name }, at) => [name, results[at]?.value] as const);
        const startMs = view.window.kind === 'all' ? null : windowStartMs;
        return [
          rowId(decodeGroupKey(key), startMs),
          { values: Object.fromEntries(values) },
        ] as const;
      });
      return [view.name, new Map(rows)];
    }),
  );
}

function differences(
  plan: Plan,
  recount: ShardRecount,
  state: SliceState,
  inQuarantine: readonly { sequenceNumber: string; reason: string }[] = [...state.quarantined],
): string[] {
  const found: string[] = [];
  const { counts, watermarkMs, newestMs, highMs } = state.progress;
  const quarantined = inQuarantine.map((each) => [each.sequenceNumber, each.reason]);
  const rows = foldedRows(plan, state);
  const compare = (what: string, is: unknown, shouldBe: unknown) => {
    if (JSON.stringify(is) !== JSON.stringify(shouldBe)) {
      found.push(`${what} is ${JSON.stringify(is)}, expected ${JSON.stringify(shouldBe)}`);
    }
  };
  compare('counts', counts, recount.counts);
  compare('watermark', String(watermarkMs), String(recount.watermarkMs));
  compare('newest time', String(newestMs), String(recount.newestMs));
  compare('high mark', String(highMs), String(recount.highMs));
  compare('quarantine', quarantined, [...recount.quarantined]);
  for (const view of plan.views) {
    const [expected, is] = [recount.views.get(view.name), rows.get(view.name)];
    for (const id of new Set([...(expected?.keys() ?? []), ...(is?.keys() ?? [])])) {
      const difference = differenceOf(view, expected?.get(id), is?.get(id));
      if (difference !== null) found.push(difference);
    }
  }
  return found;
}

function fold(plan: Plan, records: readonly LoggedRecord[]): SliceState {
  const state = emptyState(plan);
  for (const record of records) state.fold(record);
  return state;
}

const putsAsideLateRecords = (plan: Plan): Plan => ({
  ...plan,
  latenessMs: Math.min(plan.latenessMs, 1_000),
  views: plan.views.map((view, index) => (index % 2 === 0 ? { ...view, late: 'side' } : view)),
});

/** Folds as `fold` does and redrives in between; with `commits` each record is an epoch. Returns what was quarantined, too. */
function redrive(
  plan: Plan,
  records: readonly LoggedRecord[],
  redriven: readonly Redriven[],
  condemned: ReadonlyMap<string, string>,
  commits: boolean,
): [SliceState, { sequenceNumber: string; reason: string }[]] {
  const state = emptyState(plan);
  const quarantined: { sequenceNumber: string; reason: string }[] = [];
  for (let count = 0; count <= records.length; count++) {
    for (const { sequenceNumber, afterCount } of redriven) {
      if (afterCount !== count) continue;
      const record = records.find((each) => each.sequenceNumber === sequenceNumber);
      state.redrive({ ...(record as LoggedRecord), shardId: SHARD }, []);
    }
    const next = records[count];
    const reason = condemned.get(next?.sequenceNumber ?? '');
    const bad = reason === undefined ? null : ({ reason, detail: '' } as BadRecord);
    if (next !== undefined) state.fold(next, bad);
    if (!commits) continue;
    quarantined.push(...state.quarantined);
    state.commit();
  }
  return [state, [...quarantined, ...state.quarantined]];
}

const bytes = (value: unknown) =>
  new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value));
const log = (...data: unknown[]): LoggedRecord[] =>
  data.map((each, index) => ({ ...recordAt(index, each), data: bytes(each) }));
const valuesOf = (recount: ShardRecount, view: string) =>
  [...(recount.views.get(view)?.values() ?? [])].map(({ key, windowStartMs, values }) => ({
    key,
    windowStartMs,
    ...values,
  }));

describe('recountShard', () => {
  it('agrees with the fold of any log under any plan', () => {
    fc.assert(
      fc.property(anyPlan, anyLog, (plan, logFor) => {
        const records = logFor(plan);
        expect(differences(plan, recountShard(plan, records), fold(plan, records))).toEqual([]);
      }),
      { seed: 20_261_129, numRuns: 400, endOnFailure: true },
    );
  });

  it('agrees with the fold when quarantined records are brought back, early or late, or twice', () => {
    let broughtBack = 0;
    const anyChoice = fc.record({
      chosen: fc.nat({ max: 60 }),
      afterPercent: fc.nat({ max: 100 }),
    });
    const anyChoices = fc.array(anyChoice, { minLength: 4, maxLength: 12, size: 'max' });
    fc.assert(
      fc.property(
        anyPlan,
        anyLog,
        anyChoices,
        fc.boolean(),
        (planned, logFor, choices, commits) => {
          const plan = putsAsideLateRecords(planned);
          const records = logFor(plan);
          const condemned = new Map(
            records
              .filter((_, at) => at % 7 === 3)
              .map((each) => [each.sequenceNumber, 'fold-failed']),
          );
          const first = recountShard(plan, records, [], { condemned });
          const inQuarantine = [...first.quarantined.keys()];
          fc.pre(inQuarantine.length > 0);
          const redriven = choices.map(({ chosen, afterPercent }) => ({
            afterCount: Math.round((afterPercent * records.length) / 100),
            sequenceNumber: inQuarantine[chosen % inQuarantine.length] as string,
            subSequence: 0,
          }));
          const recount = recountShard(plan, records, redriven, { condemned });
          const [state, quarantined] = redrive(plan, records, redriven, condemned, commits);
          expect(differences(plan, recount, state, quarantined)).toEqual([]);
          const outcomes = [...recount.redriven.values()];
          broughtBack += outcomes.filter((outcome) => outcome !== 'quarantined').length;
        },
      ),
      { seed: 4, numRuns: 300, endOnFailure: true },
    );
    expect(broughtBack).toBeGreaterThan(200);
  });

  it('keeps the id of a record that comes back to one view only', () => {
    const window = { tumbling: '10s' };
    const aggregates = { n: { count: '*' } };
    const plan = planOf({
      name: 'p',
      time: { field: 't', lateness: '0s', skew: 'none' },
      dedupe: { id: 'id', within: '10s' },
      views: { aside: { window, late: 'side', aggregates }, updated: { window, aggregates } },
    });
    const records = log(
      { t: 20_000, id: 1 },
      { t: 1_000, id: 2 },
      { t: 35_000, id: 3 },
      { t: 36_000, id: 2 },
    );
    const redriven = [{ afterCount: 3, sequenceNumber: '1001', subSequence: 0 }];
    const recount = recountShard(plan, records, redriven);
    expect(recount.counts).toMatchObject({ folded: 3, duplicates: 1 });
    const [state] = redrive(plan, records, redriven, new Map(), false);
    expect(differences(plan, recount, state)).toEqual([]);
  });

  it('counts a record of a closed window as its view says', () => {
    const aggregates = { n: { count: '*' }, total: { sum: 'x' } };
    const views = Object.fromEntries(
      ['update', 'side', 'drop'].map((late) => [
        late,
        { window: { tumbling: '10s' }, late, aggregates },
      ]),
    );
    const plan = planOf({ name: 'p', time: { field: 't', lateness: '5s', skew: 'none' }, views });
    const recount = recountShard(
      plan,
      log({ t: 1_000, x: 0.1 }, { t: 15_000, x: 1 }, { t: 2_000, x: 0.2 }),
    );
    const open = { key: [], windowStartMs: 10_000, n: 1, total: 1 };
    const first = { key: [], windowStartMs: 0, n: 1, total: 0.1 };
    expect(valuesOf(recount, 'update')).toEqual([{ ...first, n: 2, total: 0.1 + 0.2 }, open]);
    expect(valuesOf(recount, 'side')).toEqual([first, open]);
    expect(valuesOf(recount, 'drop')).toEqual([first, open]);
    expect([...recount.quarantined]).toEqual([['1002', 'late']]);
    expect(recount.counts).toMatchObject({ folded: 3, quarantined: 0 });
    expect(recount.watermarkMs).toBe(10_000);
  });

  it('lets in what is as far ahead as it may be', () => {
    const plan = planOf({
      name: 'p',
      time: { field: 't', skew: '1s' },
      views: { v: { aggregates: { n: { count: '*' } } } },
    });
    const records = log({ t: ARRIVAL_MS + 1_000 }, { t: ARRIVAL_MS + 1_001 });
    const recount = recountShard(plan, records);
    expect([...recount.quarantined]).toEqual([['1001', 'too-far-in-the-future']]);
    expect(differences(plan, recount, fold(plan, records))).toEqual([]);
  });

  it('lets in what is as early as it may be', () => {
    const plan = planOf({
      name: 'p',
      time: { field: 't', earliest: '1970-01-01T00:00:01Z' },
      views: { v: { aggregates: { n: { count: '*' } } } },
    });
    const records = log({ t: 1_000 }, { t: 999 });
    const recount = recountShard(plan, records);
    expect([...recount.quarantined]).toEqual([['1001', 'too-far-in-the-past']]);
    expect(differences(plan, recount, fold(plan, records))).toEqual([]);
  });

  it('quarantines unread what is condemned', () => {
    const plan = planOf({ name: 'p', views: { v: { aggregates: { n: { count: '*' } } } } });
    const condemned = new Map([['1001', 'kills-its-environment']]);
    const recount = recountShard(plan, log({}, {}, {}), [], { condemned });
    expect([...recount.quarantined]).toEqual([...condemned]);
    expect(valuesOf(recount, 'v')).toEqual([{ key: [], windowStartMs: null, n: 2 }]);
  });
});

describe('mergeRecounts', () => {
  it('adds up what shards hold of a group, whatever the cut', () => {
    fc.assert(
      fc.property(anyPlan, anyLog, fc.nat({ max: 60 }), (plan, logFor, cut) => {
        // Without lateness, dedupe and heartbeats a record counts the same in any shard.
        const free = { ...plan, latenessMs: 1e12, dedupe: null, idleMs: null };
        const records = logFor(plan);
        const whole = recountShard(free, records);
        const parts = [records.slice(0, cut), records.slice(cut)];
        const merged = mergeRecounts(
          free,
          parts.map((part) => recountShard(free, part)),
        );
        for (const view of free.views) {
          const [expected, found] = [whole.views.get(view.name), merged.get(view.name)];
          expect([...(found?.keys() ?? [])].sort()).toEqual([...(expected?.keys() ?? [])].sort());
          for (const [id, row] of found ?? []) {
            expect(differenceOf(view, expected?.get(id), row)).toBeNull();
          }
        }
      }),
      { seed: 9, numRuns: 100, endOnFailure: true },
    );
  });
});

describe('differenceOf', () => {
  const plan = planOf({
    name: 'p',
    views: {
      v: { groupBy: ['k'], aggregates: { m: { quantile: 'x', at: [0.5] }, s: { sum: 'x' } } },
    },
  });
  const view = plan.views[0] as Plan['views'][number];
  const recount = recountShard(plan, log({ k: 1, x: 100 }, { k: 1, x: 200 }, { k: 1, x: 300 }));
  const expected = recount.views.get('v')?.get(rowId([1], null));

  it.each([
    [{ m: { '0.5': 201.9 }, s: 600 }, null],
    [{ m: { '0.5': 198.1 }, s: 600 }, null],
    [{ m: { '0.5': 202.1 }, s: 600 }, 'v [1]@null: m is {"0.5":202.1}, expected {"0.5":200}'],
    [{ m: { '0.5': null }, s: 600 }, 'v [1]@null: m is {"0.5":null}, expected {"0.5":200}'],
    [
      { m: { '0.5': 200 }, s: 600.0000000000001 },
      'v [1]@null: s is 600.0000000000001, expected 600',
    ],
    [{ m: { '0.5': 200 } }, 'v [1]@null: values of m, expected m,s'],
  ])('judges %j', (values, difference) => {
    expect(differenceOf(view, expected, { values })).toBe(difference);
  });

  it('knows rows that are missing, and rows that should not be there', () => {
    expect(differenceOf(view, expected, undefined)).toBe('v [1]@null: the row is missing');
    expect(differenceOf(view, undefined, { values: {} })).toBe('v: a row that no record makes');
    expect(differenceOf(view, undefined, undefined)).toBeNull();
  });
});
