/** A recovery that takes several invocations, each in another environment: the generation travels in its events. */
import { describe, expect, it } from 'vitest';
import { Aggregator } from '../../../core/aggregator.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { BehindFault, ConfigurationFault, HeldFault } from '../../../core/faults.ts';
import { RECOVERY_LEASE_MS } from '../../../core/limits.ts';
import type { AggregateEvent } from '../../../functions/aggregate/aggregate-event.ts';
import { createAggregateHandler } from '../../../functions/aggregate/handler.ts';
import { SHARD, smallPlan } from '../../world/small-log.ts';
import { expectAll } from './fallback-fixture.ts';
import { PLENTY, TaskWorld, timeFor } from './task-fixture.ts';

/** 10 records are in epoch 1, 50 are delivered, and an environment has fenced generation 1 and folded 10 more. */
async function begun(): Promise<TaskWorld> {
  const world = new TaskWorld(60, { replayChunkRecords: 10 });
  await world.task().deliver(world.batch(0, 10), PLENTY);
  await world.deliverOnly(50);
  const report = await world.task().recover(timeFor(0));
  expect(report).toMatchObject({ generation: 1, isUnfinished: true, commits: 1 });
  return world;
}

describe('an event that names the generation of a recovery', () => {
  it('goes on with it in another environment, at once and without another fence', async () => {
    const world = await begun();
    const report = await world.task().recover(PLENTY, 1);
    expect(report).toMatchObject({ generation: 1, isUnfinished: false, replayed: 30 });
    expect(await world.head()).toMatchObject({ generation: 1 });
    await expectAll(world, 0);
  });

  it('does so in as many steps as it takes, and batches of others are answered for meanwhile', async () => {
    const world = await begun();
    let steps = 0;
    for (let report = { isUnfinished: true }; report.isUnfinished; steps++) {
      report = await world.task().recover(timeFor(0), 1);
      if (steps === 1) await world.task().deliver(world.batch(50, 60), PLENTY);
    }
    expect(steps).toBe(4);
    expect(await world.head()).toMatchObject({ generation: 1 });
    await expectAll(world, 0);
  });

  it.each(['tick', 'checkpoint'] as const)('may be a %s', async (what) => {
    const world = await begun();
    expect(await world.task()[what](PLENTY, 1)).toMatchObject({ generation: 1, replayed: 30 });
    await expectAll(world, 0);
  });

  it('changes nothing once the recovery has ended', async () => {
    const world = await begun();
    await world.task().recover(PLENTY, 1);
    const before = await world.head();
    expect(await world.task().recover(PLENTY, 1)).toMatchObject({
      commits: 0,
      isUnfinished: false,
      generation: null,
    });
    expect(await world.head()).toEqual(before);
  });

  it('is refused where another owner has fenced the slice since, also when that one is gone', async () => {
    const world = await begun();
    expect(await world.task().recover(timeFor(0))).toMatchObject({ generation: 2 });
    const before = await world.head();
    for (const laterMs of [0, RECOVERY_LEASE_MS]) {
      world.clock.advance(laterMs);
      for (const what of ['recover', 'checkpoint'] as const) {
        const stale = world.task()[what](PLENTY, 1);
        await expect(stale).rejects.toThrow(/fenced off generation 1,/);
        await expect(stale).rejects.toThrow(HeldFault);
      }
      expect(await world.task().tick(PLENTY, 1)).toMatchObject({ commits: 0, generation: null });
      expect(await world.head()).toEqual(before);
    }
    await world.task().recover(PLENTY, 2);
    await expect(world.task().recover(PLENTY, 1)).rejects.toThrow(HeldFault);
    expect(await world.head()).toMatchObject({ generation: 2 });
    await expectAll(world, 0);
  });

  it('goes on with the generation that it has to begin itself, where its epoch is damaged', async () => {
    const world = await begun();
    await world.damage((await world.head()).delta!);
    let writes = 0;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      // HEAD moves between the way back and the first chunk.
      if (++writes === 2) await world.deliverOnly(55);
      return world.heads.writeHead(item, ifRevision, passing);
    });
    const report = await world.task({ heads }).recover(timeFor(0), 1);
    expect(report).toMatchObject({ generation: 2, isUnfinished: true, refused: 1 });
    await world.task().recover(PLENTY, 2);
    expect(await world.head()).toMatchObject({ generation: 2 });
    await expectAll(world, 1);
  });
});

describe('a recovery beside another', () => {
  it('takes the slice, although the owner before it goes on writing', async () => {
    const world = await begun();
    let writes = 0;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (++writes < 3) await world.task().recover(timeFor(0), 1);
      return world.heads.writeHead(item, ifRevision, passing);
    });
    const report = await world.task({ heads }).recover(PLENTY);
    expect(report).toMatchObject({ refused: 2, generation: 2, isUnfinished: false });
    await expectAll(world, 0);
  });

  it.each([
    ['before its own fence', 1, 'this recovery'],
    ['in its replay', 2, 'generation 2, which is that of this recovery'],
  ])('is left to that one which fences it off %s', async (_, write, whom) => {
    const world = await begun();
    let writes = 0;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (++writes === write) await world.task().recover(timeFor(0));
      return world.heads.writeHead(item, ifRevision, passing);
    });
    const slower = world.task({ heads }).recover(PLENTY);
    await expect(slower).rejects.toThrow(`another owner has fenced off ${whom}`);
    expect(writes).toBe(write);
    expect(await world.head()).toMatchObject({ status: 'RECOVERING', generation: write + 1 });
  });
});

describe('an answer', () => {
  it('names the generation of a recovery that its environment has taken over or remembers', async () => {
    const world = await begun();
    world.clock.advance(RECOVERY_LEASE_MS);
    const owner = world.task();
    await expect(owner.tick(timeFor(0))).rejects.toThrow(BehindFault);
    expect(await owner.tick(PLENTY)).toMatchObject({ generation: 2 });
    expect(await owner.tick(PLENTY)).toMatchObject({ generation: null });
    expect(await owner.deliver(world.batch(50, 60), PLENTY)).toMatchObject({ generation: null });
  });
});

describe('the aggregate function', () => {
  const context = { getRemainingTimeInMillis: PLENTY };
  const handlerOf = (world: TaskWorld) =>
    createAggregateHandler(new Aggregator(smallPlan, createJsonDecoder(smallPlan), world.ports));

  it.each(['recover', 'tick', 'checkpoint'] as const)('takes it from a %s', async (tidemark) => {
    const world = await begun();
    const event = { tidemark, shardId: SHARD, generation: 1 };
    const [report] = await handlerOf(world)(event, context);
    expect(report).toMatchObject({ generation: 1 });
    expect(await world.head()).toMatchObject({ generation: 1, status: 'OPEN' });
  });

  it.each(['1', 1.5, null, -1])('refuses the generation %j', async (generation) => {
    const event = { tidemark: 'recover', shardId: SHARD, generation } as unknown as AggregateEvent;
    const world = new TaskWorld(1);
    await expect(handlerOf(world)(event, context)).rejects.toThrow(ConfigurationFault);
  });
});
