import { describe, expect, it } from 'vitest';
import { type ChainLink, linksAfter } from '../../../core/checkpoint/chain.ts';
import { soundEpochs } from '../../../core/checkpoint/fallback.ts';
import { type BlobReference, parseBlobKey } from '../../../core/checkpoint/names.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { laterPlan, SLICE, type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from '../task/task-fixture.ts';
import { contentOf, withoutMerged } from './merged-fixture.ts';

const KNOBS = {
  chainLengthMax: 40,
  mergeFanIn: 4,
  partBytesMax: 60,
  partBytesMinToRewrite: 1,
  chainBytesMinToCompact: 1e9,
};

const LOG: readonly SmallRecord[] = Array.from({ length: 600 }, (_, id) => ({
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

  it.each([
    [8, 5],
    [8, 8],
    [4, 3],
  ])('that overlap count nothing twice: owners that merge %i and %i at a time', async (a, b) => {
    const world = new TaskWorld(LOG, {});
    const knobs = { ...world.ports.knobs, ...KNOBS, mergeFanIn: a, drainBytesMin: 1e9 };
    const [one, other] = [
      world.task({ knobs }),
      world.task({ knobs: { ...knobs, mergeFanIn: b } }),
    ];
    for (let at = 0; at < 60; at++) {
      const owner = (at + 1) % (a === 8 ? 10 : 9) === 0 ? other : one;
      await owner.deliver(world.batch(10 * at, 10 * at + 10), PLENTY);
      const head = await world.head();
      const loaded = await load(smallPlan, head, world.blobs);
      const byDeltas = await load(smallPlan, head, withoutMerged(world.blobs));
      expect(contentOf(smallPlan, byDeltas)).toEqual(contentOf(smallPlan, loaded));
    }
  });

  it('stand in for a delta that is damaged, in a fallback too', async () => {
    const world = new TaskWorld(manyOfFew(400), { ...KNOBS, retentionGraceMs: 0 });
    for (let at = 0; at < 62; at++) await deliver(world, smallPlan, 4 * at, 4 * at + 4);
    const head = await world.head();
    const { chain } = await load(smallPlan, head, world.blobs);
    const links = linksAfter(chain, head.chainSince) ?? [];
    const merged = links.find(({ kind }) => kind === 'merged') as ChainLink;
    const names = await world.allBlobs();
    const inside = [...names.keys()]
      .map((key) => parseBlobKey(SLICE, key))
      .find((name) => {
        return (
          name?.kind === 'delta' && name.epoch > head.chainSince && name.epoch === merged.after + 2
        );
      });
    for (const name of [head.delta, { ...inside, place: 'item' }]) {
      await world.damage(name as BlobReference);
    }
    for await (const { epoch, checkpoint } of soundEpochs(smallPlan, head, world.blobs)) {
      expect(epoch).toBeGreaterThanOrEqual(head.epoch - 2);
      expect(checkpoint.image.progress.recordCount).toBe(4 * epoch);
      return;
    }
    throw new Error('no epoch is sound');
  });

  it('are of 8 epochs, of 64, and so on, as long as the chain is', async () => {
    const world = new TaskWorld(manyOfFew(1_100), { ...KNOBS, mergeFanIn: 8 });
    const task = world.task();
    const spans: string[] = [];
    for (let at = 0; at < 270; at++) {
      await task.deliver(world.batch(4 * at, 4 * at + 4), PLENTY);
      const { chain } = await load(smallPlan, await world.head(), world.blobs);
      const { epoch } = await world.head();
      for (const link of chain) {
        if (link.kind === 'merged' && link.epoch === epoch) spans.push(`${link.after}-${epoch}`);
      }
    }
    expect(spans).toEqual(expect.arrayContaining(['64-128', '128-192', '192-256', '256-264']));
    expect((await world.head()).chainLength).toBeLessThan(20);
  });
});

/** Of one window and a hundred groups. */
function manyOfFew(count: number): SmallRecord[] {
  return Array.from({ length: count }, (_, id) => ({
    id,
    t: 1_000,
    type: 'a',
    key: `group ${(id * 7) % 100}`,
    amount: id,
  }));
}
