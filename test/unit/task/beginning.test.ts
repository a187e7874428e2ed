import { describe, expect, it } from 'vitest';
import { MemoryBlobStore } from '../../../adapters/memory/memory-blob-store.ts';
import { MemoryCheckpointStore } from '../../../adapters/memory/memory-checkpoint-store.ts';
import { MemoryPlanRegistry } from '../../../adapters/memory/memory-plan-registry.ts';
import { hasBirths } from '../../../core/checkpoint/beginning.ts';
import {
  HeldFault,
  LostStateFault,
  ReplayGapFault,
  StreamMismatchFault,
  TransientFault,
} from '../../../core/faults.ts';
import type { CheckpointStore, SourceRead } from '../../../core/ports.ts';
import { laterPlan, SHARD, SLICE } from '../../world/small-log.ts';
import { begun, WHOLE } from './redrive-fixture.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

describe('a slice without HEAD', () => {
  it('begins once, and leaves a birth record before its first epoch', async () => {
    const world = new TaskWorld(20);
    const { objects } = world.blobs;
    expect(await hasBirths(objects)).toBe(false);
    await world.task().deliver(world.batch(0, 10), PLENTY);
    expect(await objects.read(`births/${SLICE}`)).not.toBeNull();
    await world.task().deliver(world.batch(10, 20), PLENTY);
    expect((await world.head()).digest.count).toBe(20);
  });

  it('is lost where no plan is active: activation precedes the first batch', async () => {
    const world = new TaskWorld(10);
    const task = world.task({ plans: new MemoryPlanRegistry() });
    const delivery = task.deliver(world.records, PLENTY);
    await expect(delivery).rejects.toThrow(LostStateFault);
    await expect(delivery).rejects.toMatchObject({ hint: expect.stringContaining('backup') });
    expect(await world.heads.readHead(SLICE)).toBeNull();
    expect(await hasBirths(world.blobs.objects)).toBe(false);
  });

  it.each(['deliver', 'tick', 'checkpoint', 'recover'] as const)(
    'is lost where it had one, and a %s begins nothing',
    async (what) => {
      const world = new TaskWorld(20);
      await world.task().deliver(world.batch(0, 10), PLENTY);
      const heads = new MemoryCheckpointStore();
      const task = world.task({ heads });
      const asked =
        what === 'deliver' ? task.deliver(world.batch(10, 20), PLENTY) : task[what](PLENTY);
      await expect(asked).rejects.toThrow(LostStateFault);
      await expect(asked).rejects.toThrow(`births/${SLICE}`);
      expect(await heads.listHeads()).toEqual([]);
    },
  );

  it('that another environment begins meanwhile is taken over', async () => {
    const world = new TaskWorld(20);
    let isFirst = true;
    const heads: CheckpointStore = {
      ...world.headsThatWrite((item, ifRevision, passing) =>
        world.heads.writeHead(item, ifRevision, passing),
      ),
      readHead: async (sliceId) => {
        if (!isFirst) return world.heads.readHead(sliceId);
        isFirst = false;
        await world.task().deliver(world.batch(0, 10), PLENTY);
        return null;
      },
    };
    await world.task({ heads }).deliver(world.batch(10, 20), PLENTY);
    expect((await world.head()).digest.count).toBe(20);
    expect((await world.head()).epoch).toBe(2);
  });

  it('whose birth record was not written in time has it before its first epoch', async () => {
    const world = new TaskWorld(10);
    const { items, objects } = world.blobs;
    const failing = new MemoryBlobStore(world.clock);
    failing.create = async () => {
      throw new TransientFault('the store does not answer');
    };
    const first = world.task({ blobs: { items, objects: failing } });
    await expect(first.deliver(world.records, PLENTY)).rejects.toThrow(TransientFault);
    expect((await world.head()).epoch).toBe(0);
    expect(await hasBirths(objects)).toBe(false);

    await world.task().deliver(world.records, PLENTY);
    expect(await hasBirths(objects)).toBe(true);
    expect((await world.head()).epoch).toBe(1);
  });
});

describe('a HEAD of another plan', () => {
  it('is not taken over, nor held, where no plan is active: the plan was lost', async () => {
    const world = new TaskWorld(20);
    await world.task().deliver(world.batch(0, 10), PLENTY);
    const ports = { plans: new MemoryPlanRegistry() };
    const delivery = world.task(ports, { plan: laterPlan }).deliver(world.batch(10, 20), PLENTY);
    await expect(delivery).rejects.toThrow(LostStateFault);
  });
});

