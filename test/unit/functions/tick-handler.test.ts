import { describe, expect, it } from 'vitest';
import { crc32c } from '../../../core/crc32c.ts';
import type { HeadItem } from '../../../core/ports.ts';
import { behind } from '../../../core/query/status.ts';
import { createTickHandler } from '../../../functions/tick/handler.ts';
import type { TickPorts } from '../../../functions/tick/pipeline-tick.ts';
import { QueryWorld, shardIdOf } from '../query/query-world.ts';
import { TrialTelemetry } from './trial-telemetry.ts';

const flight = { t: 1_000, origin: 'LAX', to: 'X', delay: 1 };

function trial(world: QueryWorld, overrides: Partial<TickPorts> = {}) {
  const telemetry = new TrialTelemetry();
  const ticked: string[] = [];
  const observed: string[] = [];
  const handler = createTickHandler({
    heads: world.heads,
    openShardIds: async () => [shardIdOf(0), shardIdOf(1), shardIdOf(2)],
    tick: async (shardId) => {
      ticked.push(shardId);
    },
    observeTip: async (shardId, { sequenceNumber }) => {
      observed.push(`${shardId} ${sequenceNumber}`);
    },
    behindMs: (head) => behind(head, world.source, world.clock),
    clock: world.clock,
    telemetry,
    ...overrides,
  });
  return { handler, telemetry, ticked, observed };
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
    const openShardIds = () => Promise.reject(new Error('throttled'));
    const { handler, ticked, telemetry } = trial(world, { heads: { listHeads }, openShardIds });
    await expect(handler()).rejects.toMatchObject({ name: 'CorruptStateFault' });
    expect(ticked).toEqual([shardIdOf(1)]);
    expect(telemetry.metrics.get('OtherFaults')).toBe(1);
  });
});
