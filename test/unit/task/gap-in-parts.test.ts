/**
 * A gap that one invocation closes in committed chunks and does not come to the end of: whoever gets the batch next, with whatever
 * memory, goes on closing it (seed 31004426 of the simulation, where 18 records were lost).
 */
import { describe, expect, it } from 'vitest';
import { BehindFault, HeldFault, TransientFault } from '../../../core/faults.ts';
import type { StreamRecord } from '../../../core/ports.ts';
import { comparePositions } from '../../../core/position.ts';
import type { SliceTask } from '../../../core/task/slice-task.ts';
import { randomLog, SHARD, toStreamRecord } from '../../world/small-log.ts';
import { overriding, PLENTY, TaskWorld, timeFor } from './task-fixture.ts';

const BEFORE = 10;
const FIRST = 40;
const END = 45;
const LEFT_OUT = FIRST - BEFORE;

/** By index, when a record arrived: after a silence of 14 s while no mapping lived, one each 300 ms. */
const arrivalOf = (index: number) => 1_000_000 + index * 300 + (index < BEFORE ? 0 : 14_000);

function worldOf(arrivalMs: (index: number) => number, knobs = {}): TaskWorld {
  const world = new TaskWorld(0, { replayChunkRecords: 3, ...knobs });
  for (const [index, record] of randomLog(END, 5).entries()) {
    const arrived: StreamRecord = { ...toStreamRecord(record, index), arrivalMs: arrivalMs(index) };
    world.records.push(arrived);
    world.source.append(SHARD, arrived);
  }
  return world;
}

/** What a mapping brings that was made at the stream's end: it leaves out 30 records. */
const batchOf = (world: TaskWorld) => world.batch(FIRST, END);

async function warm(world: TaskWorld): Promise<SliceTask> {
  const task = world.task();
  await task.deliver(world.batch(0, BEFORE), PLENTY);
  return task;
}

/** Closes all of the gap but for the last few records, and runs out of time. */
async function closeInPart(world: TaskWorld, task: SliceTask): Promise<void> {
  await expect(task.deliver(batchOf(world), timeFor(9))).rejects.toThrow(BehindFault);
  const head = await world.head();
  expect(head).toMatchObject({ closesGap: true, digest: { count: 37 } });
  // By arrival times alone, the batch looks as if it came right after.
  expect(arrivalOf(FIRST) - head.deliveredArrivalMs).toBeLessThan(10_000);
}

async function expectAll(world: TaskWorld): Promise<void> {
  const head = await world.head();
  expect(head).toMatchObject({ closesGap: false, digest: { count: END } });
  expect(await world.answers(head)).toEqual(world.expected(END));
}

describe('a gap that was closed in part', () => {
  it('is closed by a memory that is warm since before, and follows by deltas', async () => {
    const world = worldOf(arrivalOf);
    const before = await warm(world);
    await closeInPart(world, world.task());
    expect(await before.deliver(batchOf(world), PLENTY)).toMatchObject({
      restored: 0,
      folded: END - FIRST,
    });
    await expectAll(world);
  });

  it('is closed by the memory that began to, which is warm too', async () => {
    const world = worldOf(arrivalOf);
    const task = await warm(world);
    await closeInPart(world, task);
    expect(await task.deliver(batchOf(world), PLENTY)).toMatchObject({ restored: 0 });
    await expectAll(world);
  });

  it.each(['checkpoint', 'tick', 'recover'] as const)('stays one after a %s', async (asked) => {
    const world = worldOf(arrivalOf);
    const before = await warm(world);
    await closeInPart(world, world.task());
    await before[asked](PLENTY);
    expect(await world.head()).toMatchObject({ closesGap: true, status: 'OPEN' });
    await before.deliver(batchOf(world), PLENTY);
    await expectAll(world);
  });

  it('stays one where the owner goes back to an older epoch', async () => {
    const world = worldOf(arrivalOf);
    const before = await warm(world);
    await closeInPart(world, world.task());
    const { delta } = await world.head();
    await world.damage(delta!);
    await world.task().checkpoint(PLENTY);
    expect(await world.head()).toMatchObject({ closesGap: true, timeline: 1 });
    await before.deliver(batchOf(world), PLENTY);
    expect(await world.answers(await world.head())).toEqual(world.expected(END));
  });

  it('is none any more once the batch is answered for while another recovers the slice', async () => {
    const world = worldOf(arrivalOf);
    const before = await warm(world);
    await closeInPart(world, world.task());
    const owner = world.task();
    await world.rewriteHead({
      status: 'RECOVERING',
      generation: 7,
      committedMs: world.clock.nowMs(),
    });
    await before.deliver(batchOf(world), PLENTY);
    expect(await world.head()).toMatchObject({ closesGap: false, status: 'RECOVERING' });
    // It folds all up to what was answered for, whoever brought it.
    await owner.recover(PLENTY);
    await expectAll(world);
  });

  it('stays one where the batch is folded in parts, as environments died', async () => {
    const world = worldOf(arrivalOf);
    const before = await warm(world);
    const position = world.records[BEFORE - 1] as StreamRecord;
    const { sequenceNumber, subSequence } = position;
    const suspicion = { position: { sequenceNumber, subSequence }, attempts: 2, chunkRecords: 16 };
    await world.ports.suspicions.write('slice-000000000000', suspicion);
    await expect(world.task().deliver(batchOf(world), timeFor(3))).rejects.toThrow(BehindFault);
    expect(await world.head()).toMatchObject({ closesGap: true });
    await before.deliver(batchOf(world), PLENTY);
    await expectAll(world);
  });
});

