import { describe, expect, it } from 'vitest';
import { type PartReference, partBytesOf } from '../../../core/checkpoint/manifest.ts';
import { blobKey, sameBlob } from '../../../core/checkpoint/names.ts';
import { load, restore } from '../../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { laterPlan, SLICE, type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from '../task/task-fixture.ts';

const PART_BYTES = 1_000;
const KNOBS = { chainLengthMax: 4, partBytesMax: PART_BYTES, partBytesMinToRewrite: PART_BYTES };

/** Records of one open window and many groups, each group of `repeats`. */
function manyGroups(count: number, groups = count): SmallRecord[] {
  return Array.from({ length: count }, (_, id) => ({
    id,
    t: 1_000,
    type: 'a',
    key: `group ${String((id * 7) % groups).padStart(5, '0')}`,
    amount: id,
  }));
}

async function delivered(world: TaskWorld, from: number, to: number, step = 20): Promise<void> {
  const task = world.task();
  for (let at = from; at < to; at += step) {
    await task.deliver(world.batch(at, Math.min(to, at + step)), PLENTY);
  }
}

const written = (parts: readonly PartReference[], epoch: number) =>
  parts.filter(({ bytes }) => bytes?.pack.epoch === epoch);

describe('a base', () => {
  it('writes no more than its budget and a part, however large the state', async () => {
    const world = new TaskWorld(manyGroups(1_000), KNOBS);
    const task = world.task();
    const sizes: number[] = [];
    let stateBytes = 0;
    for (let at = 0; at < 1_000; at += 10) {
      await task.deliver(world.batch(at, at + 10), PLENTY);
      const { manifest } = await load(smallPlan, await world.head(), world.blobs);
      const anew = written(manifest.parts, (await world.head()).epoch);
      sizes.push(anew.reduce((sum, { bytes }) => sum + (bytes?.byteLength ?? 0), 0));
      stateBytes = partBytesOf(manifest);
    }
    expect(stateBytes).toBeGreaterThan(50 * PART_BYTES);
    // A round takes no longer than a chain may be.
    const budget = Math.max(PART_BYTES, stateBytes / KNOBS.chainLengthMax);
    expect(Math.max(...sizes)).toBeLessThan(budget + 2 * PART_BYTES);
    expect((await world.head()).chainLength).toBeLessThan(3 * KNOBS.chainLengthMax);
    expect(await world.answers(await world.head())).toEqual(world.expected(1_000));
  });

  it('has parts of about the largest size, none of them larger, each with keys behind those before it', async () => {
    const world = new TaskWorld(manyGroups(600), { ...KNOBS, partBytesMinToRewrite: 1_000_000 });
    await delivered(world, 0, 600);
    await world.task().checkpoint(PLENTY);
    const { manifest } = await load(smallPlan, await world.head(), world.blobs);
    const sizes = manifest.parts.flatMap(({ bytes }) => (bytes === null ? [] : [bytes.byteLength]));
    expect(sizes.length).toBeGreaterThan(20);
    expect(Math.max(...sizes)).toBeLessThan(PART_BYTES * 1.1);
    const large = sizes.filter((size) => size > PART_BYTES / 2);
    expect(large.length).toBeGreaterThan(sizes.length - 5);
    expect(chainOf(await world.head())).toEqual([]);
  });

  it('lists what nothing has touched where it lies', async () => {
    const world = new TaskWorld(manyGroups(400), { ...KNOBS, partBytesMinToRewrite: 1_000_000 });
    await delivered(world, 0, 400);
    await world.task().checkpoint(PLENTY);
    const before = await load(smallPlan, await world.head(), world.blobs);
    const sparing = { ...world.ports.knobs, partBytesMinToRewrite: 1, chainLengthMax: 1_000_000 };
    await world.task({ knobs: sparing }).checkpoint(PLENTY);
    const after = await load(smallPlan, await world.head(), world.blobs);
    const { epoch } = await world.head();
    const kept = after.manifest.parts.filter((part) => !written([part], epoch).includes(part));
    expect(kept.length).toBeGreaterThan(before.manifest.parts.length - 3);
    for (const part of kept) {
      expect(part.epoch).toBe(epoch);
      expect(before.manifest.parts.map(({ bytes }) => bytes)).toContainEqual(part.bytes);
    }
  });

  it('of another plan takes parts by reference, and what they lack of new columns is not in them', async () => {
    const world = new TaskWorld(manyGroups(400), KNOBS);
    await delivered(world, 0, 400);
    const { manifest } = await load(smallPlan, await world.head(), world.blobs);
    await world.activate(laterPlan);
    const code = { plan: laterPlan, decoder: createJsonDecoder(laterPlan) };
    await world.task({ knobs: { ...world.ports.knobs, chainLengthMax: 64 } }, code).tick(PLENTY);
    const head = await world.head();
    expect(head.planHash).toBe(laterPlan.hash);
    const after = await load(laterPlan, head, world.blobs);
    const known = manifest.parts.map(({ bytes }) => bytes);
    expect(known.length).toBeGreaterThan(20);
    expect(written(after.manifest.parts, head.epoch).length).toBeLessThan(5);
    for (const { bytes } of after.manifest.parts) {
      if (bytes?.pack.epoch !== head.epoch) expect(known).toContainEqual(bytes);
    }
    const { image } = await restore(laterPlan, await world.head(), world.blobs);
    const sizeOf = (name: string) =>
      image.tables[laterPlan.views.findIndex((view) => view.name === name)]?.entryCount;
    expect([sizeOf('all_time'), sizeOf('by_type')]).toEqual([400, 0]);
  });
});

