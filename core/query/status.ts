/**
 * How a pipeline stands: each slice's HEAD, their sums, and the shards of which no slice has folded anything.
 */
import { type Head, parseHead } from '../checkpoint/head.ts';
import type { Plan } from '../definition/plan.ts';
import { ageToShow } from '../elapsed.ts';
import { StreamMismatchFault, TransientFault } from '../faults.ts';
import { SHARD_LIST_AGE_MS_MAX } from '../limits.ts';
import type {
  AgeStore,
  CheckpointStore,
  Clock,
  HashRange,
  ObservedAge,
  RecordSource,
  SourceRead,
} from '../ports.ts';
import {
  NOTHING_FOLDED,
  type SliceStatus,
  type SlicesStanding,
  sliceIdOf,
  standingOf,
} from '../slice/topology.ts';
import { addCounts, noRecords, type RecordCounts } from '../state/counters.ts';
import { Digest } from '../state/digest.ts';
import { Zone } from '../time/zone.ts';
import { zonedIsoTime } from '../time/zoned-time.ts';
import type { IdleShards } from './idle-shards.ts';

export interface PipelineStatus {
  readonly pipeline: string;
  readonly plan: { readonly ordinal: number; readonly hash: string };
  /** What became of each record, those inside a Kinesis record too: it counts in one of these. */
  readonly records: Readonly<RecordCounts>;
  /** Of the folded ones: how many were quarantined too, as late for some views while others took them; purged ones too. */
  readonly partlyQuarantined: number;
  /** Of the folded ones: how many some views dropped as late while others took them. */
  readonly partlyDropped: number;
  /** Of the folded ones: how many came so late that their ids were kept no more. Sent before, they count twice. */
  readonly pastDedupe: number;
  /** Records of the stream, each once however many are inside it. */
  readonly kinesisRecords: number;
  /** Of them: 16 hex digits, the same for the same shards and sequence numbers. */
  readonly digest: string;
  /** The pipeline's: times of answers are written in it, and times without offset are read in it. */
  readonly zone: string;
  /**
   * The lowest of the live slices that had a record; null if none had, or if what no slice has folded yet may be before it. ISO
   * 8601 with the zone's offset.
   */
  readonly watermark: string | null;
  /** Slices whose shards never had a record, those without a HEAD included: as in answers. Absent: none. */
  readonly exempt?: readonly string[];
  /** Slices that have folded nothing, although their shards have records: `watermark` is null until they have. Absent: none. */
  readonly waiting?: readonly string[];
  /** False, and there only if so: the stream did not say which shards it has, so `watermark` is null. */
  readonly listed?: false;
  /** Why the stream does not say which shards it has, or what one under `waiting` holds. Absent: it says, or gives no reason. */
  readonly streamFault?: string;
  readonly slices: readonly SliceStanding[];
}

export interface SliceStanding {
  readonly id: string;
  readonly range: HashRange;
  readonly shardId: string;
  readonly state: SliceStatus;
  readonly timeline: number;
  readonly epoch: number;
  /** The ordinal of the plan that it was written under. */
  readonly plan: number;
  readonly generation: number;
  readonly revision: number;
  readonly cursor: string;
  readonly delivered: string;
  readonly watermark: string | null;
  /** Consumed, whatever became of them: each of those inside a Kinesis record. */
  readonly records: number;
  /** The Kinesis records that they were in: the digest is of these. */
  readonly kinesisRecords: number;
  /**
   * Since the oldest record arrived that no checkpoint holds; 0 if all are held, and only then. Null if that is not known:
   * the stream no longer has the shard or the records that follow, or it is not the stream that the slice was folded from, or it does
   * not answer now, or this clock stands before that arrival.
   */
  readonly behindMs: number | null;
  /**
   * When that was so, where a tick looks and not the question: ISO 8601, null if no tick has looked yet. Absent: now.
   */
  readonly behindAsOf?: string | null;
  /** Null if there is none, or if this clock stands before it. */
  readonly checkpointAgeMs: number | null;
  readonly entries: number;
  readonly stateBytes: number;
}

export interface StatusPorts {
  readonly heads: CheckpointStore;
  readonly source: RecordSource;
  readonly clock: Clock;
  /** What ticks saw, where a question must not read the stream; absent: it does. */
  readonly ages?: AgeStore;
}

