/** What a change of the pipeline file costs: nothing where only policies, names or order change. */
import { describe, expect, it } from 'vitest';
import type { Head } from '../../../core/checkpoint/head.ts';
import { advance, type Checkpoint, restore } from '../../../core/checkpoint/restore.ts';
import { RunCache } from '../../../core/checkpoint/run-cache.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { PipelineJson } from '../../../core/definition/pipeline-json.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { planToJson } from '../../../core/definition/plan-json.ts';
import { nonceByte } from '../../../core/query/snapshot-token.ts';
import { type ViewAnswer, viewAnswer } from '../../../core/query/view-answer.ts';
import { parseViewRequest } from '../../../core/query/view-request.ts';
import { readRows } from '../../../core/query/view-rows.ts';
import {
  differenceOf,
  mergeRecounts,
  recountShard,
  rowId,
  type ShardRecount,
} from '../../../simulation/recount.ts';
import { randomLog, SHARD, SLICE, type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

const GRACE_MS = 60_000;
const small = planToJson(smallPlan);
const { all_time, updated, dropped, put_aside } = small.views as Required<PipelineJson['views']>;

function planOf(changes: Partial<PipelineJson>): Plan {
  const parsed = parsePlan(JSON.parse(JSON.stringify({ ...small, ...changes })));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

function withAggregates(changes: Record<string, object | undefined>): Plan {
  const { aggregates } = updated!;
  const views = {
    ...small.views,
    updated: { ...updated, aggregates: { ...aggregates, ...changes } },
  };
  return planOf({ views } as never);
}

/** 15 records under each of the plans, one after the other. */
async function under(
  plans: readonly Plan[],
  knobs = {},
  log: ConstructorParameters<typeof TaskWorld>[0] = 100,
): Promise<TaskWorld> {
  const world = new TaskWorld(log, { rollbackGraceMs: GRACE_MS, ...knobs });
  for (const [index, plan] of plans.entries()) {
    world.clock.advance(GRACE_MS);
    await world.activate(plan);
    const task = world.task({}, { plan });
    for (let at = index * 15; at < (index + 1) * 15; at += 5) {
      await task.deliver(world.batch(at, at + 5), PLENTY);
    }
  }
  return world;
}

function recountOf(world: TaskWorld, plans: readonly Plan[]): ShardRecount {
  const [first, ...later] = plans;
  return recountShard(first!, world.batch(0, plans.length * 15), [], {
    laterPlans: later.map((plan, index) => {
      return { plan, afterCount: (index + 1) * 15, redrivenBefore: 0 };
    }),
  });
}

async function answerOf(
  world: TaskWorld,
  plan: Plan,
  view: string,
  start?: string,
  end?: string,
  restored?: Checkpoint,
) {
  const head = await world.head();
  const checkpoint = restored ?? (await restore(plan, head, world.blobs));
  const asked = parseViewRequest(plan, view, [
    ...(start === undefined ? [] : [['start', start] as const]),
    ...(end === undefined ? [] : [['end', end] as const]),
  ]);
  if (!asked.ok) throw new Error(asked.problem.detail);
  const { status, epoch } = head;
  const pinned = { sliceId: SLICE, status, waits: false, epoch, nonceByte: nonceByte(head.delta) };
  const part = { shardId: SHARD, pinned, checkpoint };
  const reading = { runs: new RunCache(world.blobs), isLost: () => true };
  const page = await readRows(asked.value, [part], reading);
  const { watermarkMs } = checkpoint.image.progress;
  const told = {
    exempt: [],
    waiting: [],
    isListed: true,
    streamFault: null,
    isOpen: true,
    fingerprint: '',
  };
  const snapshot = { ...told, parts: [part], watermarkMs, revision: 1 };
  return viewAnswer(plan, asked.value, snapshot, page, 0);
}

function keyed(answer: ViewAnswer): Map<string, ViewAnswer['rows'][number]> {
  return new Map(
    answer.rows.map((row) => {
      const startMs = row.window === null ? null : Date.parse(row.window.start);
      return [rowId(Object.values(row.key) as string[], startMs), row];
    }),
  );
}

/** Every row of every view is what the oracle says. */
async function expectAsRecounted(world: TaskWorld, plans: readonly Plan[]): Promise<void> {
  const plan = plans.at(-1) as Plan;
  const recount = recountOf(world, plans);
  const head = await world.head();
  expect(head).toMatchObject({ watermarkMs: recount.watermarkMs, counts: recount.counts });
  const expected = mergeRecounts(plan, [recount]);
  for (const view of plan.views) {
    const rows = expected.get(view.name)!;
    const found = keyed(await answerOf(world, plan, view.name));
    expect([...found.keys()].sort()).toEqual([...rows.keys()].sort());
    for (const [id, row] of rows) expect(differenceOf(view, row, found.get(id))).toBeNull();
  }
}

const policies = planOf({
  time: { ...small.time, lateness: '20s' },
  dedupe: { id: 'id', within: '2m' },
  views: {
    ...small.views,
    dropped: { ...dropped!, late: 'update' },
    put_aside: { ...put_aside!, late: 'drop' },
  },
});
const renamed = planOf({ views: { ...small.views, updated: undefined, fresh: updated } as never });
const fewer = withAggregates({ total: undefined, typical: undefined });
const more = withAggregates({ smallest: { min: 'amount' }, known: { count: 'amount' } });
const otherNames = planOf({
  views: {
    ...small.views,
    all_time: {
      ...all_time!,
      aggregates: Object.fromEntries(
        Object.entries(all_time!.aggregates).map(([name, each]) => [`z_${9 - name.length}`, each]),
      ),
    },
  },
});

describe('a change of plan', () => {
  it.each<[string, readonly Plan[]]>([
    ['of policies, and back', [smallPlan, policies, smallPlan]],
    ['of a smaller lateness', [smallPlan, planOf({ time: { ...small.time, lateness: '0s' } })]],
    [
      'that turns dedupe off and on',
      [smallPlan, planOf({ dedupe: undefined } as never), smallPlan],
    ],
    ['of the id of dedupe', [smallPlan, planOf({ dedupe: { id: 'amount', within: '60s' } })]],
    ["of a view's name, and back", [smallPlan, renamed, smallPlan]],
    ['of names and order of aggregates', [smallPlan, otherNames, smallPlan]],
    ['that removes aggregates', [smallPlan, fewer]],
    ['that adds aggregates', [smallPlan, more, smallPlan]],
    ['that removes aggregates, and adds them again', [smallPlan, fewer, smallPlan]],
    ['that does so and removes them again', [smallPlan, fewer, smallPlan, fewer]],
  ])('%s keeps what means the same', async (_, plans) => {
    await expectAsRecounted(await under(plans, { chainLengthMax: 3, runFanIn: 2 }), plans);
    await expectAsRecounted(await under(plans, { chainLengthMax: 2, runFanIn: 20 }), plans);
    await expectAsRecounted(await under(plans), plans);
  });

  it('of policies begins no view and no aggregate, and keeps answers complete', async () => {
    const world = await under([smallPlan, policies]);
    const { image } = await restore(policies, await world.head(), world.blobs);
    for (const life of image.lives) {
      expect(life?.since).toBe(0);
      expect(life?.columns.map((column) => column?.since)).not.toContain(null);
    }
    const answer = await answerOf(world, policies, 'all_time');
    expect(answer.incomplete).toEqual(['no-windows']);
    expect(answer).not.toHaveProperty('wholeSince');
  });

  it('says since when an added aggregate is whole, and until then not that it is complete', async () => {
    const plans = [smallPlan, more];
    const world = await under(plans);
    const seen = recountOf(world, [smallPlan]);
    const wholeSince = new Date(seen.newestMs + 1).toISOString();
    const answer = await answerOf(world, more, 'updated');
    expect(answer).toMatchObject({
      incomplete: ['no-end', 'partial'],
      wholeSince: { known: wholeSince, smallest: wholeSince },
    });
    expect(Object.keys(answer.wholeSince ?? {})).toEqual(['known', 'smallest']);
    for (const { window, partial } of answer.rows) {
      const isBefore = Date.parse(window!.start) <= seen.newestMs;
      expect(partial).toEqual(isBefore ? ['known', 'smallest'] : undefined);
    }
    expect((await answerOf(world, more, 'dropped')).wholeSince).toBeUndefined();
  });

  it('does not take a removed aggregate that comes back for what it was', async () => {
    const plans = [smallPlan, fewer, smallPlan];
    const world = await under(plans, { chainLengthMax: 2, runFanIn: 2 });
    const { newestMs } = recountOf(world, [smallPlan, fewer]);
    const answer = await answerOf(world, smallPlan, 'updated');
    const since = new Date(newestMs + 1).toISOString();
    expect(answer.wholeSince).toEqual({ total: since, typical: since });
    const emptied = answer.rows.filter(({ values }) => values['total'] === null);
    expect(emptied.length).toBeGreaterThan(0);
    for (const { values, partial } of emptied) {
      expect(values['records']).toBeGreaterThan(0);
      expect(partial).toEqual(['total', 'typical']);
    }
  });

  it('leaves a reader that follows it with what another reads anew', async () => {
    const { total: _, ...aggregates } = all_time!.aggregates;
    const views = { ...small.views, all_time: { ...all_time!, aggregates } };
    const plans = [smallPlan, planOf({ views } as never), smallPlan];
    // Each plan has keys of its own: entries of the first are not touched under the others.
    const log = randomLog(45, 5).map((record, index) => {
      return record === null ? null : { ...record, id: index, key: `k${Math.floor(index / 15)}` };
    });
    const world = new TaskWorld(log, { rollbackGraceMs: GRACE_MS });
    let reader: { head: Head; checkpoint: Checkpoint } | null = null;
    for (const [index, plan] of plans.entries()) {
      world.clock.advance(GRACE_MS);
      await world.activate(plan);
      await world.task({}, { plan }).deliver(world.batch(index * 15, index * 15 + 15), PLENTY);
      const head = await world.head();
      const { blobs } = world;
      const checkpoint: Checkpoint =
        reader === null
          ? await restore(smallPlan, head, blobs)
          : await advance(reader.checkpoint, reader.head.delta, head, blobs);
      if (reader !== null) expect(checkpoint.image).toBe(reader.checkpoint.image);
      reader = { head, checkpoint };
      for (const { name } of smallPlan.views) {
        const followed = await answerOf(world, smallPlan, name, undefined, undefined, checkpoint);
        expect(followed).toEqual(await answerOf(world, smallPlan, name));
      }
    }
    await expectAsRecounted(world, plans);
  });

  it('back within the grace is a rewind only where something did not go on, or was dropped', async () => {
    for (const [between, timeline] of [
      // It drops nothing as late; under the others `dropped` does.
      [policies, 0],
      [more, 1],
      [renamed, 1],
      [fewer, 1],
    ] as const) {
      const world = await under([smallPlan, between]);
      await world.activate(smallPlan);
      await world.task().deliver(world.batch(30, 35), PLENTY);
      expect((await world.head()).timeline).toBe(timeline);
      const answer = await answerOf(world, smallPlan, 'updated');
      expect(answer.wholeSince).toBeUndefined();
    }
  });
});

describe('a change of how times are read', () => {
  const SKEW_MS = 600_000;
  /** Each has other times, too: one that is as far ahead of its arrival as it may be at most, and one of the year 2223. */
  const log = randomLog(60, 5).map((record, index) => {
    const seen = index < 25 ? 1_550_000 : 1_600_000;
    return record === null ? null : ({ ...record, seen, far: 8e12 } as SmallRecord);
  });
  const seconds = planOf({ time: { ...small.time, unit: 's' } as never });
  const seen = planOf({ time: { ...small.time, field: 'seen', skew: '10m' } as never });
  const seenUnbounded = planOf({ time: { ...small.time, field: 'seen' } as never });
  const far = planOf({ time: { ...small.time, field: 'far' } as never });
  const elsewhere = planOf({ time: { ...small.time, zone: 'Asia/Tokyo', skew: '10m' } as never });
  const onArrival = planOf({ time: { zone: 'UTC', lateness: '5s' } });

  async function answerAfter(
    plans: readonly Plan[],
    start?: string,
    end?: string,
  ): Promise<ViewAnswer> {
    const world = await under(plans, {}, log);
    await expectAsRecounted(world, plans);
    return answerOf(world, plans.at(-1) as Plan, 'updated', start, end);
  }

  const lastArrivalMs = (plans: readonly Plan[]) => 1_000_000 + (plans.length - 1) * 15 - 1;
  const sinceOf = ({ wholeSince = {} }: ViewAnswer) =>
    [...new Set(Object.values(wholeSince))].map((at) => at && iso(Date.parse(at)));
  const iso = (ms: number) => new Date(ms).toISOString();

  it.each<[string, readonly Plan[], number]>([
    ['of the field', [smallPlan, seen], SKEW_MS],
    ['of the zone', [smallPlan, elsewhere], SKEW_MS],
    ['to the arrival', [smallPlan, onArrival], 0],
    ['and back', [seen, smallPlan, seen], SKEW_MS],
    ['from times that were far ahead', [far, seen], SKEW_MS],
  ])(
    '%s: whole is what begins after all that records before it may be of',
    async (_, plans, aheadMs) => {
      const wholeMs = lastArrivalMs(plans) + aheadMs + 1;
      const answer = await answerAfter(plans);
      expect(sinceOf(answer)).toEqual([iso(wholeMs)]);
      for (const row of answer.rows) {
        expect(row.partial !== undefined).toBe(Date.parse(row.window!.start) < wholeMs);
      }
    },
  );

  it('answers for a closed window that lacks records from before it are not complete', async () => {
    const plans = [smallPlan, seen];
    const lacking = await answerAfter(plans, iso(1_550_000), iso(1_560_000));
    const counted = lacking.rows.reduce((sum, { values }) => sum + Number(values['records']), 0);
    const ofTheWindow = log.slice(0, 25).filter((record) => record?.type === 'a');
    expect(counted).toBeGreaterThan(0);
    expect(counted).toBeLessThan(new Set(ofTheWindow.map((record) => record?.id)).size);
    expect(lacking.rows.every(({ closed, partial }) => closed && partial !== undefined)).toBe(true);
    expect(lacking.incomplete).toEqual(['partial']);
  });

  it('with skew none nothing is known to be whole, until it begins anew under a skew', async () => {
    for (const plan of [seconds, seenUnbounded]) {
      const answer = await answerAfter([smallPlan, plan], iso(9e12));
      expect(sinceOf(answer)).toEqual([null]);
      expect(answer.incomplete).toContain('partial');
    }
    const { updated: _, ...others } = small.views;
    const without = planOf({ time: planToJson(seen).time!, views: others });
    const plans = [smallPlan, seenUnbounded, without, seen];
    expect(sinceOf(await answerAfter(plans))).toEqual([iso(1_000_000 + 14 + SKEW_MS + 1)]);
    // A skew alone does not help: what began without one may lack what the skew would have refused.
    expect(sinceOf(await answerAfter([smallPlan, seenUnbounded, seen]))).toEqual([null]);
  });

  it('an aggregate that is added later knows of it too', async () => {
    const { time } = planToJson(seen);
    const views = {
      ...small.views,
      updated: { ...updated!, aggregates: { n: { count: 'amount' } } },
    };
    const added = planOf({ time: time!, views } as never);
    const plans = [smallPlan, withAggregates({}), added];
    expect(sinceOf(await answerAfter(plans))).toEqual([iso(lastArrivalMs(plans) + SKEW_MS + 1)]);
    const { aggregates } = updated!;
    const more = { ...updated!, aggregates: { ...aggregates, known: { count: 'amount' } } };
    const grown = planOf({ time: time!, views: { ...small.views, updated: more } } as never);
    const { wholeSince } = await answerAfter([smallPlan, seen, grown]);
    expect(wholeSince?.['known']).toBe(iso(lastArrivalMs([smallPlan, seen]) + SKEW_MS + 1));
  });

  it('counts from the newest arrival, also where arrivals go back', async () => {
    const plans = [smallPlan, seen];
    const world = new TaskWorld(log, { rollbackGraceMs: GRACE_MS });
    const records = world.batch(0, 30).map((record, index) => {
      return index === 14 ? { ...record, arrivalMs: 400_000 } : record;
    });
    for (const [index, plan] of plans.entries()) {
      await world.activate(plan);
      const task = world.task({}, { plan });
      await task.deliver(records.slice(index * 15, index * 15 + 15), PLENTY);
    }
    const answer = await answerOf(world, seen, 'updated');
    expect(sinceOf(answer)).toEqual([iso(1_000_000 + 13 + SKEW_MS + 1)]);
  });

  it('costs a view without windows nothing', async () => {
    const world = await under([smallPlan, seen], {}, log);
    const answer = await answerOf(world, seen, 'all_time');
    expect(answer.incomplete).toEqual(['no-windows']);
    expect(answer).not.toHaveProperty('wholeSince');
  });
});
