/** Going back to the newest epoch that can be read whole, whatever is damaged, and forward again by a replay. */
import { describe, expect, it } from 'vitest';
import type { Head } from '../../../core/checkpoint/head.ts';
import {
  type BlobReference,
  blobKey,
  parseBlobKey,
  sameBlob,
} from '../../../core/checkpoint/names.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { CorruptStateFault, TransientFault } from '../../../core/faults.ts';
import { type BlobStore, quarantineId } from '../../../core/ports.ts';
import { comparePositions } from '../../../core/position.ts';
import type { SliceTask } from '../../../core/task/slice-task.ts';
import { SHARD, SLICE, smallPlan } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

const KNOBS = { chainLengthMax: 3, replayChunkRecords: 4 };
const RECORDS_OF_AN_EPOCH = 5;

/** `epochs` epochs of 5 records each, with a base at each third, and what HEAD said after each. */
async function history(epochs: number, more = {}): Promise<{ world: TaskWorld; heads: Head[] }> {
  const world = new TaskWorld(60, { ...KNOBS, ...more });
  const heads = await deliverEpochs(world, world.task(), 0, epochs);
  return { world, heads };
}

async function deliverEpochs(
  world: TaskWorld,
  task: SliceTask,
  from: number,
  to: number,
): Promise<Head[]> {
  const heads: Head[] = [];
  for (let epoch = from; epoch < to; epoch++) {
    const at = epoch * RECORDS_OF_AN_EPOCH;
    await task.deliver(world.batch(at, at + RECORDS_OF_AN_EPOCH), PLENTY);
    heads.push(await world.head());
  }
  return heads;
}

/** References to the delta and, where there is one, the base of each epoch. */
function blobsOf(heads: readonly Head[]): BlobReference[] {
  const found: BlobReference[] = [];
  for (const { delta, base, epoch } of heads) {
    found.push(delta!);
    if (base?.epoch === epoch) found.push(base);
  }
  return found;
}

/** The whole log is in the answers, once, and the slice is open on the timeline. */
async function expectAll(world: TaskWorld, timeline: number): Promise<Head> {
  const head = await world.head();
  expect(head).toMatchObject({ status: 'OPEN', timeline });
  expect(comparePositions(head.cursor, head.delivered)).toBe(0);
  const last = world.records.findIndex((r) => comparePositions(r, head.cursor) === 0);
  expect(await world.answers(head)).toEqual(world.expected(last + 1));
  expect(head.counts).toEqual(world.expectedCounts(last + 1));
  return head;
}

