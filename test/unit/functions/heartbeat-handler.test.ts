import { describe, expect, it } from 'vitest';
import { type HeartbeatEntry, isHeartbeat } from '../../../core/state/heartbeat.ts';
import { createHeartbeatHandler } from '../../../functions/heartbeat/handler.ts';
import { TrialTelemetry } from './trial-telemetry.ts';

const RANGES = [
  { start: '0'.repeat(32), end: `7${'f'.repeat(31)}` },
  { start: `8${'0'.repeat(31)}`, end: 'f'.repeat(32) },
];

describe('the heartbeat function', () => {
  it('puts one heartbeat into each open shard, by its first hash key', async () => {
    const sent: HeartbeatEntry[] = [];
    const telemetry = new TrialTelemetry();
    const put = async (entries: readonly HeartbeatEntry[]) => {
      sent.push(...entries);
    };
    await createHeartbeatHandler({ openRanges: async () => RANGES, put, telemetry })();
    expect(sent.map(({ explicitHashKey }) => explicitHashKey)).toEqual(['0', String(2n ** 127n)]);
    expect(sent.every(({ data }) => isHeartbeat(data))).toBe(true);
    expect(telemetry.metrics.size).toBe(0);
  });

  it('tells of a stream that does not take it, and throws', async () => {
    const telemetry = new TrialTelemetry();
    const error = new Error('no stream');
    const put = () => Promise.reject(error);
    const handler = createHeartbeatHandler({ openRanges: async () => RANGES, put, telemetry });
    await expect(handler()).rejects.toBe(error);
    expect(telemetry.metrics.get('OtherFaults')).toBe(1);
    expect(telemetry.published).toBe(1);
  });
});