describe('a stream that is older than HEAD', () => {
  /** HEAD has answered for 20 records; the stream was put back from a copy of 12 and took 10 others since. */
  async function putBack(delivered: 'folded' | 'answered for') {
    const world = new TaskWorld(40);
    await world.task().deliver(world.batch(0, 20), PLENTY);
    if (delivered === 'answered for') await world.deliverOnly(22);
    const older = new TaskWorld(0);
    for (const record of world.batch(0, 12)) older.source.append(SHARD, record);
    const others = world.batch(12, 22).map((record) => {
      const sequenceNumber = String(BigInt(record.sequenceNumber) - 1n);
      return { ...record, sequenceNumber };
    });
    for (const record of others) older.source.append(SHARD, record);
    return { world, source: older.source, others };
  }

  it.each(['folded', 'answered for'] as const)(
    'is refused before its records are dropped as known: %s',
    async (delivered) => {
      const { world, source, others } = await putBack(delivered);
      const before = await world.head();
      for (const batch of [others, others.slice(-1), []]) {
        const delivery = world.task({ source }).deliver(batch, PLENTY);
        await expect(delivery).rejects.toThrow(StreamMismatchFault);
      }
      expect(await world.head()).toEqual(before);
    },
  );

  it.each(['checkpoint', 'recover', 'tick'] as const)('is refused by a %s', async (what) => {
    const { world, source } = await putBack('answered for');
    await world.request(['x']);
    await expect(world.task({ source })[what](PLENTY)).rejects.toThrow(StreamMismatchFault);
  });

  it('that was made again under its name is refused, although it has no other record there', async () => {
    const world = new TaskWorld(30);
    await world.task().deliver(world.batch(0, 20), PLENTY);
    const shards = { ...world.ports.shards, streamId: async () => '9'.repeat(16) };
    for (const batch of [world.batch(20, 30), []]) {
      const delivery = world.task({ shards }).deliver(batch, PLENTY);
      await expect(delivery).rejects.toThrow(StreamMismatchFault);
      await expect(delivery).rejects.toThrow('this is stream 9999999999999999');
    }
    expect((await world.head()).digest.count).toBe(20);
  });

  it('is refused before HEAD is written for a new plan', async () => {
    const { world, source } = await putBack('folded');
    await world.activate(laterPlan);
    const before = await world.head();
    const task = world.task({ source }, { plan: laterPlan });
    await expect(task.tick(PLENTY)).rejects.toThrow(StreamMismatchFault);
    await expect(task.recover(PLENTY)).rejects.toThrow(StreamMismatchFault);
    expect(await world.head()).toEqual(before);
  });

  it('is refused before a slice is taken over', async () => {
    const { world, source } = await putBack('answered for');
    const before = await world.head();
    await expect(world.task({ source }).recover(PLENTY)).rejects.toThrow(StreamMismatchFault);
    expect(await world.head()).toEqual(before);
  });

  it('is refused while another owner recovers the slice, by its records and by its name', async () => {
    const { world, source, others } = await putBack('answered for');
    await world.rewriteHead({
      status: 'RECOVERING',
      generation: 1,
      committedMs: world.clock.nowMs(),
    });
    const before = await world.head();
    const renamed = { ...world.ports.shards, streamId: async () => '9'.repeat(16) };
    for (const ports of [{ source }, { shards: renamed }]) {
      for (const batch of [others, others.slice(0, 1), world.batch(20, 30)]) {
        const delivery = world.task(ports).deliver(batch, PLENTY);
        await expect(delivery).rejects.toThrow(StreamMismatchFault);
      }
    }
    expect(await world.head()).toEqual(before);
    await world.task().deliver(world.batch(18, 22), PLENTY);
  });

  it('is not proved by records that were read elsewhere', async () => {
    const world = new TaskWorld(30);
    await world.task().deliver(world.batch(0, 20), PLENTY);
    const source = {
      readAfter: async (...args: Parameters<typeof world.source.readAfter>) => {
        const read = await world.source.readAfter(...args);
        return { ...read, origin: 'archive' } as unknown as SourceRead;
      },
    };
    const delivery = world.task({ source }).deliver(world.batch(20, 30), PLENTY);
    await expect(delivery).rejects.toThrow('only-the-stream-proves-itself');
  });

  it('costs a restore that delivers no further read of the stream', async () => {
    const world = new TaskWorld(30);
    await world.task().deliver(world.batch(0, 20), PLENTY);
    let reads = 0;
    const source = {
      readAfter: (...args: Parameters<typeof world.source.readAfter>) => {
        reads++;
        return world.source.readAfter(...args);
      },
    };
    await world.task({ source }).deliver(world.batch(20, 30), PLENTY);
    expect(reads).toBe(1);
  });
});

describe('a slice whose shard the stream no longer has', () => {
  const gone = { source: { readAfter: async () => ({ outcome: 'gone' }) as const } };

  it('is redriven, checkpointed and recovered: nothing contradicts it', async () => {
    const world = await begun();
    const id = await world.requestFor(WHOLE);
    await world.task(gone).tick(PLENTY);
    expect(await world.outcomeOf(id)).toEqual({ redriven: [WHOLE], refused: [] });
    await world.task(gone).checkpoint(PLENTY);
    await world.task(gone).recover(PLENTY);
    await world.task(gone).deliver(world.batch(5, 10), PLENTY);
    await world.expectRedriven([WHOLE]);
  });

  it('goes over to a new plan', async () => {
    const world = await begun();
    await world.activate(laterPlan);
    await world.task(gone, { plan: laterPlan }).tick(PLENTY);
    expect(await world.head()).toMatchObject({ planHash: laterPlan.hash, status: 'OPEN' });
  });

  it('is a gap where records that it needs went with the shard', async () => {
    const world = await begun();
    await world.deliverOnly(20);
    for (const what of ['checkpoint', 'tick', 'recover'] as const) {
      await expect(world.task(gone)[what](PLENTY)).rejects.toThrow(ReplayGapFault);
    }
    const later = await begun();
    const delivery = later.task(gone).deliver(later.batch(10, 20), PLENTY);
    await expect(delivery).rejects.toThrow(ReplayGapFault);
  });

  it('takes no further batch on trust while its recovery has lost what it needs', async () => {
    const world = await begun();
    await world.rewriteHead({
      status: 'RECOVERING',
      generation: 1,
      committedMs: world.clock.nowMs(),
    });
    const delivery = world.task(gone).deliver(world.batch(10, 20), PLENTY);
    await expect(delivery).rejects.toThrow(HeldFault);
  });

  it('still is of one stream', async () => {
    const world = await begun();
    const shards = { ...world.ports.shards, streamId: async () => '9'.repeat(16) };
    const checkpoint = world.task({ ...gone, shards }).checkpoint(PLENTY);
    await expect(checkpoint).rejects.toThrow(StreamMismatchFault);
    await expect(checkpoint).rejects.toMatchObject({
      hint: expect.stringContaining('everything in its table'),
    });
  });
});
