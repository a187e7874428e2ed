import { describe, expect, it } from 'vitest';
import { load } from '../../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { laterPlan, type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from '../task/task-fixture.ts';
import { contentOf, withoutMerged } from './merged-fixture.ts';

const KNOBS = {
  chainLengthMax: 40,
  mergeFanIn: 4,
  partBytesMax: 60,
  partBytesMinToRewrite: 1,
  chainBytesMinToCompact: 1e9,
};

const LOG: readonly SmallRecord[] = Array.from({ length: 400 }, (_, id) => ({
  id,
  // Some come late.
  t: id % 5 === 4 ? 1_000 : 1_000 + 400 * id,
  type: 'a',
  key: `group ${(id * 7) % 400}`,
  amount: id,
}));

/** Delivers a batch to an owner that restores first. */
async function deliver(world: TaskWorld, plan: Plan, from: number, to: number): Promise<void> {
  const code = { plan, decoder: createJsonDecoder(plan) };
  await world.task({}, code).deliver(world.batch(from, to), PLENTY);
}

describe('merged deltas', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'never span a change of plan, whoever restored meanwhile: %i batches before it',
    async (count) => {
      const world = new TaskWorld(LOG, KNOBS);
      let mergedCount = 0;
      for (let at = 0; at < 16; at++) {
        const plan = at < count ? smallPlan : laterPlan;
        if (at === count) await world.activate(laterPlan);
        await deliver(world, plan, 25 * at, 25 * at + 25);
        const head = await world.head();
        expect(head.planHash).toBe(plan.hash);
        const loaded = await load(plan, head, world.blobs);
        mergedCount += loaded.chain.filter(({ kind }) => kind === 'merged').length;
        const byDeltas = await load(plan, head, withoutMerged(world.blobs));
        expect(contentOf(plan, byDeltas)).toEqual(contentOf(plan, loaded));
      }
      expect(mergedCount).toBeGreaterThan(5);
    },
  );
});
