/**
 * From records to the logs of a stream's shards: when each record arrives, which ones are sent twice, and the heartbeats
 * of shards that fall silent.
 */
import { windowSpan } from '../core/definition/kinds/window-kinds.ts';
import type { Plan } from '../core/definition/plan.ts';
import { hashTextHex } from '../core/hash.ts';
import { HEARTBEAT_TEXT } from '../core/state/heartbeat.ts';
import type { Random } from '../simulation/random.ts';
import type { LoggedRecord } from '../simulation/recount.ts';
import { type Delays, delayDraw } from './delays.ts';
import type { TimedRecord } from './timed-records.ts';

/** Producers that had no answer, and sent again. */
export interface Retries {
  /** Of records that are sent twice, from 0 to 1. */
  readonly share: number;
  /** From the first copy's arrival to the second's. */
  readonly after: Delays;
}

export interface ArrivalOptions {
  readonly shards: number;
  /** Undefined: records arrive in the order in which they stand. */
  readonly delays: Delays | undefined;
  readonly retries: Retries | null;
  /** Of each record's arrival, where the caller knows it. */
  readonly arrivalOf?: (index: number) => number;
}

export interface ShardLog {
  readonly shardId: string;
  readonly records: readonly ArrivedRecord[];
}

export interface ArrivedRecord extends LoggedRecord {
  /** Which of the records this is; −1 for a heartbeat. */
  readonly index: number;
  /** Its own time after its arrival; negative for all but producers whose clock is ahead. */
  readonly aheadMs: number;
}

type Arrival = Omit<ArrivedRecord, 'sequenceNumber' | 'subSequence'>;

/** Where nothing says what time it is. */
const START_MS = Date.UTC(2026, 0, 1);
const STEP_MS = 1_000;
/** As Kinesis's are: long, and with gaps. */
const FIRST_SEQUENCE_NUMBER = 10n ** 55n;
const SEQUENCE_STEP = 17n;
const HEX_DIGITS = 12;

export function shardLogs(
  plan: Plan,
  records: readonly TimedRecord[],
  options: ArrivalOptions,
  random: Random,
): ShardLog[] {
  const arrivals = arrivalsOf(records, options, random);
  const lastMs = arrivals.at(-1)?.arrivalMs ?? START_MS;
  const byShard: Arrival[][] = Array.from({ length: options.shards }, () => []);
  for (const arrival of arrivals)
    byShard[shardOf(arrival.partitionKey, options.shards)]?.push(arrival);
  return byShard.map((own, shard) => ({
    shardId: `shardId-${String(shard).padStart(12, '0')}`,
    records: withHeartbeats(plan, own, lastMs).map((arrival, place) => ({
      ...arrival,
      sequenceNumber: String(FIRST_SEQUENCE_NUMBER + BigInt(place) * SEQUENCE_STEP),
      subSequence: 0,
    })),
  }));
}

/** All arrivals in order, those of one moment as they stand in the input. */
function arrivalsOf(
  records: readonly TimedRecord[],
  { delays, retries, arrivalOf }: ArrivalOptions,
  random: Random,
): Arrival[] {
  const draw = () => random.fraction();
  const delayOf = delays === undefined ? null : delayDraw(delays);
  const retryDelayOf = retries === null ? null : delayDraw(retries.after);
  const arrivals: Arrival[] = [];
  let newestMs = Number.NEGATIVE_INFINITY;
  for (const { index, timeMs, data, partitionKey } of records) {
    const ownMs = timeMs ?? (newestMs === Number.NEGATIVE_INFINITY ? START_MS : newestMs + STEP_MS);
    newestMs = Math.max(newestMs, ownMs);
    const arrivalMs = Math.round(
      arrivalOf?.(index) ?? (delayOf === null ? newestMs : ownMs + delayOf(draw)),
    );
    const arrival = { arrivalMs, partitionKey, data, index, aheadMs: ownMs - arrivalMs };
    arrivals.push(arrival);
    if (retries === null || retryDelayOf === null || !random.chance(retries.share)) continue;
    const againMs = Math.round(arrivalMs + Math.max(0, retryDelayOf(draw)));
    arrivals.push({ ...arrival, arrivalMs: againMs, aheadMs: ownMs - againMs });
  }
  return arrivals.sort((a, b) => a.arrivalMs - b.arrivalMs || a.index - b.index);
}

/** By the partition key's hash, in equal ranges, as a stream of so many shards begins. */
function shardOf(partitionKey: string, shards: number): number {
  const hash = Number.parseInt(hashTextHex(partitionKey).slice(0, HEX_DIGITS), 16);
  return Math.min(shards - 1, Math.floor((hash / 16 ** HEX_DIGITS) * shards));
}

/**
 * Where the pipeline has `time.idle`: some before each record that ends a silence, and after everything. The last of them
 * counts, as the others confirm it.
 */
function withHeartbeats(plan: Plan, arrivals: readonly Arrival[], lastMs: number): Arrival[] {
  const { idleMs, latenessMs, views } = plan;
  if (idleMs === null) return [...arrivals];
  const data = Buffer.from(HEARTBEAT_TEXT);
  const heartbeats = (lastArrivalMs: number): Arrival[] =>
    [idleMs / 2, idleMs / 4, 0].map((beforeMs) => ({
      arrivalMs: Math.floor(lastArrivalMs - beforeMs),
      partitionKey: '-',
      data,
      index: -1,
      aheadMs: 0,
    }));
  const all: Arrival[] = [];
  for (const [place, arrival] of arrivals.entries()) {
    const before = arrivals[place - 1];
    const isSilent = before !== undefined && arrival.arrivalMs - before.arrivalMs > idleMs;
    if (isSilent) all.push(...heartbeats(arrival.arrivalMs - 1));
    all.push(arrival);
  }
  const sizes = views.map(({ window }) => windowSpan(window)?.lengthMs ?? 0);
  return [...all, ...heartbeats(lastMs + idleMs + latenessMs + 2 * Math.max(...sizes))];
}
