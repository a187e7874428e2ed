import { describe, expect, it } from 'vitest';
import { decodeBase } from '../../../core/checkpoint/base.ts';
import { referenceOf } from '../../../core/checkpoint/blobs.ts';
import { rewriteBudget } from '../../../core/checkpoint/compaction.ts';
import { chainSince, type PartReference, partBytesOf } from '../../../core/checkpoint/manifest.ts';
import { blobKey, parseBlobKey, sameBlob } from '../../../core/checkpoint/names.ts';
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
    // A delta of ten entries has about a kilobyte of them.
    const budget = rewriteBudget(1.5 * PART_BYTES, world.ports.knobs);
    expect(Math.max(...sizes)).toBeLessThan(budget + 2 * PART_BYTES);
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

describe('a new window of many groups', () => {
  it('is written by several bases, each within its budget', async () => {
    const hour = (start: number, from: number, count: number): SmallRecord[] =>
      manyGroups(count).map((each) => ({ ...each, id: from + each.id, t: start }));
    const log = [...hour(1_000, 0, 300), ...hour(12_000, 300, 600)];
    const knobs = { ...KNOBS, chainLengthMax: 40, partBytesMinToRewrite: 3 * PART_BYTES };
    const world = new TaskWorld(log, knobs);
    const task = world.task();
    const sizes: number[] = [];
    for (let at = 0; at < 900; at += 10) {
      await task.deliver(world.batch(at, at + 10), PLENTY);
      const head = await world.head();
      if (head.base?.epoch !== head.epoch) continue;
      const { manifest } = await load(smallPlan, head, world.blobs);
      const anew = written(manifest.parts, head.epoch);
      sizes.push(anew.reduce((sum, { bytes }) => sum + (bytes?.byteLength ?? 0), 0));
      expect(await world.answers(head)).toEqual(world.expected(at + 10));
    }
    expect(sizes.length).toBeGreaterThan(5);
    const budget = rewriteBudget(1.5 * PART_BYTES, world.ports.knobs);
    expect(Math.max(...sizes)).toBeLessThan(budget + 2 * PART_BYTES);
  });
});

describe('a byte of an older pack', () => {
  it('that is not what was written is noticed, and what has another copy is read from there', async () => {
    const world = new TaskWorld(manyGroups(400), { ...KNOBS, partBytesMinToRewrite: 3_000 });
    await delivered(world, 0, 400);
    const head = await world.head();
    const { manifest } = await load(smallPlan, head, world.blobs);
    const older = manifest.parts.find(
      ({ bytes }) => bytes !== null && bytes.pack.epoch !== head.base?.epoch,
    );
    const { pack, offset, byteLength } = older!.bytes!;
    const key = blobKey(SLICE, pack);
    const sound = (await world.blobs.objects.read(key)) as Uint8Array;
    const damaged = sound.map((byte, at) => (at === offset + (byteLength >> 1) ? byte ^ 1 : byte));
    await world.blobs.objects.delete([key]);
    await world.blobs.objects.create(key, damaged);
    await expect(load(smallPlan, head, world.blobs)).rejects.toThrow('is not what was written');
  });
});

describe('what bases replaced', () => {
  it('is listed while a floor divides it from what replaced it, and deleted when the floor has passed', async () => {
    const world = new TaskWorld(manyGroups(900, 60), { ...KNOBS, retentionGraceMs: 5_000 });
    const task = world.task();
    let listedMax = 0;
    for (let at = 0; at < 900; at += 5) {
      world.clock.advance(500);
      await task.deliver(world.batch(at, at + 5), PLENTY);
      const { manifest } = await load(smallPlan, await world.head(), world.blobs);
      listedMax = Math.max(listedMax, manifest.replaced.length);
    }
    const bases = [...(await world.allBlobs()).keys()].filter((key) => key.includes('/base/'));
    const { ids } = (await load(smallPlan, await world.head(), world.blobs)).manifest;
    expect(listedMax).toBeLessThan(25);
    expect(bases.length - ids.parts.length).toBeLessThan(40);
  });

  it('does not grow while a change of plan holds the floor', async () => {
    const world = new TaskWorld(manyGroups(900, 60), { ...KNOBS, retentionGraceMs: 0 });
    await delivered(world, 0, 100, 10);
    await world.activate(laterPlan);
    const code = { plan: laterPlan, decoder: createJsonDecoder(laterPlan) };
    const task = world.task({}, code);
    const lengths: number[] = [];
    for (let at = 100; at < 900; at += 5) {
      await task.deliver(world.batch(at, at + 5), PLENTY);
      lengths.push(
        (await load(laterPlan, await world.head(), world.blobs)).manifest.replaced.length,
      );
    }
    expect(Math.max(...lengths.slice(-40))).toBeLessThan(30);
    // The rollback still finds all that it goes on from.
    await world.activate(smallPlan);
    const report = await world.task().deliver([], PLENTY);
    expect(report.rewoundTo).not.toBeNull();
  });
});

describe('bases that need the same chain', () => {
  it.each([0, 4, 9])(
    'are there for a fallback, the oldest too: at the %i-th time that there are several',
    async (skipped) => {
      const sizes = { partBytesMax: 300, partBytesMinToRewrite: 300 };
      const knobs = { ...sizes, chainLengthMax: 12, retentionGraceMs: 3_000 };
      const world = new TaskWorld(manyGroups(1_000, 200), knobs);
      const task = world.task();
      let left = skipped;
      for (let at = 0; ; at += 10) {
        world.clock.advance(1_000);
        await task.deliver(world.batch(at, at + 10), PLENTY);
        const { collectBelow } = await world.head();
        const bases = await basesOf(world);
        const first = bases.findIndex(({ since }) => since === collectBelow);
        const isShared = bases[first + 1]?.since === collectBelow;
        if (collectBelow === 0 || !isShared || left-- > 0) continue;
        await world.blobs.objects.delete(bases.slice(first + 1).map(({ key }) => key));
        await world.task().deliver(world.batch(at + 10, at + 20), PLENTY);
        expect(await world.answers(await world.head())).toEqual(world.expected(at + 20));
        return;
      }
    },
  );
});

/** The oldest first. */
async function basesOf(world: TaskWorld): Promise<{ key: string; since: number }[]> {
  const bases: { key: string; since: number }[] = [];
  for (const [key, bytes] of await world.allBlobs()) {
    const name = parseBlobKey(SLICE, key);
    if (name?.kind !== 'base') continue;
    const { manifest } = decodeBase(bytes, SLICE, referenceOf(name, 'object', bytes));
    bases.push({ key, since: chainSince(manifest) });
  }
  return bases;
}

describe('a base whose deltas before it are not whole', () => {
  it('is refused by name', async () => {
    const world = new TaskWorld(manyGroups(300), { ...KNOBS, mergeFanIn: 1_000 });
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