export async function pipelineStatus(
  plan: Plan,
  ports: StatusPorts,
  idleShards: IdleShards,
): Promise<PipelineStatus> {
  const heads = (await ports.heads.listHeads()).map(parseHead);
  // After the HEADs: a shard that came meanwhile is asked whether it has records.
  const { watermarkMs, exempt, waiting, isListed, fault } = await judged(heads, idleShards);
  const zone = new Zone(plan.zone);
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
    partlyQuarantined: sumOf(heads, 'partlyQuarantined'),
    partlyDropped: sumOf(heads, 'partlyDropped'),
    pastDedupe: sumOf(heads, 'pastDedupe'),
    kinesisRecords: digest.count,
    digest: digest.value().sum,
    zone: plan.zone,
    watermark: isoOf(watermarkMs, zone),
    ...(exempt.length === 0 ? {} : { exempt: [...exempt].sort() }),
    ...(waiting.length === 0 ? {} : { waiting: [...waiting].sort() }),
    ...(isListed ? {} : { listed: false }),
    ...(fault === null ? {} : { streamFault: fault }),
    slices: await standings(heads, zone, ports),
  };
}

interface JudgedSlices extends SlicesStanding {
  readonly isListed: boolean;
  /** See `PipelineStatus.streamFault`. */
  readonly fault: string | null;
}

async function judged(heads: readonly Head[], idleShards: IdleShards): Promise<JudgedSlices> {
  const listing = await idleShards.list();
  const slices = heads.map(({ shardId, recordCount }) => ({ shardId, recordCount }));
  // A status claims nothing of windows, so what was seen lately will do: each question reading the shards would leave too few reads
  // to the mapping.
  const judgement = await idleShards.judge(slices, listing, SHARD_LIST_AGE_MS_MAX);
  const { waits, unopened, fault } = judgement;
  const isListed = listing.shardIds !== null;
  const opened = heads.map(({ shardId, sliceId, status, watermarkMs, recordCount }) => {
    return { sliceId, status, watermarkMs, recordCount, waits: waits.has(shardId) };
  });
  const others = unopened.map((shardId) => {
    return { ...NOTHING_FOLDED, sliceId: sliceIdOf(shardId), waits: waits.has(shardId) };
  });
  return { ...standingOf([...opened, ...others], isListed), isListed, fault };
}

function sumOf(
  heads: readonly Head[],
  count: 'partlyQuarantined' | 'partlyDropped' | 'pastDedupe',
): number {
  return heads.reduce((sum, head) => sum + head[count], 0);
}

async function standings(
  heads: readonly Head[],
  zone: Zone,
  ports: StatusPorts,
): Promise<SliceStanding[]> {
  const { ages, source, clock } = ports;
  if (ages === undefined) {
    return Promise.all(
      heads.map(async (head) => {
        const behindMs = await behind(head, source, clock);
        return standing(head, zone, { behindMs }, clock.nowMs());
      }),
    );
  }
  const observed = await ages.read(heads.map(({ sliceId }) => sliceId));
  return heads.map((head) =>
    standing(head, zone, asObserved(observed.get(head.sliceId), zone), clock.nowMs()),
  );
}

function asObserved(age: ObservedAge | undefined, zone: Zone): Behind {
  if (age === undefined) return { behindMs: null, behindAsOf: null };
  return { behindMs: age.behindMs, behindAsOf: isoOf(age.atMs, zone) };
}

type Behind = Pick<SliceStanding, 'behindMs' | 'behindAsOf'>;

export function isoOf(timeMs: number | null, zone: Zone): string | null {
  return timeMs === null || !Number.isFinite(timeMs) ? null : zonedIsoTime(timeMs, zone);
}

function standing(head: Head, zone: Zone, behindThen: Behind, nowMs: number): SliceStanding {
  return {
    id: head.sliceId,
    range: head.range,
    shardId: head.shardId,
    state: head.status,
    timeline: head.timeline,
    epoch: head.epoch,
    plan: head.planOrdinal,
    generation: head.generation,
    revision: head.revision,
    cursor: head.cursor.sequenceNumber,
    delivered: head.delivered.sequenceNumber,
    watermark: isoOf(head.watermarkMs, zone),
    records: head.recordCount,
    kinesisRecords: head.digest.count,
    ...behindThen,
    checkpointAgeMs: head.committedMs === 0 ? null : ageToShow(head.committedMs, nowMs),
    entries: head.entryCount,
    stateBytes: head.stateBytes,
  };
}

/** Age of the oldest record of the shard that no checkpoint holds; 0 if there is none, null if that is unknown now. */
export async function behind(
  head: Pick<Head, 'shardId' | 'cursor'>,
  source: RecordSource,
  clock: Clock,
): Promise<number | null> {
  let answer: SourceRead;
  try {
    answer = await source.readAfter(head.shardId, head.cursor, 1);
  } catch (fault) {
    // One shard that does not answer now is no reason to say nothing of the others.
    if (fault instanceof TransientFault) return null;
    // Nor is one whose records are not those that the slice has folded: its age is not known.
    if (fault instanceof StreamMismatchFault) return null;
    throw fault;
  }
  if (answer.outcome !== 'records') return null;
  const [oldest] = answer.records;
  // 0 would say that all are held.
  if (oldest !== undefined) return ageToShow(oldest.arrivalMs, clock.nowMs(), 1);
  return answer.reachedTip ? 0 : null;
}
