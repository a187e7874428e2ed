/** What a fallback must not take for an epoch, how far it goes, and what is no reason for one. */
import { describe, expect, it } from 'vitest';
import type { Head } from '../../../core/checkpoint/head.ts';
import { parseBlobKey, sameBlob } from '../../../core/checkpoint/names.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { CorruptStateFault, TransientFault } from '../../../core/faults.ts';
import type { CheckpointStore } from '../../../core/ports.ts';
import { SHARD, SLICE, smallPlan } from '../../world/small-log.ts';
import { deliverEpochs, expectAll, history, KNOBS } from './fallback-fixture.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

describe('commits that never were', () => {
  /** An owner writes all blobs of the next epoch and dies before HEAD. */
  async function orphan(world: TaskWorld, from: number, to: number): Promise<void> {
    const heads = world.headsThatWrite(async () => {
      throw new TransientFault('no answer');
    });
    await expect(world.task({ heads }).deliver(world.batch(from, to), PLENTY)).rejects.toThrow();
  }

  it('name the epochs before them, but are no epochs themselves', async () => {
    const { world, heads } = await history(8);
    await orphan(world, 40, 47);
    await deliverEpochs(world, world.task(), 8, 9);
    await orphan(world, 45, 47);
    const head = await world.head();
    await world.damage(head.delta!);
    if (head.base?.epoch === 9) await world.damage(head.base);
    // The orphans name epoch 8; the delta that was lost was not needed for that.
    expect(await world.task().deliver([], PLENTY)).toMatchObject({ rewoundTo: 8 });
    expect(heads[7]!.epoch).toBe(8);
    await expectAll(world, 1);
  });

  it('are not read where HEAD names another delta of the same number', async () => {
    const { world } = await history(4);
    await orphan(world, 20, 28);
    const orphaned = [...(await world.allBlobs()).keys()]
      .map((key) => parseBlobKey(SLICE, key)!)
      .find(({ kind, epoch }) => kind === 'delta' && epoch === 5)!;
    await deliverEpochs(world, world.task(), 4, 6);
    const head = await world.head();
    await world.damage(head.delta!);
    if (head.base?.epoch === 6) await world.damage(head.base);
    const report = await world.task().deliver([], PLENTY);
    expect(report.rewoundTo).toBeLessThan(6);
    const now = await expectAll(world, 1);
    const { chain } = await load(smallPlan, now, world.blobs);
    expect(chain.some((each) => sameBlob(each, orphaned))).toBe(false);
  });
});

describe('the floor', () => {
  /** A floor above the first epochs: what is below it is collected. */
  async function floored(): Promise<{
    world: TaskWorld;
    head: Head;
    first: Map<string, Uint8Array>;
  }> {
    const world = new TaskWorld(100, { ...KNOBS, retentionGraceMs: 0 });
    const task = world.task();
    await deliverEpochs(world, task, 0, 2);
    const first = await world.allBlobs();
    await deliverEpochs(world, task, 2, 14);
    const head = await world.head();
    expect(head.collectBelow).toBeGreaterThan(3);
    return { world, head, first };
  }

  it('is as far as the slice goes back: below it a person must help', async () => {
    const { world, head, first } = await floored();
    for (const key of (await world.allBlobs()).keys()) {
      const name = parseBlobKey(SLICE, key)!;
      if (name.kind === 'run') continue;
      await world.blobs[name.kind === 'base' ? 'objects' : 'items'].delete([key]);
    }
    // Epochs that somebody put back are below the floor all the same: runs that they need may be gone.
    for (const [key, bytes] of first) await world.blobs.items.create(key, bytes);
    const stuck = world.task().deliver(world.batch(70, 75), PLENTY);
    await expect(stuck).rejects.toThrow(CorruptStateFault);
    await expect(stuck).rejects.toThrow(/no older epoch/);
    expect((await world.head()).revision).toBe(head.revision);
  });

  it('does not hold an owner that was so slow that others have collected what it read of: it reads HEAD again', async () => {
    const world = new TaskWorld(100, { ...KNOBS, retentionGraceMs: 0 });
    const task = world.task();
    await deliverEpochs(world, task, 0, 2);
    const old = await world.ports.heads.readHead(SLICE);
    await deliverEpochs(world, task, 2, 14);
    let reads = 0;
    const store = world.ports.heads;
    const heads: CheckpointStore = {
      readHead: async (sliceId) => (++reads <= 2 ? old : store.readHead(sliceId)),
      createHead: (item) => store.createHead(item),
      writeHead: (item, ifRevision, passing) => store.writeHead(item, ifRevision, passing),
      holdHead: (sliceId, hold, instead) => store.holdHead(sliceId, hold, instead),
      listHeads: () => store.listHeads(),
    };
    world.source.trim(SHARD, world.records[60]!);
    const report = await world.task({ heads }).deliver(world.batch(70, 75), PLENTY);
    expect(report).toMatchObject({ folded: 5, rewoundTo: null, refused: 1 });
    expect(reads).toBeGreaterThan(2);
    await expectAll(world, 0);
  });

  it('keeps one whole base behind HEAD: any one blob may be lost', async () => {
    const { world } = await floored();
    for (const key of (await world.allBlobs()).keys()) {
      const { world: again } = await floored();
      const name = parseBlobKey(SLICE, key)!;
      if (name.kind === 'run') continue;
      await again.blobs[name.kind === 'base' ? 'objects' : 'items'].delete([key]);
      await again.task().deliver(again.batch(70, 75), PLENTY);
      const head = await again.head();
      expect(head.cursor.sequenceNumber).toBe(again.records[74]!.sequenceNumber);
      expect(head.counts).toEqual(again.expectedCounts(75));
    }
  });

  it('is no help where the stream was trimmed beyond what can be read', async () => {
    const { world, heads } = await history(8);
    await world.damage(heads[7]!.delta!);
    world.source.trim(SHARD, world.records[36]!);
    await expect(world.task().deliver([], PLENTY)).rejects.toThrow(/no older epoch/);
    expect((await world.head()).revision).toBe(heads[7]!.revision);
  });
});

describe('a damaged run', () => {
  async function withDamagedRun(how: 'gone' | 'changed') {
    const { world, heads } = await history(3, { runFanIn: 2 });
    const { manifest } = await load(smallPlan, heads[2]!, world.blobs);
    const [run] = manifest.runs;
    await world.damage(run!, how);
    return { world, run: run! };
  }

  it.each(['gone', 'changed'] as const)(
    '(%s) causes no fallback, and no merge takes it up',
    async (how) => {
      const { world, run } = await withDamagedRun(how);
      const task = world.task();
      for (let at = 15; at < 35; at += 5) {
        const report = await task.deliver(world.batch(at, at + 5), PLENTY);
        expect(report.rewoundTo).toBeNull();
      }
      const head = await world.head();
      expect(head).toMatchObject({ timeline: 0, counts: world.expectedCounts(35) });
      expect(head.base!.epoch).toBe(6);
      const { manifest } = await load(smallPlan, head, world.blobs);
      expect(manifest.runs.some((each) => sameBlob(each, run))).toBe(true);
      expect(manifest.runs).toHaveLength(2);
    },
  );
});
