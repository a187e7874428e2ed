import { describe, expect, it } from 'vitest';
import { Aggregator } from '../../../core/aggregator.ts';
import { parseHead } from '../../../core/checkpoint/head.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { StateTooLargeFault } from '../../../core/faults.ts';
import { sliceIdOf } from '../../../core/slice/topology.ts';
import { SHARD, SLICE, smallPlan } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

const SHARDS = [SHARD, 'shardId-000000000001', 'shardId-000000000002'] as const;

function aggregatorOf(world: TaskWorld, stateBytesMax?: number): Aggregator {
  const decoder = createJsonDecoder(smallPlan);
  const bounds = stateBytesMax === undefined ? {} : { stateBytesMax };
  return new Aggregator(smallPlan, decoder, world.ports, bounds);
}

/** Gives each shard the same records, turn by turn, and says how often a state was built anew. */
async function deliverInTurns(world: TaskWorld, aggregator: Aggregator): Promise<number> {
  for (const shardId of SHARDS.slice(1)) {
    for (const record of world.records) world.source.append(shardId, record);
  }
  let restored = 0;
  for (let index = 0; index < world.records.length; index += 10) {
    for (const shardId of SHARDS) {
      const batch = world.records.slice(index, index + 10);
      restored += (await aggregator.deliver(shardId, batch, PLENTY)).restored;
    }
  }
  return restored;
}

async function digestsOf(world: TaskWorld): Promise<unknown[]> {
  return (await world.heads.listHeads()).map((item) => {
    const { sliceId, counts, cursor, watermarkMs } = parseHead(item);
    return { sliceId, counts, cursor, watermarkMs };
  });
}

describe('an aggregator', () => {
  it('keeps the memories of its slices while they fit', async () => {
    const world = new TaskWorld(60);
    expect(await deliverInTurns(world, aggregatorOf(world))).toBe(3);
  });

  it('lets the least recently used go when they do not, and goes on right', async () => {
    const [roomy, tight] = [new TaskWorld(60), new TaskWorld(60)];
    await deliverInTurns(roomy, aggregatorOf(roomy));
    expect(await deliverInTurns(tight, aggregatorOf(tight, 1))).toBe(18);
    expect(await digestsOf(tight)).toEqual(await digestsOf(roomy));
    expect(await tight.answers(await tight.head())).toEqual(tight.expected(60));
  });

  it('keeps the slice in use, however large it is', async () => {
    const world = new TaskWorld(20);
    const aggregator = aggregatorOf(world, 1);
    await aggregator.deliver(SHARD, world.records.slice(0, 10), PLENTY);
    const report = await aggregator.deliver(SHARD, world.records.slice(10), PLENTY);
    expect(report.restored).toBe(0);
  });

  it('refuses a slice that is larger than what there is, keeps what it had, and goes on where there is more', async () => {
    const world = new TaskWorld(60);
    const bounded = (sliceBytesMax: number) =>
      new Aggregator(smallPlan, createJsonDecoder(smallPlan), world.ports, { sliceBytesMax });
    await bounded(2 ** 30).deliver(SHARD, world.batch(0, 10), PLENTY);
    const before = await world.head();
    for (const sliceBytesMax of [1_000, 5_000]) {
      const tight = bounded(sliceBytesMax);
      for (let again = 0; again < 2; again++) {
        const delivery = tight.deliver(SHARD, world.batch(10, 60), PLENTY);
        await expect(delivery).rejects.toThrow(StateTooLargeFault);
        await expect(delivery).rejects.toThrow(
          /^the state of slice-0+ takes 0\.\d MiB of memory, and/,
        );
      }
    }
    expect(await world.head()).toEqual(before);
    await bounded(2 ** 30).deliver(SHARD, world.batch(10, 60), PLENTY);
    expect(await world.answers(await world.head())).toEqual(world.expected(60));
  });

  it('judges a slice by the memory that it takes, not by what its chain repeats', async () => {
    const world = new TaskWorld(80, { chainLengthMax: 1_000 });
    const task = world.task();
    for (let at = 0; at < 60; at++) await task.deliver(world.batch(at, at + 1), PLENTY);
    const { stateBytes } = await world.head();
    const sliceBytesMax = 2 * task.heapBytes();
    expect(stateBytes).toBeGreaterThan(0);
    const bounds = { sliceBytesMax: Math.min(sliceBytesMax, stateBytes - 1) };
    expect(bounds.sliceBytesMax).toBeGreaterThan(task.heapBytes());
    const tight = new Aggregator(smallPlan, createJsonDecoder(smallPlan), world.ports, bounds);
    await tight.deliver(SHARD, world.batch(60, 61), PLENTY);
    await tight.checkpoint(SHARD, PLENTY);
  });

  it('checkpoints a slice on request', async () => {
    const world = new TaskWorld(20);
    const aggregator = aggregatorOf(world);
    await aggregator.deliver(SHARD, world.records, PLENTY);
    expect(await aggregator.checkpoint(SHARD, PLENTY)).toMatchObject({ epoch: 2, restored: 0 });
    expect((await world.head()).base?.epoch).toBe(2);
  });

  it('names a slice for its shard', () => {
    expect(sliceIdOf(SHARD)).toBe(SLICE);
  });
});
