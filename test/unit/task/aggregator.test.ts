import { describe, expect, it } from 'vitest';
import { Aggregator } from '../../../core/aggregator.ts';
import { parseHead } from '../../../core/checkpoint/head.ts';
import { sliceIdOf } from '../../../core/checkpoint/names.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { SHARD, SLICE, smallPlan } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

const SHARDS = [SHARD, 'shardId-000000000001', 'shardId-000000000002'] as const;

function aggregatorOf(world: TaskWorld, stateBytesMax?: number): Aggregator {
  const decoder = createJsonDecoder(smallPlan);
  return new Aggregator(smallPlan, decoder, world.ports, stateBytesMax);
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
