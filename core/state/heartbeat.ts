/**
 * Heartbeats: records that say only that time passes. They go through the stream, so that a replay sees the same time, and
 * mean something only where the pipeline's `time.idle` says how long a shard may be silent.
 */
import { encodeText } from '../bytes.ts';
import type { HashRange } from '../ports.ts';

/** The whole data of a heartbeat. */
export const HEARTBEAT_TEXT = '{"tidemark":"heartbeat"}';

const BYTES = encodeText(HEARTBEAT_TEXT);
const PARTITION_KEY = 'tidemark-heartbeat';

/** A record as a producer sends it. */
export interface HeartbeatEntry {
  readonly partitionKey: string;
  /** A decimal number: the first hash key of the shard. */
  readonly explicitHashKey: string;
  readonly data: Uint8Array;
}

/** The heartbeat for the shard of this range. */
export function heartbeatFor({ start }: HashRange): HeartbeatEntry {
  const explicitHashKey = BigInt(`0x${start}`).toString();
  return { partitionKey: PARTITION_KEY, explicitHashKey, data: encodeText(HEARTBEAT_TEXT) };
}

export function isHeartbeat(data: Uint8Array): boolean {
  return data.length === BYTES.length && BYTES.every((byte, index) => data[index] === byte);
}
