/** What a change of the pipeline file costs: nothing where only policies, names or order change. */
import { describe, expect, it } from 'vitest';
import { restore } from '../../../core/checkpoint/restore.ts';
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
import { SHARD, SLICE, smallPlan } from '../../world/small-log.ts';
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
async function under(plans: readonly Plan[], knobs = {}): Promise<TaskWorld> {
  const world = new TaskWorld(100, { rollbackGraceMs: GRACE_MS, ...knobs });
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

async function answerOf(world: TaskWorld, plan: Plan, view: string, start?: string) {
  const head = await world.head();
  const checkpoint = await restore(plan, head, world.blobs);
  const asked = parseViewRequest(plan, view, start === undefined ? [] : [['start', start]]);
  if (!asked.ok) throw new Error(asked.problem.detail);
  const { status, epoch } = head;
  const pinned = { sliceId: SLICE, status, waits: false, epoch, nonceByte: nonceByte(head.delta) };
  const part = { shardId: SHARD, pinned, checkpoint };
  const reading = { runs: new RunCache(world.blobs), isLost: () => true };
  const page = await readRows(asked.value, [part], reading);
  const { watermarkMs } = checkpoint.image.progress;
  const told = { exempt: [], waiting: [], isListed: true, isOpen: true, fingerprint: '' };
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
    ['that removes aggregates, and adds them again', [smallPlan, fewer, smallPlan, fewer]],
  ])('%s keeps what means the same', async (_, plans) => {
    await expectAsRecounted(await under(plans, { chainLengthMax: 3, runFanIn: 2 }), plans);
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
    expect(answer).toMatchObject({ complete: true });
    expect(answer).not.toHaveProperty('wholeSince');
  });

  it('says since when an added aggregate is whole, and until then not that it is complete', async () => {
    const plans = [smallPlan, more];
    const world = await under(plans);
    const seen = recountOf(world, [smallPlan]);
    const wholeSince = new Date(seen.newestMs + 1).toISOString();
    const answer = await answerOf(world, more, 'updated');
    expect(answer).toMatchObject({
      complete: false,
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

  it('back within the grace is a rewind only where something did not go on', async () => {
    for (const [between, timeline] of [
      [policies, 0],
      [more, 0],
      [renamed, 0],
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
