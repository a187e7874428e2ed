import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Head } from '../../core/checkpoint/head.ts';
import { completeOverlay, loadOverlay, restoreOverlay } from '../../core/checkpoint/overlay.ts';
import { PartCache } from '../../core/checkpoint/part-cache.ts';
import { advance, type Checkpoint, load } from '../../core/checkpoint/restore.ts';
import { RunCache } from '../../core/checkpoint/run-cache.ts';
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { Plan } from '../../core/definition/plan.ts';
import type { SlicePart } from '../../core/query/row-sources.ts';
import { parseViewRequest, type ViewRequest } from '../../core/query/view-request.ts';
import { PLENTY, TaskWorld } from '../unit/task/task-fixture.ts';
import { laterPlan, SLICE, type SmallRecord } from '../world/small-log.ts';
import { pagedRows } from './paged-rows.ts';

const WINDOW_MS = 10_000;
const BEGIN_MS = 100_000;

/** As `smallPlan`, but for the ids of its dedupe, which would take most of a small budget. */
const plainPlan = planOf({ total: { sum: 'amount' }, largest: { max: 'amount' } });
/** With other aggregates: columns begin again, after a while without. */
const otherPlan = planOf({ least: { min: 'amount' }, total: { sum: 'amount' } });
const PLANS = [plainPlan, laterPlan, otherPlan];

