/**
 * A view's answer as people script against it: rows, as of which watermark, whether anything is known to be missing, and
 * where the next page begins.
 */
import { encodeText } from '../bytes.ts';
import { createWindowAssigner, windowSpan } from '../definition/kinds/window-kinds.ts';
import type { AggregatePlan, Plan } from '../definition/plan.ts';
import { ANSWER_BYTES_MAX, TOKEN_LENGTH_MAX } from '../limits.ts';
import { compareSequenceNumbers } from '../position.ts';
import type { WindowAssigner } from '../time/window.ts';
import { Zone } from '../time/zone.ts';
import { zonedIsoTime } from '../time/zoned-time.ts';
import { closedBefore, type IncompleteReason, incompleteReasons } from './completeness.ts';
import { type DamagedRows, damagedRows } from './damaged-rows.ts';
import { refuse } from './query-problem.ts';
import { encodeSnapshotToken, type RowPosition } from './snapshot-token.ts';
import type { Snapshot } from './snapshots.ts';
import { isoOf } from './status.ts';
import type { ViewRequest } from './view-request.ts';
import type { ViewRow } from './view-row.ts';
import type { RowPage } from './view-rows.ts';

export interface AnswerRow {
  readonly key: Readonly<Record<string, unknown>>;
  /** ISO 8601 with the zone's offset, `end` exclusive; null in a view without windows. */
  readonly window: { readonly start: string; readonly end: string } | null;
  /** The watermark of every live slice that had a record has reached the window's end. */
  readonly closed: boolean;
  /** Grows whenever the row may have changed; rows of one snapshot share it. */
  readonly revision: number;
  readonly values: Readonly<Record<string, unknown>>;
  /** Aggregates that may lack records of this row: it begins before they are whole. */
  readonly partial?: readonly string[];
  /** Aggregates whose value is not the exact result of the integers that were added. */
  readonly inexact?: readonly string[];
}

export interface ViewAnswer {
  readonly view: string;
  /** The pipeline's: times are written in it, and times of questions without offset are read in it. */
  readonly zone: string;
  readonly watermark: string | null;
  /** Slices whose shards never had a record: they hold no window open, and a first record there may still belong to any. */
  readonly exempt?: readonly string[];
  /** Slices that have folded nothing, although their shards have records: `watermark` is null until they have. */
  readonly waiting?: readonly string[];
  /** False, and there only if so: the stream did not say which shards it has, so `watermark` is null. */
  readonly listed?: false;
  /** Why the stream did not say that, or what a shard under `waiting` holds; on the first page, where it gave a reason. */
  readonly streamFault?: string;
  /**
   * Records of the pipeline that were quarantined, by all views or by some, and have not come back, purged ones too: what of
   * them belongs to these rows is not in them, whatever `complete` says. There only if there are some.
   */
  readonly quarantined?: number;
  /**
   * Nothing but late records and redrives can change the answer to this question, on whatever page; and the first record of a
   * shard under `exempt`.
   */
  readonly complete: boolean;
  /** Why it is not. There only if so. */
  readonly incomplete?: readonly IncompleteReason[];
  /**
   * Windows that were asked for and begin before this time (ISO 8601) have closed: with it as `end` they are asked for alone.
   * Null if none has, or if that is not known. Absent in a view without windows.
   */
  readonly closedBefore?: string | null;
  /**
   * By aggregate that was not there from the start of the stream: windows that begin at this time or later (ISO 8601) have
   * all of their records in it; null while a slice has not gone over to the plan that has it, and where nothing bounds the
   * times of the records before it.
   */
  readonly wholeSince?: Readonly<Record<string, string | null>>;
  readonly gaps: readonly never[];
  /** Results that cannot be read: the rows lack what they hold. */
  readonly damaged?: readonly DamagedRows[];
  /** False if a record of `after` is not in yet. There only if the question had `after`. */
  readonly reached?: boolean;
  readonly rows: readonly AnswerRow[];
  /** Null on the last page. */
  readonly next: string | null;
}

