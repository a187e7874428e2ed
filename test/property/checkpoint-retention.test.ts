import { describe, expect, it } from 'vitest';
import type { Head } from '../../core/checkpoint/head.ts';
import { parseBlobKey } from '../../core/checkpoint/names.ts';
import { load, restore } from '../../core/checkpoint/restore.ts';
import type { SliceTask } from '../../core/task/slice-task.ts';
import { PLENTY, TaskWorld } from '../unit/task/task-fixture.ts';
import { SLICE, smallPlan } from '../world/small-log.ts';

const STEP_MS = 1_000;
/** Several bases long. */
const GRACE_MS = 24_500;
const EPOCHS = 160;

/** Every epoch that HEAD named, with when it was replaced by the next one. */
interface PastHead {
  readonly head: Head;
  readonly count: number;
  replacedMs: number;
}

async function blobCount(world: TaskWorld): Promise<number> {
  const [items, objects] = await Promise.all([
    world.blobs.items.list(`${SLICE}/`, null, 10_000),
    world.blobs.objects.list(`${SLICE}/`, null, 10_000),
  ]);
  return items.length + objects.length;
}

/** An owner that dies between its delta and HEAD: it leaves orphans. */
function dyingTask(world: TaskWorld): SliceTask {
  const heads = world.headsThatWrite(async () => {
    throw new Error('died before HEAD');
  });
  return world.task({ heads });
}

describe('retention', () => {
  it('keeps what HEAD, the base before, and every HEAD within the grace need, and not much more', async () => {
    const knobs = { chainLengthMax: 5, runFanIn: 2, retentionGraceMs: GRACE_MS };
    const world = new TaskWorld(EPOCHS, knobs, { seed: 3 });
    const past: PastHead[] = [];
    let collected = 0;
    let blobsMax = 0;
    let task = world.task();
    for (let epoch = 1; epoch <= EPOCHS; epoch++) {
      world.clock.advance(STEP_MS);
      const batch = world.records.slice(epoch - 1, epoch);
      if (epoch % 11 === 0) {
        await expect(dyingTask(world).deliver(batch, PLENTY)).rejects.toThrow('died before HEAD');
      }
      if (epoch % 17 === 0) task = world.task();
      const before = await blobCount(world);
      await task.deliver(batch, PLENTY);
      if ((await blobCount(world)) < before) collected++;
      const last = past.at(-1);
      if (last !== undefined) last.replacedMs = world.clock.nowMs();
      past.push({ head: await world.head(), count: epoch, replacedMs: Number.POSITIVE_INFINITY });
      blobsMax = Math.max(blobsMax, await blobCount(world));

      const head = (past.at(-1) as PastHead).head;
      expect((await restore(smallPlan, head, world.blobs)).image.progress.digest.count).toBe(epoch);
      const kept = past.filter(({ replacedMs }) => world.clock.nowMs() - replacedMs < GRACE_MS);
      for (const { head: old, count } of kept) {
        const { image } = await load(smallPlan, old, world.blobs);
        expect(image.progress.digest.count, `epoch ${old.epoch} at ${epoch}`).toBe(count);
      }
      // Fallback may go as far as the limit, the base there included.
      const limit = past[head.collectBelow - 1];
      if (limit !== undefined) {
        const { image } = await load(smallPlan, limit.head, world.blobs);
        expect(image.progress.digest.count).toBe(limit.count);
      }
      const bases = past.filter(({ head: { base, delta } }) => base?.epoch === delta?.epoch);
      const previous = bases.at(-2);
      if (previous !== undefined) {
        expect(await world.answers(previous.head)).toEqual(world.expected(previous.count));
      }
      if (epoch % 7 === 0) expect(await world.answers(head)).toEqual(world.expected(epoch));
    }
    expect(collected).toBeGreaterThan(5);
    expect(blobsMax).toBeLessThan(120);
  });

  it('collects the orphans of lost races along with their epochs', async () => {
    const world = new TaskWorld(100, { chainLengthMax: 3, retentionGraceMs: 0 }, { seed: 4 });
    const task = world.task();
    for (let index = 0; index < 100; index++) {
      const batch = world.records.slice(index, index + 1);
      await expect(dyingTask(world).deliver(batch, PLENTY)).rejects.toThrow('died before HEAD');
      await task.deliver(batch, PLENTY);
    }
    const { collectBelow } = await world.head();
    expect(collectBelow).toBeGreaterThan(90);
    const listed = [
      ...(await world.blobs.items.list('', null, 10_000)),
      ...(await world.blobs.objects.list('', null, 10_000)),
    ].map(({ key }) => parseBlobKey(SLICE, key));
    const old = listed.filter((name) => name !== null && name.epoch < collectBelow);
    expect(old.every((name) => name?.kind === 'run')).toBe(true);
    expect(await world.answers(await world.head())).toEqual(world.expected(100));
  });

  it('lets run merges keep every entry, over many levels', async () => {
    const world = new TaskWorld(
      600,
      { chainLengthMax: 2, runFanIn: 2, retentionGraceMs: 0 },
      { seed: 8 },
    );
    const task = world.task();
    let runsMax = 0;
    let levelMax = 0;
    for (let index = 0; index < 600; index += 4) {
      await task.deliver(world.records.slice(index, index + 4), PLENTY);
      const head = await world.head();
      const { manifest } = await restore(smallPlan, head, world.blobs);
      runsMax = Math.max(runsMax, manifest.runs.length);
      levelMax = Math.max(levelMax, ...manifest.runs.map(({ level }) => level));
      if (index % 40 === 0) expect(await world.answers(head)).toEqual(world.expected(index + 4));
    }
    expect(levelMax).toBeGreaterThanOrEqual(4);
    expect(runsMax).toBeLessThan(12);
    expect(await world.answers(await world.head())).toEqual(world.expected(600));
  });
});