describe('a damaged blob', () => {
  /** Of the history of 8 epochs below: what is damaged, and where the slice goes back to (null: nothing is read of it). */
  const ALONE: [string, number | null][] = [
    ['delta 8', 6],
    ['delta 7', 6],
    // The deltas before the base and the newest name all that is needed.
    ['base 6', 8],
    ['delta 6', null],
    ['base 3', null],
    ['delta 1', null],
  ];

  it.each(ALONE)('%s, alone: back to %s', async (what, epoch) => {
    for (const how of ['gone', 'changed'] as const) {
      const { world, heads } = await history(8);
      const [kind, number] = what.split(' ');
      const { delta, base } = heads[Number(number) - 1]!;
      await world.damage(kind === 'base' ? base! : delta!, how);
      const report = await world.task().deliver(world.batch(38, 45), PLENTY);
      expect(report.rewoundTo).toBe(epoch);
      await expectAll(world, epoch === null ? 0 : 1);
    }
  });

  it('and any other one, or any two: the answers are those of the whole log again', async () => {
    const count = blobsOf((await history(8)).heads).length;
    expect(count).toBe(10);
    for (let first = 0; first < count; first++) {
      for (let second = first; second < count; second++) {
        const { world, heads } = await history(8);
        const blobs = blobsOf(heads);
        await world.damage(blobs[first]!, 'gone');
        if (second > first) await world.damage(blobs[second]!, 'changed');
        const report = await world.task().deliver(world.batch(38, 45), PLENTY);
        const head = await expectAll(world, report.rewoundTo === null ? 0 : 1);
        expect(head.epoch).toBeGreaterThan(8);
        // What it wrote since can be read by others too.
        const other = await world.task().deliver(world.batch(45, 50), PLENTY);
        expect(other.rewoundTo).toBeNull();
        await expectAll(world, head.timeline);
      }
    }
  });

  it('that only came badly once is read again, and nothing goes back', async () => {
    const { world, heads } = await history(8);
    const key = blobKey(SLICE, heads[7]!.base!);
    let misread = 0;
    const { objects: sound } = world.blobs;
    const objects: BlobStore = {
      create: (asked, bytes) => sound.create(asked, bytes),
      readRange: (asked, from, to) => sound.readRange(asked, from, to),
      list: (prefix, after, limit) => sound.list(prefix, after, limit),
      delete: (keys) => sound.delete(keys),
      read: async (asked) => {
        const bytes = await sound.read(asked);
        return asked === key && misread++ === 0 ? bytes!.slice(1) : bytes;
      },
    };
    const task = world.task({ blobs: { ...world.blobs, objects } });
    expect(await task.deliver(world.batch(40, 45), PLENTY)).toMatchObject({ rewoundTo: null });
    expect(misread).toBe(2);
    await expectAll(world, 0);
  });

  it('does not concern a memory that has no need of it', async () => {
    const world = new TaskWorld(60, KNOBS);
    const task = world.task();
    const heads = await deliverEpochs(world, task, 0, 8);
    for (const blob of blobsOf(heads)) await world.damage(blob);
    expect(await task.deliver(world.batch(40, 45), PLENTY)).toMatchObject({ rewoundTo: null });
  });

  it('is found by a checkpoint, a recovery and a tick as well', async () => {
    for (const what of ['checkpoint', 'recover', 'tick'] as const) {
      const { world, heads } = await history(8);
      await world.damage(heads[7]!.delta!);
      if (what === 'tick') await world.request(['x']);
      expect(await world.task()[what](PLENTY)).toMatchObject({ rewoundTo: 6 });
      await expectAll(world, 1);
    }
  });

  it('is left to the next try where HEAD moved meanwhile', async () => {
    const { world, heads } = await history(8);
    await world.damage(heads[7]!.delta!);
    const other = world.task();
    let armed = true;
    const heads2 = world.headsThatWrite(async (item, ifRevision) => {
      if (armed) {
        armed = false;
        await other.deliver(world.batch(40, 42), PLENTY);
      }
      return world.heads.writeHead(item, ifRevision);
    });
    await world.task({ heads: heads2 }).deliver(world.batch(40, 45), PLENTY);
    await expectAll(world, 1);
  });
});

