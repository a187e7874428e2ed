/** Fencing a slice off from whoever has it, bringing it forward in chunks, and opening it again. */
import { describe, expect, it } from 'vitest';
import { BehindFault, HeldFault, ReplayGapFault } from '../../../core/faults.ts';
import { RECOVERY_LEASE_MS } from '../../../core/limits.ts';
import type { RecordSource } from '../../../core/ports.ts';
import { Crash } from '../../world/fault-switch.ts';
import { SHARD } from '../../world/small-log.ts';
import { PLENTY, TaskWorld, timeFor } from './task-fixture.ts';

/** 10 records are in epoch 1, 40 are delivered, and an owner has fenced the slice, folded 10 more and died. */
async function abandoned(): Promise<TaskWorld> {
  const world = new TaskWorld(60, { replayChunkRecords: 10 });
  await world.task().deliver(world.batch(0, 10), PLENTY);
  await world.deliverOnly(40);
  expect(await world.task().recover(timeFor(0))).toMatchObject({ isUnfinished: true });
  return world;
}

describe('a recovery', () => {
  it('takes a new generation, folds what was delivered, and opens the slice with a base', async () => {
    const world = new TaskWorld(60);
    await world.task().deliver(world.batch(0, 10), PLENTY);
    await world.deliverOnly(40);
    const before = await world.head();
    expect(await world.task().recover(PLENTY)).toMatchObject({ replayed: 30, rewoundTo: null });
    const head = await world.head();
    expect(head).toMatchObject({ status: 'OPEN', timeline: 0, base: { epoch: head.epoch } });
    expect(head.generation).toBe(before.generation + 1);
    expect(await world.answers(head)).toEqual(world.expected(40));
  });

  it('is told by HEAD while it lasts, and commits each chunk', async () => {
    const world = await abandoned();
    const head = await world.head();
    expect(head).toMatchObject({ status: 'RECOVERING', generation: 1, epoch: 2 });
    expect(await world.answers(head)).toEqual(world.expected(20));
  });

  it('is gone on with by its owner, at its next tick or delivery', async () => {
    for (const next of ['tick', 'deliver', 'recover'] as const) {
      const world = new TaskWorld(60, { replayChunkRecords: 10 });
      await world.task().deliver(world.batch(0, 10), PLENTY);
      await world.deliverOnly(40);
      const owner = world.task();
      expect(await owner.recover(timeFor(0))).toMatchObject({ isUnfinished: true });
      if (next === 'deliver') await owner.deliver(world.batch(38, 40), PLENTY);
      else await owner[next](PLENTY);
      const head = await world.head();
      expect(head).toMatchObject({ status: 'OPEN', generation: 1 });
      expect(await world.answers(head)).toEqual(world.expected(40));
    }
  });

  it('also says that it is behind where HEAD moves on while it works', async () => {
    const world = await abandoned();
    world.clock.advance(RECOVERY_LEASE_MS);
    const owner = world.task();
    await expect(owner.tick(timeFor(0))).rejects.toThrow(BehindFault);
    await world.task().deliver(world.batch(40, 55), PLENTY);
    await owner.tick(PLENTY);
    expect(await world.head()).toMatchObject({ status: 'OPEN', generation: 2 });
    expect(await world.answers(await world.head())).toEqual(world.expected(55));
  });

  it('stops with a gap where the stream has lost what it needs, and stays held', async () => {
    const world = await abandoned();
    world.clock.advance(RECOVERY_LEASE_MS);
    world.source.trim(SHARD, world.records[30]!);
    await expect(world.task().recover(PLENTY)).rejects.toThrow(ReplayGapFault);
    expect(await world.head()).toMatchObject({ status: 'RECOVERING' });
  });

  it('of a slice that nobody has written yet opens it', async () => {
    const world = new TaskWorld(10);
    await world.task().recover(PLENTY);
    expect(await world.head()).toMatchObject({ status: 'OPEN', generation: 1, epoch: 1 });
    await world.task().deliver(world.records, PLENTY);
    expect(await world.answers(await world.head())).toEqual(world.expected(10));
  });

  it('by two at once ends open, with one owner after the other', async () => {
    const world = await abandoned();
    const ends = await Promise.allSettled([
      world.task().recover(PLENTY),
      world.task().recover(PLENTY),
    ]);
    for (const end of ends) {
      if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(HeldFault);
    }
    const head = await world.head();
    expect(head.status).toBe('OPEN');
    expect(head.generation).toBeGreaterThan(1);
    expect(await world.answers(head)).toEqual(world.expected(40));
  });
});

