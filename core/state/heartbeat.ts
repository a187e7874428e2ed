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

/** How late it is in a shard, as its heartbeats say. A function of the shard's log alone. */
export interface ShardTime {
  /** Up to here it counts; −Infinity before any does. */
  readonly confirmedMs: number;
  /** What the last heartbeats say, as far as no record after them arrived earlier; −Infinity before the first. */
  readonly claimedMs: number;
}

export const NO_HEARTBEAT: ShardTime = {
  confirmedMs: Number.NEGATIVE_INFINITY,
  claimedMs: Number.NEGATIVE_INFINITY,
};

const APART_MS_MAX = 15_000;

/**
 * After a heartbeat. One stamp alone moves time by no more than `idleMs`, which its watermark is behind it anyway; a larger
 * step counts once a second heartbeat, which came at least half an interval later by its own stamp, confirms the first.
 * So a clock that is wrong for one heartbeat closes nothing early, and after a long silence the second one counts.
 */
export function afterHeartbeat(
  { confirmedMs, claimedMs }: ShardTime,
  arrivalMs: number,
  idleMs: number,
): ShardTime {
  if (arrivalMs <= confirmedMs + idleMs) {
    return { confirmedMs: Math.max(confirmedMs, arrivalMs), claimedMs: arrivalMs };
  }
  const apartMs = Math.min(idleMs / 4, APART_MS_MAX);
  if (arrivalMs >= claimedMs + apartMs) {
    return { confirmedMs: Math.max(confirmedMs, claimedMs), claimedMs: arrivalMs };
  }
  return { confirmedMs, claimedMs: Math.min(claimedMs, arrivalMs) };
}

/** After any other record: one that arrived before what is claimed shows that the claim is wrong. */
export function afterRecord(time: ShardTime, arrivalMs: number): ShardTime {
  return arrivalMs >= time.claimedMs ? time : { ...time, claimedMs: arrivalMs };
}
