/** Going back to the newest epoch that can be read whole, whatever is damaged, and forward again by a replay. */
import { describe, expect, it } from 'vitest';
import { type Head, parseHead } from '../../../core/checkpoint/head.ts';
import { type BlobReference, blobKey, parseBlobKey } from '../../../core/checkpoint/names.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import {
  type BlobStore,
  type ObjectStore,
  type QuarantineIndex,
  quarantineId,
} from '../../../core/ports.ts';
import { comparePositions } from '../../../core/position.ts';
import { SLICE, smallPlan } from '../../world/small-log.ts';
import { deliverEpochs, expectAll, history, KNOBS } from './fallback-fixture.ts';
import { overriding, PLENTY, TaskWorld } from './task-fixture.ts';

/** References to the delta and, where there is one, the base of each epoch. */
function blobsOf(heads: readonly Head[]): BlobReference[] {
  const found: BlobReference[] = [];
  for (const { delta, base, epoch } of heads) {
    found.push(delta!);
    if (base?.epoch === epoch) found.push(base);
  }
  return found;
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
    const objects: ObjectStore = {
      create: (asked, bytes) => sound.create(asked, bytes),
      upload: (asked) => sound.upload(asked),
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
    const heads2 = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (armed) {
        armed = false;
        await other.deliver(world.batch(40, 42), PLENTY);
      }
      return world.heads.writeHead(item, ifRevision, passing);
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

  it('is held for its owner until all that was delivered is folded again', async () => {
    const { world, heads } = await history(8);
    await world.damage(heads[7]!.delta!);
    const written: string[] = [];
    const watched = world.headsThatWrite(async (item, ifRevision, passing) => {
      const { status, timeline, floor, collectBelow } = parseHead(item);
      written.push(`${status} ${timeline}`);
      // A pending floor could be an epoch that is dead now.
      if (written.length === 1) expect(floor.epoch).toBe(collectBelow);
      if (written.length === 2) {
        const other = await world.task().deliver(world.batch(40, 42), PLENTY);
        expect(other).toMatchObject({ folded: 0, commits: 0 });
      }
      return world.heads.writeHead(item, ifRevision, passing);
    });
    await world.task({ heads: watched }).deliver([], PLENTY);
    expect(written[0]).toBe('RECOVERING 1');
    expect(written.at(-1)).toBe('OPEN 1');
    await expectAll(world, 1);
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

  it('is restored by a memory of an epoch that stayed, since its own base is not what HEAD names', async () => {
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
    expect(report).toMatchObject({ restored: 1, commits: 1 });
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

  it('lists what the epoch quarantined, whose owner died before it did', async () => {
    const { world, heads } = await history(8);
    const last = heads[7]!;
    const there = (await world.quarantine.list(null, 100)).filter((r) => r.epoch === last.epoch);
    // HEAD's own epoch is gone back to as a whole, from the base before.
    await world.damage(heads[5]!.base!);
    const seen: string[] = [];
    const quarantine = overriding(world.quarantine as QuarantineIndex, {
      put: async (records) => {
        seen.push(...records.map(quarantineId));
      },
    });
    await world.task({ quarantine }).deliver([], PLENTY);
    expect(seen.sort()).toEqual(there.map(quarantineId).sort());
  });

  it('lists what an epoch quarantined, of which its own base could be read before its delta', async () => {
    // A base at each epoch; the history ends with one that quarantined something.
    const everyEpoch = { chainLengthMax: 1 };
    const whole = await history(9, everyEpoch);
    const [listed] = await whole.world.quarantine.list(null, 1);
    const epochs = listed!.epoch;
    const { world, heads } = await history(epochs, everyEpoch);
    const last = heads[epochs - 1]!;
    expect(last.base?.epoch).toBe(epochs);
    const there = (await world.quarantine.list(null, 100)).filter((r) => r.epoch === last.epoch);
    expect(there.length).toBeGreaterThan(0);
    // Whatever reads it before the fallback finds it damaged: two restores, each of which reads it three times.
    let garbled = 6;
    const items: BlobStore = Object.create(world.blobs.items);
    Object.assign(items, {
      read: async (key: string) => {
        const bytes = await world.blobs.items.read(key);
        if (key !== blobKey(SLICE, last.delta!) || garbled-- <= 0) return bytes;
        return bytes?.fill(0) ?? null;
      },
      list: world.blobs.items.list.bind(world.blobs.items),
      create: world.blobs.items.create.bind(world.blobs.items),
    });
    const seen: string[] = [];
    const quarantine = overriding(world.quarantine as QuarantineIndex, {
      put: async (records) => {
        seen.push(...records.map(quarantineId));
      },
    });
    const blobs = { items, objects: world.blobs.objects };
    const report = await world.task({ blobs, quarantine }).deliver([], PLENTY);
    expect(report.rewoundTo).toBe(epochs);
    expect(seen.sort()).toEqual(there.map(quarantineId).sort());
  });
});