describe('the gap check and clocks', () => {
  it('takes an arrival long before the last one for a silence: times may go back, in either order', async () => {
    const world = worldOf((index) => (index < BEFORE ? 2_000_000 : 1_000_000) + index);
    const task = await warm(world);
    expect(await task.deliver(batchOf(world), PLENTY)).toMatchObject({ replayed: LEFT_OUT });
    await expectAll(world);
  });

  it.each([
    ['right', 22 * 3_600_000],
    ['26 h behind', -4 * 3_600_000],
    ['not set', -1_000_000],
  ])('looks before a record that is 21 h old, by a clock that is %s', async (_, clockMs) => {
    const day = 21 * 3_600_000;
    const world = worldOf((index) => 1_000_000 + index + (index === END - 1 ? day : 0));
    const task = await warm(world);
    world.clock.set(1_000_000 + clockMs);
    expect(await task.deliver(batchOf(world), PLENTY)).toMatchObject({ replayed: LEFT_OUT });
    await expectAll(world);
  });

  it('does not look at each batch of a clock that is a little behind', async () => {
    const world = worldOf((index) => 1_000_000 + index);
    const task = await warm(world);
    world.clock.set(1_000_000 - 5_000);
    expect(await task.deliver(world.batch(BEFORE, END), PLENTY)).toMatchObject({ replayed: 0 });
    await expectAll(world);
  });

  it('answers for nothing while a recovery is far behind, though the clock says that it is not', async () => {
    const world = worldOf((index) => 1_000_000 + index * 600_000);
    await warm(world);
    await world.rewriteHead({ status: 'RECOVERING', generation: 7, committedMs: 1_000_000 });
    world.clock.set(1_000_000);
    const delivery = world.task().deliver(batchOf(world), PLENTY);
    await expect(delivery).rejects.toThrow(HeldFault);
  });

  it.each([false, true])(
    'answers for nothing where the stream shows no backlog (at its tip: %s)',
    async (reachedTip) => {
      const world = worldOf((index) => 1_000_000 + index);
      await warm(world);
      const { cursor } = await world.rewriteHead({ status: 'RECOVERING', generation: 7 });
      const { source } = world.ports;
      const empty = overriding(source, {
        readAfter: async (shardId, after, limit) =>
          comparePositions(after, cursor) === 0 && limit === 1
            ? { outcome: 'records', origin: 'stream', records: [], reachedTip }
            : source.readAfter(shardId, after, limit),
      });
      const delivery = world.task({ source: empty }).deliver(batchOf(world), PLENTY);
      await expect(delivery).rejects.toThrow(TransientFault);
      expect((await world.head()).delivered).toEqual(cursor);
    },
  );
});