describe('a damaged pack', () => {
  it.each([0, 1, 2, 3])(
    'leaves a fallback an epoch that is whole: that of base −%i',
    async (ago) => {
      // All parts together fit into what one base may write.
      const world = new TaskWorld(manyGroups(200, 40), { chainLengthMax: 3 });
      await delivered(world, 0, 180, 5);
      const head = await world.head();
      const epochs = [...(await world.allBlobs()).keys()]
        .filter((key) => key.includes('/base/'))
        .map((key) => Number(key.split('-').at(-2)));
      const base = { ...head.base!, epoch: epochs.at(-1 - ago) as number };
      for (const key of (await world.allBlobs()).keys()) {
        if (key.includes('/base/') && key.includes(String(base.epoch).padStart(12, '0'))) {
          await world.blobs.objects.delete([key]);
        }
      }
      await world.task().deliver(world.batch(180, 200), PLENTY);
      expect(await world.answers(await world.head())).toEqual(world.expected(200));
    },
  );
});

describe('a base whose deltas before it are not whole', () => {
  it('is refused by name', async () => {
    const world = new TaskWorld(manyGroups(300), KNOBS);
    await delivered(world, 0, 300, 10);
    const head = await world.head();
    const { chain, manifest } = await load(smallPlan, head, world.blobs);
    const needed = chain.filter(({ epoch }) => epoch > head.chainSince && epoch < head.base!.epoch);
    expect(needed.length).toBeGreaterThan(0);
    for (const delta of needed) expect(delta.epoch).toBeGreaterThan(0);
    await world.damage(needed[0]!);
    await expect(load(smallPlan, head, world.blobs)).rejects.toThrow(CorruptStateFault);
    expect(
      manifest.parts.some(({ bytes }) => bytes !== null && !sameBlob(bytes.pack, head.base!)),
    ).toBe(true);
    expect(blobKey(SLICE, needed[0]!)).toContain('/delta/');
  });
});

function chainOf({ epoch, chainSince }: { epoch: number; chainSince: number }): number[] {
  return Array.from({ length: epoch - chainSince }, (_, index) => chainSince + 1 + index);
}
