/** Back to the plan before within the grace: what the plan between dropped, or counted wrongly, is put right. */
import { describe, expect, it } from 'vitest';
import { restore } from '../../../core/checkpoint/restore.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { PipelineJson } from '../../../core/definition/pipeline-json.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { planToJson } from '../../../core/definition/plan-json.ts';
import { smallPlan } from '../../world/small-log.ts';
import { BROKEN, begun, LATE, type RedriveWorld, STRICT, WHOLE } from './redrive-fixture.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

const KNOBS = { rollbackGraceMs: 60_000 };
const small = planToJson(smallPlan);
const { all_time, updated } = small.views as Required<PipelineJson['views']>;
const time = small.time!;

function planOf(changes: object): Plan {
  const parsed = parsePlan(JSON.parse(JSON.stringify({ ...small, ...changes })));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

/** 20 records under `plan`, 40 under `between`, 5 under `plan` again: where HEAD went back to, or null. */
async function backFrom(between: Plan, plan = smallPlan) {
  const world = new TaskWorld(100, KNOBS);
  await world.activate(plan);
  await world.task({}, { plan }).deliver(world.batch(0, 20), PLENTY);
  const left = (await world.head()).epoch;
  await world.activate(between);
  await world.task({}, { plan: between }).deliver(world.batch(20, 60), PLENTY);
  await world.activate(plan);
  const { rewoundTo } = await world.task({}, { plan }).deliver(world.batch(60, 65), PLENTY);
  return { world, left, rewoundTo };
}

describe('a rollback', () => {
  it.each<[string, object]>([
    ['that knew duplicates by another id', { dedupe: { id: 'type', within: '30d' } }],
    ['that knew ids for longer', { dedupe: { id: 'id', within: '30d' } }],
    ['that knew ids for less long', { dedupe: { id: 'id', within: '1s' } }],
    ['that knew no duplicates', { dedupe: undefined }],
    ['that let nothing be late', { time: { ...time, lateness: '0s' } }],
    [
      'that dropped in one view what others took',
      { views: { all_time, updated: { ...updated, late: 'drop' } } },
    ],
  ])('from a plan %s loses nothing and counts nothing twice', async (_, changes) => {
    const views = { all_time, updated };
    const plan = planOf({ views });
    const { world, left, rewoundTo } = await backFrom(planOf({ views, ...changes }), plan);
    expect(rewoundTo).toBe(left);
    const head = await world.head();
    expect(await world.answers(head, plan)).toEqual(world.expected(65, plan));
    const alone = new TaskWorld(100);
    await alone.activate(plan);
    await alone.task({}, { plan }).deliver(alone.batch(0, 65), PLENTY);
    expect(head).toMatchObject({
      counts: (await alone.head()).counts,
      watermarkMs: (await alone.head()).watermarkMs,
    });
  });

  it('from a plan that closed windows early, and dropped nothing yet, goes back too', async () => {
    const plan = planOf({ views: { all_time } });
    const hasty = planOf({ views: { all_time }, time: { ...time, lateness: '0s' } });
    const { world, left, rewoundTo } = await backFrom(hasty, plan);
    expect((await world.head()).counts.late).toBe(0);
    expect(rewoundTo).toBe(left);
  });

  it.each<[string, object]>([
    ['of another bound for quarantine', { time: { ...time, skew: '30d' } }],
    ['of a larger lateness', { time: { ...time, lateness: '20s' } }],
    ['of another name', { views: { fresh: updated, all_time } }],
    ['that had more', { views: { updated, all_time, more: { ...updated, groupBy: ['type'] } } }],
  ])('from a plan %s, which lost nothing, keeps what was done', async (_, changes) => {
    const views = { updated, all_time };
    const { rewoundTo } = await backFrom(planOf({ views, ...changes }), planOf({ views }));
    expect(rewoundTo).toBeNull();
  });

  it('from a plan under which two views changed places goes back', async () => {
    const view = (aggregates: object) => ({ ...updated, aggregates });
    const count = { records: { count: '*' } };
    const [sum, least] = [{ total: { sum: 'amount' } }, { least: { min: 'amount' } }];
    const plan = planOf({
      views: { v: view({ ...count, ...sum }), w: view({ ...count, ...least }) },
    });
    const other = { x: view({ ...count, ...least }), v: view({ ...count, ...sum }) };
    expect((await backFrom(planOf({ views: other }), plan)).rewoundTo).toBeNull();
    // The name decides, so v goes on with what only the count is left of.
    const places = { v: view({ ...count, ...least }), w: view({ ...count, ...sum }) };
    const { world, left, rewoundTo } = await backFrom(planOf({ views: places }), plan);
    expect(rewoundTo).toBe(left);
    expect(await world.answers(await world.head(), plan)).toEqual(world.expected(65, plan));
  });

  it('keeps no state that was emptied meanwhile', async () => {
    const view = (aggregates: object) => ({ ...updated, aggregates });
    const count = { records: { count: '*' } };
    const both = { ...count, total: { sum: 'amount' } };
    const plan = planOf({ views: { v: view(both) } });
    // The former name goes on with the count alone, and a new one begins with both.
    const between = planOf({ views: { v: view(count), w: view(both) } });
    const { world, left, rewoundTo } = await backFrom(between, plan);
    expect(rewoundTo).toBe(left);
    const { image } = await restore(plan, await world.head(), world.blobs);
    expect(image.lives[0]).toMatchObject({ since: 0, columns: [{ since: 0 }, { since: 0 }] });
    expect(await world.answers(await world.head(), plan)).toEqual(world.expected(65, plan));
  });
});

describe('what was redriven under the plan between', () => {
  /** WHOLE and LATE come back under another plan, and are settled as far as they can be. */
  async function redriven(changes: object): Promise<{ world: RedriveWorld; id: string }> {
    const world = await begun({ ...KNOBS, retentionGraceMs: 0, chainLengthMax: 1 });
    const between = planOf(changes);
    await world.activate(between);
    const task = world.task({}, { plan: between });
    await task.tick(PLENTY);
    const id = await world.requestFor(WHOLE, LATE, BROKEN);
    await task.tick(PLENTY);
    for (let at = 10; at < 20; at++) await task.deliver(world.batch(at, at + 1), PLENTY);
    expect(await world.outcomeOf(id)).toMatchObject({ redriven: [WHOLE, LATE] });
    await world.activate(smallPlan);
    return { world, id };
  }

  it('stays where nothing was lost', async () => {
    const { world } = await redriven({ time: { ...time, skew: '30d' } });
    expect(await world.task().deliver(world.batch(20, 21), PLENTY)).toMatchObject({
      rewoundTo: null,
    });
    await world.expectRedriven([WHOLE, LATE], 21, 10);
  });

  it('is brought back again where the slice goes back, as the request is still there', async () => {
    const { world, id } = await redriven({ dedupe: { id: 'type', within: '30d' } });
    const { done } = await world.requestOf(id);
    const task = world.task();
    const report = await task.deliver(world.batch(20, 21), PLENTY);
    expect(report.rewoundTo).toBeLessThan(done!.epoch);
    await task.tick(PLENTY);
    expect((await world.requestOf(id)).done).toMatchObject({ timeline: 1 });
    expect(await world.outcomeOf(id)).toMatchObject({ redriven: [WHOLE, LATE] });
    await world.expectRedriven([WHOLE, LATE], 21, 21);
  });

  it('waits in the quarantine again where the plan refuses it', async () => {
    const { world, id } = await redriven({ dedupe: { id: 'type', within: '30d' } });
    const task = world.task({}, STRICT);
    await task.deliver(world.batch(20, 21), PLENTY);
    await task.tick(PLENTY);
    const outcome = await world.outcomeOf(id);
    expect(outcome?.redriven).toEqual([LATE]);
    expect(outcome?.refused[0]).toContain('too strict');
    expect((await world.head()).counts.quarantined).toBe(2);
  });
});
