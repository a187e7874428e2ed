/**
 * What is measured of the whole pipeline, by its HEADs and what was seen of their shards.
 */
import type { Head } from '../../core/checkpoint/head.ts';
import type { ObservedAge } from '../../core/ports.ts';
import { comparePositions } from '../../core/position.ts';
import { isSettled } from '../../core/slice/topology.ts';
import { METRIC } from '../deployment-contract.ts';
import type { Telemetry } from '../telemetry.ts';

/** Of a live slice's shard: the age of the oldest record that no checkpoint holds; null if that is unknown now. */
export interface SeenAge {
  readonly head: Head;
  readonly behindMs: number | null;
  /** What an earlier tick saw, where this one cannot tell. */
  readonly before: ObservedAge | undefined;
}

export function measurePipeline(
  heads: readonly Head[],
  seen: readonly SeenAge[],
  nowMs: number,
  telemetry: Telemetry,
): void {
  // What is not known is told as such, and counts with the age that it may have: it is never taken for nothing.
  telemetry.count(METRIC.slicesUnknown, seen.filter(({ behindMs }) => behindMs === null).length);
  const agesMs = seen.map((age) => age.behindMs ?? ageAtMostMs(age, nowMs));
  telemetry.milliseconds(METRIC.checkpointAgeMs, Math.max(0, ...agesMs));
  telemetry.bytes(
    METRIC.stateBytes,
    heads.reduce((sum, { stateBytes }) => sum + stateBytes, 0),
  );
  telemetry.count(METRIC.slices, heads.length);
  const notOpen = heads.filter((head) => !isSettled(head));
  telemetry.count(METRIC.slicesNotOpen, notOpen.length);
}

/**
 * How old the oldest record that no checkpoint holds is at most: by what was seen last, and by HEAD. Records arrive in order, so
 * what follows the last record that HEAD holds is no older than that one. 0 for a slice of which nothing is known at all.
 */
export function ageAtMostMs({ head, before }: Omit<SeenAge, 'behindMs'>, nowMs: number): number {
  const bounds = [
    ...(before === undefined ? [] : [before.behindMs + nowMs - before.atMs]),
    ...headAgeMs(head, nowMs),
    // By a clock that was set back nothing can be told.
  ].filter((boundMs) => boundMs >= 0);
  return bounds.length === 0 ? 0 : Math.min(...bounds);
}

/** By HEAD alone; nothing before its first record. */
function headAgeMs(head: Head, nowMs: number): number[] {
  const { cursor, delivered, deliveredArrivalMs, committedMs } = head;
  if (deliveredArrivalMs === 0) return committedMs === 0 ? [] : [nowMs - committedMs];
  const isSaved = comparePositions(cursor, delivered) === 0;
  // What was answered for and not saved came before the last record that was delivered.
  const sinceMs = isSaved ? deliveredArrivalMs : Math.min(deliveredArrivalMs, committedMs);
  return [nowMs - sinceMs];
}
