import { describe, expect, it } from 'vitest';
import { MemoryBlobStore } from '../../../adapters/memory/memory-blob-store.ts';
import { MemoryClock } from '../../../adapters/memory/memory-clock.ts';
import { MemoryPlanRegistry } from '../../../adapters/memory/memory-plan-registry.ts';
import { recordBirth } from '../../../core/checkpoint/beginning.ts';
import { deleteAll } from '../../../core/checkpoint/delete-all.ts';
import type { Head } from '../../../core/checkpoint/head.ts';
import { firstHead } from '../../../core/checkpoint/transitions.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { PipelineJson } from '../../../core/definition/pipeline-json.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { canonicalJson, planToJson } from '../../../core/definition/plan-json.ts';
import { START } from '../../../core/position.ts';
import { activatePlan } from '../../../core/task/plan-activation.ts';

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

function planOf(views: PipelineJson['views']): Plan {
  const parsed = parsePlan({ name: 'shop', stream: 'orders', views });
  if (!parsed.ok) throw new Error('the plan is not sound');
  return parsed.plan;
}

const orders = { groupBy: ['shop'], aggregates: { orders: { count: '*' } } } as const;
const BEFORE = planOf({ by_shop: orders, total: { aggregates: { revenue: { sum: 'price' } } } });
const AFTER = planOf({ by_shop: orders, total: { aggregates: { revenue: { max: 'price' } } } });

function head(planHash: string, changes: Partial<Head> = {}): Head {
  const range = { start: '0'.repeat(32), end: 'f'.repeat(32) };
  const identity = {
    sliceId: 'slice-000000000000',
    shardId: 'shardId-000000000000',
    range,
    streamId: '0'.repeat(16),
  };
  const first = firstHead({ ...identity, planOrdinal: 1, planHash, nonce: '0'.repeat(16) });
  return { ...first, epoch: 5, ...changes };
}

function leftAt(sinceMs: number): Partial<Head> {
  const delta = { kind: 'delta', timeline: 0, epoch: 4, nonce: '1'.repeat(16) } as const;
  const whole = { ...delta, byteLength: 1, checksum: 0, store: 'items' } as never;
  return {
    previous: {
      planHash: BEFORE.hash,
      base: null,
      chainSince: 0,
      delta: whole,
      cursor: START,
      sinceMs,
    },
  };
}

async function world(active: Plan | null, heads: readonly Head[] = []) {
  const registry = new MemoryPlanRegistry();
  if (active !== null) {
    const pipeline = canonicalJson(planToJson(active));
    await registry.activate({ ordinal: 1, hash: active.hash, pipeline });
  }
  const objects = new MemoryBlobStore(new MemoryClock(NOW_MS));
  return { registry, heads, objects, nowMs: NOW_MS };
}

