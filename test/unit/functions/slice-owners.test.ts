import { describe, expect, it } from 'vitest';
import { headItem } from '../../../core/checkpoint/head.ts';
import { sliceIdOf } from '../../../core/slice/topology.ts';
import { SliceOwners } from '../../../functions/admin/slice-owners.ts';
import { QueryWorld, shardIdOf } from '../query/query-world.ts';
import { TrialTelemetry } from './trial-telemetry.ts';

const flight = { t: 1_000, origin: 'LAX', to: 'X', delay: 1 };

async function worldOfTwo() {
  const world = new QueryWorld();
  await world.deliver(0, flight);
  await world.deliver(1, flight);
  return world;
}

function ownersOf(world: QueryWorld, answer: (shardId: string) => unknown) {
  const asked: unknown[] = [];
  const telemetry = new TrialTelemetry();
  const ask = async (event: unknown) => {
    asked.push(event);
    return answer((event as { shardId: string }).shardId);
  };
  const owners = new SliceOwners({ aggregate: { ask }, heads: world.heads, telemetry });
  return { owners, asked, telemetry };
}

describe('the owners of slices', () => {
  it('are asked for a checkpoint of every slice that lives', async () => {
    const world = await worldOfTwo();
    await world.deliver(2, flight);
    const head = await world.head(2);
    const sealed = { ...head, status: 'SEALED' as const, revision: head.revision + 1 };
    await world.heads.writeHead(
      headItem({ ...sealed, nonce: 'f'.repeat(16) }),
      head.revision,
      null,
    );
    const { owners, asked } = ownersOf(world, (shardId) => [{ epoch: Number(shardId.at(-1)) + 5 }]);
    expect(await owners.checkpoint()).toEqual(
      [0, 1].map((shard) => ({
        id: sliceIdOf(shardIdOf(shard)),
        shardId: shardIdOf(shard),
        epoch: shard + 5,
      })),
    );
    expect(asked).toEqual([0, 1].map((at) => ({ tidemark: 'checkpoint', shardId: shardIdOf(at) })));
  });

  it('that fail are told of when all have been asked', async () => {
    const failure = new Error('no memory');
    const { owners, asked } = ownersOf(await worldOfTwo(), (shardId) => {
      if (shardId === shardIdOf(0)) throw failure;
      return [{ epoch: 1 }];
    });
    await expect(owners.checkpoint()).rejects.toBe(failure);
    expect(asked).toHaveLength(2);
  });

  it('are ticked by slice; what they throw is logged, and left to the next tick', async () => {
    const { owners, asked, telemetry } = ownersOf(await worldOfTwo(), () => {
      throw new Error('held');
    });
    await owners.tick(sliceIdOf(shardIdOf(1)));
    await owners.tick('slice-of-nobody');
    expect(asked).toEqual([{ tidemark: 'tick', shardId: shardIdOf(1) }]);
    expect(telemetry.lines).toMatchObject([{ message: 'a tick failed' }]);
  });
});