describe('others, while a slice is recovered', () => {
  it('answer for their batches in HEAD, and write nothing else', async () => {
    const world = await abandoned();
    const [before, blobs] = [await world.head(), await world.allBlobs()];
    const report = await world.task().deliver(world.batch(35, 50), PLENTY);
    expect(report).toMatchObject({ folded: 0, commits: 0 });
    const { sequenceNumber, subSequence, arrivalMs } = world.records[49]!;
    expect(await world.head()).toEqual({
      ...before,
      revision: before.revision + 1,
      nonce: expect.any(String),
      delivered: { sequenceNumber, subSequence },
      deliveredArrivalMs: arrivalMs,
    });
    expect(await world.allBlobs()).toEqual(blobs);
  });

  it('write nothing for what HEAD answers for already, nor at ticks', async () => {
    const world = await abandoned();
    const before = await world.head();
    await world.task().deliver(world.batch(20, 40), PLENTY);
    await world.task().deliver([], PLENTY);
    await world.task().tick(PLENTY);
    expect(await world.head()).toEqual(before);
  });

  it('are told to ask again for a checkpoint', async () => {
    const world = await abandoned();
    await expect(world.task().checkpoint(PLENTY)).rejects.toThrow(HeldFault);
  });

  it('do not write what they had folded before: their memory is of an older generation', async () => {
    const world = new TaskWorld(60, { replayChunkRecords: 10 });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    let armed = true;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (armed) {
        armed = false;
        await world.deliverOnly(30);
        expect(await world.task().recover(timeFor(0))).toMatchObject({ isUnfinished: true });
      }
      return world.heads.writeHead(item, ifRevision, passing);
    });
    const zombie = world.task({ heads });
    const report = await zombie.deliver(world.batch(10, 50), PLENTY);
    expect(report).toMatchObject({ refused: 1, commits: 0 });
    const head = await world.head();
    expect(head).toMatchObject({ status: 'RECOVERING', generation: 1 });
    expect(head.cursor.sequenceNumber).toBe(world.records[19]!.sequenceNumber);
    expect(head.delivered.sequenceNumber).toBe(world.records[49]!.sequenceNumber);
  });

  it('lose no record of what they answered for', async () => {
    const world = await abandoned();
    for (let at = 40; at < 60; at += 4) await world.task().deliver(world.batch(at, at + 4), PLENTY);
    world.clock.advance(RECOVERY_LEASE_MS);
    await world.task().tick(PLENTY);
    expect(await world.answers(await world.head())).toEqual(world.expected(60));
  });
});

describe('a recovery whose owner died', () => {
  it('is taken over once nothing was committed for as long as the lease', async () => {
    const world = await abandoned();
    world.clock.advance(RECOVERY_LEASE_MS - 1);
    const other = world.task();
    await other.tick(PLENTY);
    expect(await world.head()).toMatchObject({ status: 'RECOVERING', generation: 1 });
    world.clock.advance(1);
    expect(await other.tick(PLENTY)).toMatchObject({ replayed: 20 });
    const head = await world.head();
    expect(head).toMatchObject({ status: 'OPEN', generation: 2 });
    expect(await world.answers(head)).toEqual(world.expected(40));
  });

  it('is taken over by a delivery too, with its batch', async () => {
    const world = await abandoned();
    world.clock.advance(RECOVERY_LEASE_MS);
    expect(await world.task().deliver(world.batch(40, 50), PLENTY)).toMatchObject({
      folded: 10,
      replayed: 20,
    });
    expect(await world.head()).toMatchObject({ status: 'OPEN', generation: 2 });
    expect(await world.answers(await world.head())).toEqual(world.expected(50));
  });

  it('has that much time from when it was fenced, however old the last epoch is', async () => {
    const world = new TaskWorld(60, { replayChunkRecords: 10 });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    await world.deliverOnly(40);
    world.clock.advance(50 * RECOVERY_LEASE_MS);
    const life = { dead: false };
    let reads = 0;
    const source: RecordSource = {
      readAfter: async (...asked) => {
        // The first proves that HEAD and the stream belong together.
        if (++reads === 1) return world.source.readAfter(...asked);
        life.dead = true;
        throw new Crash('in its replay');
      },
    };
    await expect(world.mortalTask(life, {}, { source }).recover(PLENTY)).rejects.toThrow(Crash);
    expect(await world.head()).toMatchObject({ status: 'RECOVERING', generation: 1, epoch: 1 });
    world.clock.advance(RECOVERY_LEASE_MS - 1);
    await world.task().deliver(world.batch(40, 42), PLENTY);
    expect(await world.head()).toMatchObject({ status: 'RECOVERING', generation: 1 });
    world.clock.advance(1);
    await world.task().tick(PLENTY);
    expect(await world.head()).toMatchObject({ status: 'OPEN', generation: 2 });
  });

  it('that comes back finds itself fenced, and only answers for its batch', async () => {
    const world = new TaskWorld(60, { replayChunkRecords: 10 });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    await world.deliverOnly(40);
    const slow = world.task();
    expect(await slow.recover(timeFor(0))).toMatchObject({ isUnfinished: true });
    world.clock.advance(RECOVERY_LEASE_MS);
    await expect(world.task().tick(timeFor(0))).rejects.toThrow(BehindFault);
    const taken = await world.head();
    expect(taken).toMatchObject({ generation: 2, epoch: 3 });
    expect(await slow.deliver(world.batch(40, 45), PLENTY)).toMatchObject({ commits: 0 });
    expect(await world.head()).toMatchObject({ status: 'RECOVERING', generation: 2, epoch: 3 });
  });
});