function planOf(aggregates: object): Plan {
  const windowed = { groupBy: ['key'], window: { tumbling: '10s' }, aggregates };
  const parsed = parsePlan({
    name: 'small',
    time: { field: 't', lateness: '5s', skew: 'none' },
    category: { field: 'type' },
    views: {
      all_time: { category: 'a', groupBy: ['key'], aggregates },
      updated: { category: 'a', ...windowed },
      put_aside: { category: 'b', late: 'side', ...windowed },
    },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

const anyRecord = fc.record({
  /** Most move time on, some are of windows long before or ahead. */
  stepMs: fc.constantFrom(0, 0, 200, 1_000, 4_000),
  aheadMs: fc.constantFrom(0, 0, 0, -8_000, -25_000, 15_000, 60_000),
  type: fc.constantFrom('a' as const, 'a' as const, 'b' as const),
  key: fc.oneof(
    fc.constantFrom('a', 'ab', 'abc', 'b', 'ba', '', '7'),
    fc.nat(30).map((number) => `k${number}`),
  ),
  amount: fc.integer({ min: -30, max: 70 }),
});
const anyTime = fc
  .integer({ min: -3, max: 20 })
  .map((window) => new Date(BEGIN_MS + window * WINDOW_MS).toISOString());
const anyQuestion = fc.record(
  {
    'key.key': fc.constantFrom('a', 'ab', '7', 'k1', 'none'),
    prefix: fc.constantFrom('a', 'ab', '', '7', 'k'),
    start: anyTime,
    end: anyTime,
    order: fc.constantFrom('total', '-total'),
  },
  { requiredKeys: [] },
);
const scenario = fc.record({
  records: fc.array(anyRecord, { minLength: 20, maxLength: 120 }),
  batches: fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 6, maxLength: 16 }),
  /** The plan of each batch: most stay with the one before. */
  plans: fc.array(fc.constantFrom(-1, -1, -1, -1, 0, 1, 2), { minLength: 16, maxLength: 16 }),
  tasks: fc.array(fc.nat(1), { minLength: 1, maxLength: 8 }),
  knobs: fc.record({
    chainLengthMax: fc.integer({ min: 1, max: 6 }),
    chainBytesMinToCompact: fc.constantFrom(300, 3_000, 1_000_000),
    partBytesMax: fc.constantFrom(20, 60, 120, 500, 1_000_000),
    partBytesMinToRewrite: fc.constantFrom(1, 1, 100, 1_000, 1_000_000),
    retentionGraceMs: fc.constantFrom(0, 3_000),
    runFanIn: fc.integer({ min: 2, max: 4 }),
  }),
  askings: fc.array(
    fc.record({
      view: fc.constantFrom('all_time', 'updated', 'updated', 'put_aside', 'by_type'),
      question: fc.oneof(fc.constant({}), anyQuestion),
      limit: fc.constantFrom(1, 2, 5, 1_000),
    }),
    { minLength: 2, maxLength: 5 },
  ),
});

function requestOf(plan: Plan, view: string, question: object): ViewRequest | null {
  const isAllTime = view === 'all_time' || view === 'by_type';
  const asked = Object.entries({ ...question, limit: '1000' }).filter(([name]) => {
    if (isAllTime && (name === 'start' || name === 'end')) return false;
    return name !== 'prefix' || !('key.key' in question);
  });
  const request = parseViewRequest(plan, view, asked);
  return request.ok ? request.value : null;
}

function partOf(checkpoint: Checkpoint): SlicePart {
  return { pinned: { sliceId: SLICE }, checkpoint };
}

describe('an overlay', () => {
  it('and the parts that it seeks into show the rows of the whole image, whatever is asked and however it came about', async () => {
    const seen = { overlays: 0, parts: 0, rows: 0, followed: 0 };
    await fc.assert(
      fc.asyncProperty(scenario, async ({ records, batches, plans, tasks, knobs, askings }) => {
        let nowMs = BEGIN_MS;
        const log = records.map(({ stepMs, aheadMs, ...rest }, id): SmallRecord => {
          nowMs += stepMs;
          return { id, t: nowMs + aheadMs, ...rest };
        });
        const world = new TaskWorld(log, knobs);
        const cache = new PartCache(world.blobs, 2_000);
        const reading = {
          runs: new RunCache(world.blobs),
          parts: cache,
          isLost: () => false,
        };
        let plan = plainPlan;
        await world.activate(plan);
        let owners = [world.task({}, { plan }), world.task({}, { plan })];
        const followers = new Map<Plan, { checkpoint: Checkpoint; head: Head }>();
        let before: { whole: Checkpoint; overlay: Checkpoint; plan: Plan } | null = null;
        let at = 0;
        for (const [index, count] of batches.entries()) {
          const chosen = PLANS[plans[index] ?? -1] ?? plan;
          if (chosen !== plan) {
            plan = chosen;
            await world.activate(plan);
            owners = [world.task({}, { plan }), world.task({}, { plan })];
          }
          const to = Math.min(log.length, at + count);
          world.clock.advance(1_000);
          await owners[tasks[index % tasks.length] as number]?.deliver(world.batch(at, to), PLENTY);
          at = to;
          const head = await world.head();
          // A reader may have another plan than the owner.
          for (const its of index % 2 === 0 ? [plan] : PLANS) {
            const whole = await load(its, head, world.blobs);
            const overlay = await restoreOverlay(its, head, world.blobs);
            const known = followers.get(its);
            const followed =
              known === undefined
                ? await loadOverlay(its, head, world.blobs)
                : await advance(
                    known.checkpoint,
                    known.head.delta,
                    head,
                    world.blobs,
                    restoreOverlay,
                  );
            followers.set(its, { checkpoint: followed, head });
            if (overlay.image.isOverlay) seen.overlays++;
            if (followed.image.isOverlay && known !== undefined) seen.followed++;
            for (const { view, question, limit } of askings) {
              const request = requestOf(its, view, question);
              if (request === null) continue;
              const expected = await pagedRows(request, 1_000, [partOf(whole)], reading);
              const found = await pagedRows(request, limit, [partOf(overlay)], reading);
              expect(found).toEqual(expected);
              expect(await pagedRows(request, limit, [partOf(followed)], reading)).toEqual(
                expected,
              );
              seen.rows += found.length;
              if (before === null || before.plan !== its) continue;
              // As if they were two slices, one of which has its image whole.
              const two = [before.whole, whole].map(partOf);
              const mixed = [before.overlay, whole].map(partOf);
              const apart = [before.overlay, overlay].map(partOf);
              const both = await pagedRows(request, 1_000, two, reading);
              expect(await pagedRows(request, limit, mixed, reading)).toEqual(both);
              expect(await pagedRows(request, limit, apart, reading)).toEqual(both);
            }
            const completed = await completeOverlay(SLICE, overlay, world.blobs);
            seen.parts += completed.manifest.parts.length;
            expect(completed.image.keptEntryCount).toBe(whole.image.keptEntryCount);
            const late = await loadOverlay(its, head, world.blobs);
            before = { whole, overlay: late, plan: its };
          }
        }
      }),
      { numRuns: 80 },
    );
    // What the scenarios are for happened.
    expect(seen.overlays).toBeGreaterThan(100);
    expect(seen.followed).toBeGreaterThan(50);
    expect(seen.parts).toBeGreaterThan(500);
    expect(seen.rows).toBeGreaterThan(1_000);
  }, 120_000);
});