describe('activatePlan', () => {
  it('activates the first plan of a new folder, which changes nothing', async () => {
    const context = await world(null);

    expect(await activatePlan(BEFORE, context)).toEqual({ ordinal: 1, change: null });
    const pipeline = canonicalJson(planToJson(BEFORE));
    expect(await context.registry.active()).toEqual({ ordinal: 1, hash: BEFORE.hash, pipeline });
  });

  it('leaves the active plan as it is', async () => {
    const context = await world(BEFORE);

    expect(await activatePlan(BEFORE, context)).toEqual({ ordinal: 1, change: null });
    expect(await context.registry.active()).toMatchObject({ ordinal: 1 });
  });

  it('activates another plan, and says what changed and what becomes of each view', async () => {
    const context = await world(BEFORE, [head(BEFORE.hash)]);
    const { ordinal, change } = await activatePlan(AFTER, context);

    expect(ordinal).toBe(2);
    expect(await context.registry.active()).toMatchObject({ ordinal: 2, hash: AFTER.hash });
    expect(change).toEqual({
      ordinal: 2,
      hash: AFTER.hash,
      previousHash: BEFORE.hash,
      differences: ['view total: aggregate revenue sum price → max price'],
      views: [
        { view: 'by_shop', fate: 'kept' },
        { view: 'total', fate: 'begins', because: ['all of its aggregates'] },
        { view: 'total', fate: 'left' },
      ],
      policies: [],
      endedRollbacks: [],
    });
  });

  it.each([
    ['a slice left another lately', [head(AFTER.hash, leftAt(NOW_MS - HOUR_MS))], [BEFORE.hash]],
    ['one of several did', [head(AFTER.hash), head(AFTER.hash, leftAt(NOW_MS))], [BEFORE.hash]],
    ['it is a day ago', [head(AFTER.hash, leftAt(NOW_MS - 24 * HOUR_MS))], []],
    ['no slice has gone over to the plan between', [head(BEFORE.hash)], []],
  ] as const)('names the rollbacks that end with the change: where %s', async (_, heads, ended) => {
    const third = planOf({ by_shop: orders });
    const { change } = await activatePlan(third, await world(AFTER, heads));

    expect(change?.endedRollbacks).toEqual(ended);
    const { change: back } = await activatePlan(BEFORE, await world(AFTER, heads));
    expect(back?.endedRollbacks).toEqual([]);
  });

  it.each([
    ['every slice left it lately', [head(AFTER.hash, leftAt(NOW_MS - HOUR_MS))], 'resumed'],
    ['a slice has not left it yet', [head(BEFORE.hash)], 'resumed'],
    ['a slice has no state', [head(BEFORE.hash), head(AFTER.hash, { epoch: 0 })], 'resumed'],
    ['no slice has state', [head(AFTER.hash, { epoch: 0 })], 'begins'],
    ['there is no slice', [], 'begins'],
    ['a slice left it a day ago', [head(AFTER.hash, leftAt(NOW_MS - 24 * HOUR_MS))], 'begins'],
    ['a slice began after it', [head(BEFORE.hash), head(AFTER.hash)], 'begins'],
  ] as const)('takes a plan back: where %s its views are %s', async (_, heads, fate) => {
    const { change } = await activatePlan(BEFORE, await world(AFTER, heads));

    expect(change?.views).toEqual([
      { view: 'by_shop', fate: 'kept' },
      { view: 'total', fate, ...(fate === 'begins' ? { because: ['all of its aggregates'] } : {}) },
      { view: 'total', fate: 'left' },
    ]);
  });

  it('goes over from a pipeline that this version does not take for one', async () => {
    const context = await world(null);
    await context.registry.activate({ ordinal: 1, hash: 'old', pipeline: '{"name":"shop"}' });
    const { change } = await activatePlan(AFTER, context);

    expect(change).toMatchObject({
      ordinal: 2,
      differences: [],
      views: [
        { view: 'by_shop', fate: 'begins' },
        { view: 'total', fate: 'begins' },
      ],
    });
  });

  it('is the same for all who activate one plan at once', async () => {
    const context = await world(BEFORE);
    const activations = await Promise.all([1, 2, 3].map(() => activatePlan(AFTER, context)));
    expect(activations.map(({ ordinal }) => ordinal)).toEqual([2, 2, 2]);
  });

  it('fails for all but one of those who activate different plans at once', async () => {
    const context = await world(null);
    const plans = [BEFORE, AFTER];
    const settled = await Promise.allSettled(plans.map((plan) => activatePlan(plan, context)));
    expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const lost = settled.find((each) => each.status === 'rejected');
    expect(lost?.reason).toMatchObject({ name: 'TransientFault' });
  });

  it.each(['name', 'stream'] as const)(
    'refuses stores of a pipeline with another %s',
    async (what) => {
      const context = await world(BEFORE);
      const other = parsePlan({ ...planToJson(AFTER), [what]: 'another' });
      if (!other.ok) throw new Error('the plan is sound');
      await expect(activatePlan(other.plan, context)).rejects.toMatchObject({
        name: 'ConfigurationFault',
        message: expect.stringContaining(`whose ${what} is`),
      });
    },
  );

  it('is refused as the first one where slices have HEADs: the registry was lost', async () => {
    const context = await world(null, [head(BEFORE.hash)]);
    const refused = activatePlan(BEFORE, context);
    await expect(refused).rejects.toMatchObject({
      name: 'LostStateFault',
      message: expect.stringContaining('HEADs of 1 slices'),
      hint: expect.stringContaining('restore the table'),
    });
    expect(await context.registry.active()).toBeNull();
  });

  it('is refused as the first one beside a birth record: an emptied table is no new pipeline', async () => {
    const context = await world(null);
    await recordBirth({ sliceId: 'slice-000000000003' }, context.objects);
    await expect(activatePlan(BEFORE, context)).rejects.toMatchObject({ name: 'LostStateFault' });
    expect(await context.registry.active()).toBeNull();
    // To begin again on purpose.
    await deleteAll(context.objects);
    expect(await activatePlan(BEFORE, context)).toMatchObject({ ordinal: 1 });
  });
});
