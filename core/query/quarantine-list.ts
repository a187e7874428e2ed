/**
 * The quarantine as it is asked for: records whole, page by page, or how many wait for each reason.
 */
import {
  QUARANTINE_ANSWER_BYTES_MAX,
  QUARANTINE_LIMIT_DEFAULT,
  QUARANTINE_LIMIT_MAX,
  QUARANTINE_SUMMARY_RECORDS_MAX,
} from '../limits.ts';
import { type QuarantinedRecord, type QuarantineSelection, quarantineId } from '../ports.ts';
import type { Zone } from '../time/zone.ts';
import { zonedIsoTime } from '../time/zoned-time.ts';
import { toBase64 } from './base64.ts';
import { type DamagedRun, DamagedRuns } from './damaged-runs.ts';
import { type QueryParameters, readLimit, readTime } from './parameter-values.ts';
import { nextOfChoice, readReason } from './quarantine-body.ts';
import { type Asked, asked, refuse, refuseRepeated, refuseUnknown } from './query-problem.ts';
import { openToken } from './token.ts';
import {
  type QuarantineSources,
  quarantinedPlaces,
  quarantinedRecords,
} from './waiting-records.ts';

export interface QuarantineRequest {
  /** The id after which to go on. */
  readonly after: string | null;
  readonly selection: QuarantineSelection;
  readonly limit: number;
  /** Counts by reason are asked for, instead of records. */
  readonly isSummary: boolean;
}

export interface ListedRecord {
  readonly id: string;
  readonly shardId: string;
  readonly sequenceNumber: string;
  readonly subSequence: number;
  readonly reason: string;
  readonly detail: string;
  /** ISO 8601 with the pipeline's offset. */
  readonly arrival: string;
  readonly partitionKey: string;
  /** The producer's bytes, base64. */
  readonly data: string;
}

export interface QuarantineList {
  readonly records: readonly ListedRecord[];
  readonly next: string | null;
  /** Runs that cannot be read: what they say of a record is not known, and records that came back may be listed. */
  readonly damaged?: readonly DamagedRun[];
}

const SELECTING = ['reason', 'from', 'to', 'next'];
const PARAMETERS = [...SELECTING, 'limit', 'summary'];

/** Times without offset are times of `zone`. */
export function parseQuarantineRequest(
  parameters: QueryParameters,
  zone: string,
): Asked<QuarantineRequest> {
  return asked(() => {
    const single = new Map<string, string>();
    const isSummary = parameters.some(([name]) => name === 'summary');
    const known = isSummary ? [...SELECTING, 'summary'] : PARAMETERS;
    for (const [name, value] of parameters) {
      if (!known.includes(name)) refuseUnknown(name, known);
      if (single.has(name)) refuseRepeated(name, value);
      single.set(name, value);
    }
    const given = <T>(name: string, read: (text: string) => T): T | null => {
      const text = single.get(name);
      return text === undefined ? null : read(text);
    };
    given('summary', refuseOtherSummary);
    return {
      after: given('next', readAfter),
      selection: {
        reason: given('reason', readReason),
        fromMs: given('from', (text) => readTime('from', text, zone)),
        toMs: given('to', (text) => readTime('to', text, zone)),
      },
      limit:
        given('limit', (text) => readLimit(text, QUARANTINE_LIMIT_MAX)) ?? QUARANTINE_LIMIT_DEFAULT,
      isSummary,
    };
  });
}

function refuseOtherSummary(text: string): void {
  if (text === 'reason') return;
  refuse('wrong-summary', 'Records are counted by their reason only.', {
    path: 'summary',
    expected: 'reason',
    found: text,
  });
}

function readAfter(text: string): string {
  return (
    openToken(text, (reader) => reader.string()) ??
    refuse('wrong-next', 'next is not what an answer gave.', {
      path: 'next',
      expected: 'the whole next of an earlier answer',
      found: text.length > 40 ? `${text.slice(0, 40)}…` : text,
    })
  );
}

export async function listQuarantine(
  { after, selection, limit }: Pick<QuarantineRequest, 'after' | 'selection' | 'limit'>,
  sources: QuarantineSources,
  zone: Zone,
): Promise<QuarantineList> {
  const records: ListedRecord[] = [];
  const damage = new DamagedRuns();
  const answer = (next: string | null) => ({ records, next, ...damage.told() });
  let byteLength = 0;
  for await (const record of quarantinedRecords(after, selection, sources, damage.note)) {
    const isFull =
      records.length === limit ||
      (records.length > 0 && byteLength + record.data.length > QUARANTINE_ANSWER_BYTES_MAX);
    if (isFull) return answer(nextOfChoice((records.at(-1) as ListedRecord).id));
    byteLength += record.data.length;
    records.push(listed(record, zone));
  }
  return answer(null);
}

export interface ReasonCount {
  readonly reason: string;
  readonly count: number;
  /** The first and the last arrival of them: ISO 8601 with the pipeline's offset. */
  readonly first: string;
  readonly last: string;
}

export interface QuarantineSummary {
  /** The most frequent first. */
  readonly reasons: readonly ReasonCount[];
  /** There are more records than one answer counts: the next one goes on there. */
  readonly next: string | null;
  /** Runs that cannot be read: what they say of a record is not known, and records that came back may be counted. */
  readonly damaged?: readonly DamagedRun[];
}

/** How many records wait for which reason. */
export async function summarizeQuarantine(
  { after, selection }: Pick<QuarantineRequest, 'after' | 'selection'>,
  sources: QuarantineSources,
  zone: Zone,
  countMax = QUARANTINE_SUMMARY_RECORDS_MAX,
): Promise<QuarantineSummary> {
  const counts = new Map<string, { count: number; firstMs: number; lastMs: number }>();
  let counted = 0;
  let last: string | null = null;
  let next: string | null = null;
  const damage = new DamagedRuns();
  for await (const place of quarantinedPlaces(after, selection, sources, damage.note)) {
    if (counted === countMax) {
      next = nextOfChoice(last as string);
      break;
    }
    counted++;
    last = quarantineId(place);
    const { reason, arrivalMs } = place;
    const before = counts.get(reason) ?? { count: 0, firstMs: arrivalMs, lastMs: arrivalMs };
    counts.set(reason, {
      count: before.count + 1,
      firstMs: Math.min(before.firstMs, arrivalMs),
      lastMs: Math.max(before.lastMs, arrivalMs),
    });
  }
  const reasons = [...counts].map(([reason, { count, firstMs, lastMs }]) => {
    return { reason, count, first: zonedIsoTime(firstMs, zone), last: zonedIsoTime(lastMs, zone) };
  });
  return { reasons: reasons.sort((a, b) => b.count - a.count), next, ...damage.told() };
}

function listed(record: QuarantinedRecord, zone: Zone): ListedRecord {
  return {
    id: quarantineId(record),
    shardId: record.shardId,
    sequenceNumber: record.sequenceNumber,
    subSequence: record.subSequence,
    reason: record.reason,
    detail: record.detail,
    arrival: zonedIsoTime(record.arrivalMs, zone),
    partitionKey: record.partitionKey,
    data: toBase64(record.data),
  };
}
