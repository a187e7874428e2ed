/**
 * The heartbeat function: one record into each open shard, so that time passes where no record comes. Deployed only where
 * the pipeline has `time.idle`.
 */
import type { HashRange } from '../../core/ports.ts';
import { type HeartbeatEntry, heartbeatFor } from '../../core/state/heartbeat.ts';
import { METRIC } from '../deployment-contract.ts';
import type { Telemetry } from '../telemetry.ts';

export interface HeartbeatPorts {
  readonly openRanges: () => Promise<readonly HashRange[]>;
  /** Durable in the stream when it returns. */
  readonly put: (entries: readonly HeartbeatEntry[]) => Promise<void>;
  readonly telemetry: Telemetry;
}

export function createHeartbeatHandler(ports: HeartbeatPorts): () => Promise<void> {
  return async () => {
    const { telemetry } = ports;
    try {
      const ranges = await ports.openRanges();
      await ports.put(ranges.map(heartbeatFor));
    } catch (error) {
      telemetry.count(METRIC.otherFaults, 1);
      telemetry.failure('heartbeat failed', error, {});
      throw error;
    } finally {
      telemetry.publish();
    }
  };
}
