import { describe, expect, it } from 'vitest';
import { MemoryAgeStore } from '../../../adapters/memory/memory-age-store.ts';
import type { Head } from '../../../core/checkpoint/head.ts';
import { crc32c } from '../../../core/crc32c.ts';
import type { HeadItem, StreamRecord } from '../../../core/ports.ts';
import { behind } from '../../../core/query/status.ts';
import { sliceIdOf } from '../../../core/slice/topology.ts';
import { createTickHandler } from '../../../functions/tick/handler.ts';
import type { TickPorts } from '../../../functions/tick/pipeline-tick.ts';
import { QueryWorld, shardIdOf } from '../query/query-world.ts';
import { TrialTelemetry } from './trial-telemetry.ts';

const flight = { t: 1_000, origin: 'LAX', to: 'X', delay: 1 };

function trial(world: QueryWorld, overrides: Partial<TickPorts> = {}) {
  const telemetry = new TrialTelemetry();
  const ages = overrides.ages ?? new MemoryAgeStore();
  const ticked: string[] = [];
  const observed: string[] = [];
  const handler = createTickHandler({
    heads: world.heads,
    shards: async () =>
      [0, 1, 2, 7].map((index) => ({ shardId: shardIdOf(index), isOpen: index < 7 })),
    tick: async (shardId) => {
      ticked.push(shardId);
    },
    observeTip: async (shardId, { sequenceNumber }) => {
      observed.push(`${shardId} ${sequenceNumber}`);
    },
    behindMs: (head) => behind(head, world.source, world.clock),
    ages,
    clock: world.clock,
    telemetry,
    ...overrides,
  });
  return { handler, telemetry, ages, ticked, observed };
}