/** Throws `Refused` if there are more rows and no `next` can say so. */
export function viewAnswer(
  plan: Plan,
  request: ViewRequest,
  snapshot: Snapshot,
  page: RowPage,
  nowMs: number,
): ViewAnswer {
  const { view } = request;
  const windows = createWindowAssigner(view.window, plan.zone);
  const wholeFromMs = wholeFrom(request, snapshot);
  const begun = view.aggregates
    .map(({ name }, index) => [name, wholeFromMs[index] as number] as const)
    .filter(([, fromMs]) => fromMs > Number.NEGATIVE_INFINITY);
  const zone = new Zone(plan.zone);
  const rows: AnswerRow[] = [];
  let byteLength = 0;
  for (const row of page.rows) {
    const answered = answerRow(request, row, { windows, zone }, snapshot, wholeFromMs);
    byteLength += bytesInside(JSON.stringify(answered));
    if (rows.length > 0 && byteLength > ANSWER_BYTES_MAX) break;
    rows.push(answered);
  }
  const last = page.rows[rows.length - 1]?.position;
  const hasMore = page.hasMore || rows.length < page.rows.length;
  const isReached = hasReached(request, snapshot);
  const isDamaged = page.damaged.length > 0;
  const evidence = { windows, wholeFromMs, isReached, isDamaged };
  const incomplete = incompleteReasons(request, snapshot, evidence);
  const quarantined = quarantinedIn(snapshot);
  return {
    view: view.name,
    zone: plan.zone,
    watermark: isoOf(snapshot.watermarkMs, zone),
    ...(snapshot.exempt.length === 0 ? {} : { exempt: snapshot.exempt }),
    ...(snapshot.waiting.length === 0 ? {} : { waiting: snapshot.waiting }),
    ...(snapshot.isListed ? {} : { listed: false }),
    ...(snapshot.streamFault === null ? {} : { streamFault: snapshot.streamFault }),
    complete: incomplete.length === 0,
    ...(incomplete.length === 0 ? {} : { incomplete }),
    ...(windowSpan(view.window) === null
      ? {}
      : { closedBefore: isoOf(closedBefore(request, windows, snapshot), zone) }),
    ...(quarantined === 0 ? {} : { quarantined }),
    ...(begun.length === 0
      ? {}
      : {
          wholeSince: Object.fromEntries(
            begun.map(([name, fromMs]) => [name, isoOf(fromMs, zone)]),
          ),
        }),
    gaps: [],
    ...(isDamaged ? { damaged: page.damaged.map((each) => damagedRows(request, each, zone)) } : {}),
    ...(request.after.length === 0 ? {} : { reached: isReached }),
    rows,
    next: hasMore && last !== undefined ? nextToken(request, snapshot, last, nowMs) : null,
  };
}

/** Bytes of a JSON text as it travels from a function: as a string inside JSON, where quotes and backslashes are two. */
function bytesInside(json: string): number {
  return encodeText(json).length + (json.match(/["\\]/g)?.length ?? 0);
}

function answerRow(
  { view }: ViewRequest,
  { values, results, position }: ViewRow,
  { windows, zone }: { readonly windows: WindowAssigner; readonly zone: Zone },
  snapshot: Snapshot,
  wholeFromMs: readonly number[],
): AnswerRow {
  const names = view.aggregates.map(({ name }: AggregatePlan) => name);
  const startMs = position.windowStartMs;
  const endMs = windows.endOf(startMs);
  const inexact = names.filter((_, index) => results[index]?.exact === false);
  // A row of all time begins before everything.
  const beginsMs = windowSpan(view.window) === null ? Number.NEGATIVE_INFINITY : startMs;
  const partial = names.filter((_, index) => beginsMs < (wholeFromMs[index] as number));
  return {
    key: Object.fromEntries(view.groupBy.map(({ name }, index) => [name, values[index]])),
    window:
      windowSpan(view.window) === null
        ? null
        : { start: zonedIsoTime(startMs, zone), end: zonedIsoTime(endMs, zone) },
    closed: endMs <= (snapshot.watermarkMs ?? Number.NEGATIVE_INFINITY),
    revision: snapshot.revision,
    values: Object.fromEntries(results.map(({ value }, index) => [names[index], value])),
    ...(partial.length === 0 ? {} : { partial }),
    ...(inexact.length === 0 ? {} : { inexact }),
  };
}

/** By aggregate: from when on the windows of every slice are whole. −Infinity: from the start; Infinity: not known yet. */
function wholeFrom({ view, viewIndex }: ViewRequest, { parts }: Snapshot): number[] {
  const lives = parts.map(({ checkpoint }) => checkpoint.image.lives[viewIndex]?.columns ?? []);
  return view.aggregates.map(({ column }) => {
    const from = lives.map((columns) => columns[column]?.coveredFromMs ?? Number.POSITIVE_INFINITY);
    return Math.max(Number.NEGATIVE_INFINITY, ...from);
  });
}

function quarantinedIn({ parts }: Snapshot): number {
  return parts.reduce((sum, { checkpoint }) => {
    const { counts, partlyQuarantined } = checkpoint.image.progress;
    return sum + counts.quarantined + partlyQuarantined;
  }, 0);
}

function hasReached({ after }: ViewRequest, { parts }: Snapshot): boolean {
  return after.every(({ shardId, sequenceNumber }) => {
    const part = parts.find((each) => each.shardId === shardId);
    if (part === undefined) return false;
    const { position } = part.checkpoint.image.progress;
    return compareSequenceNumbers(position.sequenceNumber, sequenceNumber) >= 0;
  });
}

function nextToken(
  { next, questionHash }: ViewRequest,
  { parts, fingerprint, isListed }: Snapshot,
  after: RowPosition,
  nowMs: number,
): string {
  const token = encodeSnapshotToken({
    issuedMs: next?.issuedMs ?? nowMs,
    questionHash,
    after,
    fingerprint,
    isListed,
    slices: parts.map(({ pinned }) => pinned),
  });
  if (token.length <= TOKEN_LENGTH_MAX) return token;
  const what = `${parts.length} slices and a key of ${after.key.length} bytes`;
  return refuse('too-many-slices', `A next for ${what} does not fit an address.`, {
    path: 'limit',
    expected: 'a limit that takes all rows, or fewer rows by key.{field}, prefix, start and end',
    found: 'more rows than one page',
  });
}
