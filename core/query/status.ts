/**
 * How a pipeline stands, out of the HEADs alone: each slice's, and their sums.
 */
import { type Head, parseHead, type SliceStatus } from '../checkpoint/head.ts';
import type { Plan } from '../definition/plan.ts';
import type { CheckpointStore, Clock, HashRange, RecordSource } from '../ports.ts';
import { addCounts, noRecords, type RecordCounts } from '../state/counters.ts';
import { Digest } from '../state/digest.ts';

export interface PipelineStatus {
  readonly pipeline: string;
  readonly plan: { readonly ordinal: number; readonly hash: string };
  readonly records: Readonly<RecordCounts>;
  readonly digest: string;
  /** Of the slices that had a record; null if none had. ISO 8601. */
  readonly watermark: string | null;
  readonly slices: readonly SliceStanding[];
}

export interface SliceStanding {
  readonly id: string;
  readonly range: HashRange;
  readonly shardId: string;
  readonly state: SliceStatus;
  readonly timeline: number;
  readonly epoch: number;
  readonly generation: number;
  readonly revision: number;
  readonly cursor: string;
  readonly delivered: string;
  readonly watermark: string | null;
  /** Since the oldest record arrived that no checkpoint holds; 0 if all are held. */
  readonly behindMs: number;
  readonly checkpointAgeMs: number | null;
  readonly entries: number;
  readonly stateBytes: number;
}

export interface StatusPorts {
  readonly heads: CheckpointStore;
  readonly source: RecordSource;
  readonly clock: Clock;
}

export async function pipelineStatus(plan: Plan, ports: StatusPorts): Promise<PipelineStatus> {
  const heads = (await ports.heads.listHeads()).map(parseHead);
  const counts = noRecords();
  const digest = new Digest();
  for (const head of heads) {
    addCounts(counts, head.counts);
    digest.merge(head.digest);
  }
  return {
    pipeline: plan.name,
    plan: { ordinal: Math.max(0, ...heads.map(({ planOrdinal }) => planOrdinal)), hash: plan.hash },
    records: counts,
    digest: digest.value().sum,
    watermark: isoOf(watermarkOf(heads)),
    slices: await Promise.all(heads.map((head) => standing(head, ports))),
  };
}

/** The lowest of the slices that had a record; null if none had. */
export function watermarkOf(heads: readonly Pick<Head, 'watermarkMs'>[]): number | null {
  const live = heads.map(({ watermarkMs }) => watermarkMs).filter(Number.isFinite);
  return live.length === 0 ? null : Math.min(...live);
}

export function isoOf(timeMs: number | null): string | null {
  return timeMs === null || !Number.isFinite(timeMs) ? null : new Date(timeMs).toISOString();
}

async function standing(head: Head, { source, clock }: StatusPorts): Promise<SliceStanding> {
  const nowMs = clock.nowMs();
  const next = await source.readAfter(head.shardId, head.cursor, 1);
  const oldest = next.outcome === 'records' ? next.records[0] : undefined;
  return {
    id: head.sliceId,
    range: head.range,
    shardId: head.shardId,
    state: head.status,
    timeline: head.timeline,
    epoch: head.epoch,
    generation: head.generation,
    revision: head.revision,
    cursor: head.cursor.sequenceNumber,
    delivered: head.delivered.sequenceNumber,
    watermark: isoOf(head.watermarkMs),
    behindMs: oldest === undefined ? 0 : Math.max(0, nowMs - oldest.arrivalMs),
    checkpointAgeMs: head.flippedMs === 0 ? null : Math.max(0, nowMs - head.flippedMs),
    entries: head.entryCount,
    stateBytes: head.stateBytes,
  };
}