describe('the tick function', () => {
  it('ticks every shard that takes records and every slice that there is', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight);
    await world.deliver(7, flight);
    const { handler, ticked, telemetry } = trial(world);
    await handler();
    expect(ticked).toEqual([0, 1, 2, 7].map(shardIdOf));
    expect(telemetry.metrics.get('Slices')).toBe(2);
    expect(telemetry.metrics.get('SlicesNotOpen')).toBe(0);
    expect(telemetry.metrics.get('StateBytes')).toBe(
      (await world.head(0)).stateBytes + (await world.head(7)).stateBytes,
    );
    expect(telemetry.published).toBe(1);
  });

  it('says how old the oldest record is that no checkpoint holds, whether or not anybody brought it', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight);
    await world.deliver(1, flight);
    const saved = trial(world);
    await saved.handler();
    expect(saved.telemetry.metrics.get('CheckpointAgeMs')).toBe(0);
    const { arrivalMs } = world.append(1, flight);
    world.clock.set(arrivalMs + 41_000);
    const { handler, telemetry } = trial(world);
    await handler();
    expect(telemetry.metrics.get('CheckpointAgeMs')).toBe(41_000);
  });

  it('does not take an age that nobody can tell for none', async () => {
    const world = new QueryWorld();
    const [record] = await world.deliver(0, flight);
    await world.deliver(1, flight);
    const { arrivalMs } = record as StreamRecord;
    world.clock.set(arrivalMs + 900_000);
    const behindMs = async ({ shardId }: Head) => (shardId === shardIdOf(0) ? null : 2_000);
    const { handler, telemetry } = trial(world, { behindMs });
    await handler();
    expect(telemetry.metrics.get('SlicesUnknown')).toBe(1);
    expect(telemetry.metrics.get('CheckpointAgeMs')).toBe(900_000);
  });

  it('counts an age that nobody can tell from when it was seen last', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight);
    const sliceId = sliceIdOf(shardIdOf(0));
    world.clock.advance(3_600_000);
    const ages = new MemoryAgeStore();
    await trial(world, { ages }).handler();
    const seen = { sliceId, behindMs: 0, atMs: world.clock.nowMs() };
    expect((await ages.read([sliceId])).get(sliceId)).toEqual(seen);
    world.clock.advance(70_000);
    const { handler, telemetry } = trial(world, { ages, behindMs: async () => null });
    await handler();
    expect(telemetry.metrics.get('SlicesUnknown')).toBe(1);
    expect(telemetry.metrics.get('CheckpointAgeMs')).toBe(70_000);
    expect((await ages.read([sliceId])).get(sliceId)).toEqual(seen);
  });

  it('stores what it saw of each slice, and throws what kept it from that', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight);
    await world.deliver(1, flight);
    const [zero, one] = [0, 1].map((index) => sliceIdOf(shardIdOf(index))) as [string, string];
    const met = new Error('no room');
    const behindMs = async ({ shardId }: Head) => {
      if (shardId === shardIdOf(0)) throw met;
      return 5_000;
    };
    const { handler, ages, telemetry, ticked } = trial(world, { behindMs });
    await expect(handler()).rejects.toBe(met);
    expect([...(await ages.read([zero, one])).values()]).toEqual([
      { sliceId: one, behindMs: 5_000, atMs: world.clock.nowMs() },
    ]);
    expect(telemetry.metrics.get('SlicesUnknown')).toBe(1);
    expect(ticked).toHaveLength(3);
  });

  it('asks nothing of a shard that is gone with its last record', async () => {
    const world = new QueryWorld();
    await world.deliver(3, flight);
    const asked: string[] = [];
    const behindMs = async ({ shardId }: Head) => {
      asked.push(shardId);
      return null;
    };
    const { handler, telemetry, ticked } = trial(world, { behindMs });
    await handler();
    expect(asked).toEqual([]);
    expect(telemetry.metrics.get('SlicesUnknown')).toBe(0);
    expect(telemetry.metrics.get('CheckpointAgeMs')).toBe(0);
    expect(ticked).toContain(shardIdOf(3));
  });

  it('looks at shards that have been silent for an hour, and at no others', async () => {
    const world = new QueryWorld();
    await world.openSlice(1);
    const [record] = await world.deliver(0, flight);
    world.clock.set((record?.arrivalMs ?? 0) + 3_500_000);
    const before = trial(world);
    await before.handler();
    const never = world.clock.nowMs() > 3_600_000 ? [`${shardIdOf(1)} 0`] : [];
    expect(before.observed).toEqual(never);
    world.clock.advance(200_000);
    const { handler, observed } = trial(world);
    await handler();
    expect(observed).toEqual([`${shardIdOf(0)} ${record?.sequenceNumber}`, `${shardIdOf(1)} 0`]);
  });

  it('looks at a shard whose last record lies an hour ahead of its clock', async () => {
    const world = new QueryWorld();
    const [record] = await world.deliver(0, flight);
    world.clock.set((record?.arrivalMs ?? 0) - 3_600_000);
    const { handler, observed } = trial(world);
    await handler();
    expect(observed).toContain(`${shardIdOf(0)} ${record?.sequenceNumber}`);
  });

  it('ticks all others where one cannot be, and throws what it met', async () => {
    const world = new QueryWorld();
    const met = new Error('no room');
    const ticked: string[] = [];
    const tick = async (shardId: string) => {
      if (shardId === shardIdOf(0)) throw met;
      ticked.push(shardId);
    };
    const { handler, telemetry } = trial(world, { tick });
    await expect(handler()).rejects.toBe(met);
    expect(ticked).toEqual([shardIdOf(1), shardIdOf(2)]);
    expect(telemetry.metrics.get('OtherFaults')).toBe(1);
    expect(telemetry.lines).toMatchObject([{ error: met }]);
  });

  it('fails by name where a HEAD is of a newer format', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight);
    const listHeads = async (): Promise<HeadItem[]> =>
      (await world.heads.listHeads()).map((item) => {
        const body = new Uint8Array(item.body);
        body[4] = 99;
        const end = body.length - 4;
        new DataView(body.buffer).setUint32(end, crc32c(body.subarray(0, end)), true);
        return { ...item, body };
      });
    await expect(trial(world, { heads: { listHeads } }).handler()).rejects.toMatchObject({
      name: 'NewerFormatFault',
    });
  });

  it('ticks what it can where a HEAD is damaged or the shards cannot be listed', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight);
    await world.deliver(1, flight);
    const listHeads = async () =>
      (await world.heads.listHeads()).map((item, index) =>
        index === 0 ? { ...item, body: new Uint8Array(3) } : item,
      );
    const shards = () => Promise.reject(new Error('throttled'));
    const { handler, ticked, telemetry } = trial(world, { heads: { listHeads }, shards });
    await expect(handler()).rejects.toMatchObject({ name: 'CorruptStateFault' });
    expect(ticked).toEqual([shardIdOf(1)]);
    expect(telemetry.metrics.get('OtherFaults')).toBe(1);
  });
});