describe('the timeline that a fallback begins', () => {
  it('has epochs that were never used, a generation of its own, and keeps what was delivered', async () => {
    const { world, heads } = await history(8);
    await world.damage(heads[7]!.delta!);
    const before = await world.head();
    await world.task().deliver([], PLENTY);
    const head = await expectAll(world, 1);
    expect(head.epoch).toBeGreaterThan(before.epoch);
    expect(head.generation).toBe(before.generation + 1);
    expect(head.delivered).toEqual(before.delivered);
    const names = [...(await world.allBlobs()).keys()].map((key) => parseBlobKey(SLICE, key)!);
    const first = names.filter(({ kind, timeline }) => kind === 'delta' && timeline === 1);
    expect(Math.min(...first.map(({ epoch }) => epoch))).toBe(9);
  });

  it('can be left for another in its turn, and never goes back to its own dead epochs', async () => {
    const { world, heads } = await history(8);
    await world.damage(heads[7]!.delta!);
    const second = await deliverEpochs(world, world.task(), 8, 10);
    const { delta, base } = second[1]!;
    await world.damage(delta!);
    if (base !== null && base.epoch > 8) await world.damage(base);
    const report = await world.task().deliver(world.batch(50, 52), PLENTY);
    expect(report.rewoundTo).toBeGreaterThan(0);
    const head = await expectAll(world, 2);
    expect(head.epoch).toBeGreaterThan(second[1]!.epoch);
  });

  it('keeps what the slice already was where all of HEAD itself can be read', async () => {
    const { world, heads } = await history(8);
    await world.damage(heads[5]!.base!);
    const report = await world.task().deliver([], PLENTY);
    expect(report).toMatchObject({ rewoundTo: 8, replayed: 0 });
    await expectAll(world, 1);
  });

  it('restores a memory of what was left', async () => {
    const world = new TaskWorld(60, KNOBS);
    const stale = world.task();
    const heads = await deliverEpochs(world, stale, 0, 8);
    await world.damage(heads[7]!.delta!);
    await world.task().deliver(world.batch(40, 45), PLENTY);
    expect(await stale.deliver(world.batch(45, 50), PLENTY)).toMatchObject({
      restored: 1,
      rewoundTo: null,
    });
    await expectAll(world, 1);
  });

  it('is followed by deltas from a memory of an epoch that stayed, whose own base is not what HEAD names', async () => {
    const world = new TaskWorld(60, { chainLengthMax: 64 });
    const awake = world.task();
    await awake.deliver(world.batch(0, 10), PLENTY);
    await awake.checkpoint(PLENTY);
    const { cursor } = await world.head();
    await awake.deliver(world.batch(10, 20), PLENTY);
    await awake.checkpoint(PLENTY);
    await awake.deliver(world.batch(20, 25), PLENTY);
    await world.damage((await world.head()).base!);
    expect(await world.task().deliver([], PLENTY)).toMatchObject({ rewoundTo: 5 });
    expect(await world.head()).toMatchObject({ base: { epoch: 2 }, baseCursor: cursor });
    const report = await awake.deliver(world.batch(25, 30), PLENTY);
    expect(report).toMatchObject({ restored: 0, flips: 1 });
    // The floor is made of these two: they must be of one epoch.
    expect(await world.head()).toMatchObject({ base: { epoch: 2 }, baseCursor: cursor });
    await expectAll(world, 1);
    await awake.checkpoint(PLENTY);
    await expectAll(world, 1);
  });

  it('does not collect what another fallback may want', async () => {
    const { world, heads } = await history(8, { retentionGraceMs: 1_000 });
    await world.damage(heads[7]!.delta!);
    const task = world.task();
    for (let at = 40; at < 60; at++) {
      world.clock.advance(700);
      await task.deliver(world.batch(at, at + 1), PLENTY);
      const { collectBelow, base, delta, replayFrom } = await world.head();
      expect(collectBelow).toBeLessThanOrEqual(base?.epoch ?? 0);
      const { image } = await load(smallPlan, { sliceId: SLICE, base, delta }, world.blobs);
      expect(comparePositions(replayFrom, image.progress.position)).toBeLessThanOrEqual(0);
    }
    expect((await world.head()).collectBelow).toBeGreaterThan(8);
    await expectAll(world, 1);
  });

  it('lists what the epoch put aside, whose owner died before it did', async () => {
    const { world, heads } = await history(8);
    const last = heads[7]!;
    const there = (await world.quarantine.list(null, 100)).filter((r) => r.epoch === last.epoch);
    // HEAD's own epoch is gone back to as a whole, from the base before.
    await world.damage(heads[5]!.base!);
    const seen: string[] = [];
    const quarantine = {
      list: world.quarantine.list.bind(world.quarantine),
      get: world.quarantine.get.bind(world.quarantine),
      put: async (records: Parameters<typeof world.quarantine.put>[0]) => {
        seen.push(...records.map(quarantineId));
      },
    };
    await world.task({ quarantine }).deliver([], PLENTY);
    expect(seen.sort()).toEqual(there.map(quarantineId).sort());
  });
});

describe('flips that never were', () => {
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
  async function floored(): Promise<{ world: TaskWorld; head: Head; first: Map<string, Uint8Array> }> {
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

  it.each(['gone', 'changed'] as const)('(%s) causes no fallback, and no merge takes it up', async (how) => {
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
  });
});
