import { describe, expect, it } from 'vitest';
import { compareSequenceNumbers, type Position, START } from '../../../core/position.ts';
import { entry, openStream, SHARD_0, SHARD_1, streamPath, TestClock } from './stream-fixture.ts';

const HOUR_MS = 3_600_000;
const ALL = { countMax: 10_000, bytesMax: 10_000_000 };

/** One record an hour, each under the key of its hour. */
function hourly(options: { path?: string; retentionHours?: number } = {}) {
  const clock = new TestClock();
  const stream = openStream({ clock, shardCount: 2, ...options });
  const positions: Position[] = [];
  for (let hour = 0; hour < 6; hour++) {
    const [record] = stream.append([{ ...entry(`hour-${hour}`), explicitHashKey: '0' }]);
    positions.push({ sequenceNumber: record?.sequenceNumber as string, subSequence: 0 });
    clock.ms += HOUR_MS;
  }
  const keys = () => stream.readFrom(SHARD_0, 1, ALL).records.map((record) => record.partitionKey);
  return { stream, clock, positions, keys };
}

describe('trimming the local stream', () => {
  it('by retention takes what is older, when the cursor has passed it', async () => {
    const { stream, clock, positions, keys } = hourly({ retentionHours: 3 });
    const keepAfter = new Map([[SHARD_0, positions[5] as Position]]);
    expect(await stream.trimExpired(clock.ms, keepAfter)).toBe(3);
    expect(keys()).toEqual(['hour-3', 'hour-4', 'hour-5']);
    expect(stream.tip(SHARD_0)).toMatchObject({ ordinal: 6, count: 3 });
  });

  it('by retention never takes a record after the cursor', async () => {
    const { stream, clock, positions, keys } = hourly({ retentionHours: 1 });
    expect(await stream.trimExpired(clock.ms, new Map([[SHARD_0, positions[1] as Position]]))).toBe(
      2,
    );
    expect(keys()[0]).toBe('hour-2');
    expect(await stream.trimExpired(clock.ms, new Map([[SHARD_0, START]]))).toBe(0);
    expect(await stream.trimExpired(clock.ms, new Map())).toBe(0);
    expect(keys()).toHaveLength(4);
  });

  it('keeps a day by default', async () => {
    const { stream, clock, positions } = hourly();
    expect(stream.retentionHours).toBe(24);
    const keepAfter = new Map([[SHARD_0, positions[5] as Position]]);
    expect(await stream.trimExpired(clock.ms + 17 * HOUR_MS, keepAfter)).toBe(0);
    expect(await stream.trimExpired(clock.ms + 19 * HOUR_MS, keepAfter)).toBe(1);
  });

  it('before a position keeps the record at it, and other shards', async () => {
    const { stream, positions, keys } = hourly();
    stream.append([{ ...entry('other'), explicitHashKey: String(2n ** 128n - 1n) }]);
    expect(await stream.trimBefore(SHARD_0, positions[4] as Position)).toBe(4);
    expect(keys()).toEqual(['hour-4', 'hour-5']);
    expect(await stream.trimBefore(SHARD_0, positions[2] as Position)).toBe(0);
    expect(stream.readFrom(SHARD_1, 1, ALL).records).toHaveLength(1);
  });

  it('moves TRIM_HORIZON, and reads from before it begin there', async () => {
    const { stream, positions } = hourly();
    await stream.trimBefore(SHARD_0, positions[3] as Position);
    expect(stream.locate(SHARD_0, { kind: 'TRIM_HORIZON' })).toMatchObject({ ordinal: 4 });
    expect(stream.readFrom(SHARD_0, 1, ALL).nextOrdinal).toBe(7);
  });

  it('never gives a sequence number twice, even if everything was trimmed', async () => {
    const path = streamPath();
    const { stream, clock, positions } = hourly({ path, retentionHours: 1 });
    const last = positions[5] as Position;
    expect(await stream.trimExpired(clock.ms + HOUR_MS, new Map([[SHARD_0, last]]))).toBe(6);
    const tip = stream.tip(SHARD_0);
    stream.close();

    const again = openStream({ path });
    expect(again.tip(SHARD_0)).toEqual(tip);
    const [next] = again.append([{ ...entry('next'), explicitHashKey: '0' }]);
    expect(
      compareSequenceNumbers(last.sequenceNumber, next?.sequenceNumber as string),
    ).toBeLessThan(0);
    expect(again.tip(SHARD_0)).toMatchObject({ ordinal: 7, count: 1 });
  });

  it('of many records lets appends through in between', async () => {
    const stream = openStream();
    const entries = Array.from({ length: 25_000 }, (_, index) => entry(`key-${index}`, ''));
    const appended = stream.append(entries);
    const last = appended.at(-1)?.sequenceNumber as string;
    const trimming = stream.trimBefore(SHARD_0, { sequenceNumber: last, subSequence: 0 });
    expect(stream.tip(SHARD_0).count).toBe(15_000);
    stream.append([entry('between')]);
    expect(await trimming).toBe(24_999);
    expect(stream.tip(SHARD_0)).toMatchObject({ ordinal: 25_001, count: 2 });
  });
});
