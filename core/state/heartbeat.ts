/**
 * Heartbeats: records that say only that time passes. They go through the stream, so that a replay sees the same time, and
 * mean something only where the pipeline's `time.idle` says how long a shard may be silent.
 */
import { encodeText } from '../bytes.ts';

/** The whole data of a heartbeat. */
export const HEARTBEAT_TEXT = '{"tidemark":"heartbeat"}';

const BYTES = encodeText(HEARTBEAT_TEXT);

export function isHeartbeat(data: Uint8Array): boolean {
  return data.length === BYTES.length && BYTES.every((byte, index) => data[index] === byte);
}
