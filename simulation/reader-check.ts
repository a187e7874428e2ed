/**
 * What a reader's answers must be: of each slice exactly one epoch that was current while the question was asked, and all that
 * an answer says of itself true of those epochs.
 */
import type { Head } from '../core/checkpoint/head.ts';
import type { Plan, ViewPlan } from '../core/definition/plan.ts';
import type { IncompleteReason } from '../core/query/completeness.ts';
import type { AnswerRow, ViewAnswer } from '../core/query/view-answer.ts';
import { type Auditor, differenceOfView, type FoundRows } from './auditor.ts';
import { hasReached, type Question, spanOf } from './question.ts';
import { mergeRecounts, recountShard, rowId } from './recount.ts';
import { calendarOf, windowAt } from './recount-time.ts';
import type { SimShard } from './sim-stream.ts';

/** One HEAD of each slice. */
type Epochs = readonly Head[];

const COMBINATIONS_MAX = 64;

/** Every choice of one HEAD a slice, out of those that the reader saw. */
export function combinationsOf(seen: ReadonlyMap<string, readonly Head[]>): Epochs[] {
  let combinations: Epochs[] = [[]];
  for (const heads of seen.values()) {
    const longer = combinations.flatMap((epochs) => heads.map((head) => [...epochs, head]));
    combinations = longer.slice(-COMBINATIONS_MAX);
  }
  return combinations;
}

/** An answer, and what it is an answer to. */
export interface Answered {
  readonly plan: Plan;
  readonly view: ViewPlan;
  readonly question: Question;
  readonly pages: readonly ViewAnswer[];
  /** What the stream held when the question was asked. */
  readonly standing: readonly ShardStanding[];
}

export interface ShardStanding {
  readonly shard: SimShard;
  readonly records: number;
}

/** Null if all pages of an answer are right for one of the combinations; else what differs from the last. */
export function differenceOfAnswer(
  answered: Answered,
  combinations: readonly Epochs[],
  auditor: Auditor,
): string | null {
  let difference: string | null = 'no epochs were seen';
  for (const epochs of combinations) {
    difference = differenceAt(answered, epochs, auditor);
    if (difference === null) return null;
  }
  const seen = combinations.at(-1)?.map(({ sliceId, epoch }) => `${sliceId}@${epoch}`);
  return `${difference} (epochs ${seen?.join(', ')})`;
}

function differenceAt(answered: Answered, epochs: Epochs, auditor: Auditor): string | null {
  const { plan, view, question, pages } = answered;
  const recounts = epochs.map((head) => auditor.recountAt(head));
  const rows = pages.flatMap((page) => page.rows);
  const revision = epochs.reduce((sum, { epoch }) => sum + epoch, 0);
  const wrongRevision = rows.find((row) => row.revision !== revision);
  if (wrongRevision !== undefined) return `revision ${wrongRevision.revision}, not ${revision}`;
  const found = rowsOf(view, rows);
  // An answer that names what it could not read lacks it; ordered by value, its rows move between pages then.
  const isWhole = pages.every(({ damaged }) => damaged === undefined);
  if (isWhole && found.size !== rows.length) return 'a row was answered twice';
  const all = mergeRecounts(plan, recounts).get(view.name);
  const expected = new Map([...(all ?? [])].filter(([, row]) => question.selects(row)));
  const difference = isWhole ? differenceOfView(view, expected, found) : null;
  if (difference !== null) return difference;
  const known = recounts
    .filter((_, index) => epochs[index]?.status !== 'SEALED')
    .map(({ watermarkMs }) => watermarkMs)
    .filter((watermarkMs) => watermarkMs > Number.NEGATIVE_INFINITY);
  const lowestMs = known.length === 0 ? null : Math.min(...known);
  const begun = recounts.filter((_, index) => epochs[index]?.digest.count !== 0);
  const wholeFromMs = view.aggregates.map((_, index) => {
    const from = begun.map((recount) => recount.seenBy(plan).get(view.name)?.wholeFromMs[index]);
    return Math.max(Number.NEGATIVE_INFINITY, ...from.map((ms) => ms ?? Number.POSITIVE_INFINITY));
  });
  const { firstStartMs, lastEndMs } = spanOf(question, view, plan.zone);
  const reached = question.after.length === 0 ? undefined : hasReached(question, epochs);
  for (const page of pages) {
    const wrong =
      untruthOf(page, lowestMs, epochs) ?? claimOf(page, view, wholeFromMs, begun.length);
    if (wrong !== null) return wrong;
    if (page.reached !== reached) return `reached: ${page.reached}, not ${reached}`;
    const isWindowed = view.window.kind !== 'all';
    const unnamed = unnamedReason(page, {
      'no-windows': !isWindowed,
      'no-end': isWindowed && !Number.isFinite(lastEndMs),
      'open-windows':
        isWindowed && Number.isFinite(lastEndMs) && lastEndMs > (lowestMs ?? -Infinity),
      'not-reached': reached === false,
      partial: wholeFromMs.some((fromMs) => firstStartMs < fromMs),
      damaged: page.damaged !== undefined,
      recovering: epochs.some(({ status }) => status !== 'OPEN' && status !== 'SEALED'),
      waiting: page.waiting !== undefined,
      'not-listed': page.listed === false,
    });
    if (unnamed !== null) return unnamed;
    const claim = closedClaimOf(page, view, lowestMs, firstStartMs, plan.zone);
    if (claim !== null) return claim;
  }
  return lowestMs === null ? null : openRecordOf(answered, epochs);
}

/** Whatever keeps an answer from being complete must be named by it. */
function unnamedReason(
  { complete, incomplete = [], rows }: ViewAnswer,
  reasons: Readonly<Record<IncompleteReason, boolean>>,
): string | null {
  if (complete !== (incomplete.length === 0)) return `complete: ${complete}, but ${incomplete}`;
  for (const [reason, holds] of Object.entries(reasons)) {
    if (holds && !incomplete.includes(reason as IncompleteReason)) {
      return `complete: ${complete}, and does not say that it is '${reason}'`;
    }
  }
  const isOpen = complete && rows.some(({ closed }) => !closed);
  return isOpen ? 'complete, with a window that is not closed' : null;
}

/** What an answer says of which windows have closed, if that is not so. */
function closedClaimOf(
  { closedBefore, watermark }: ViewAnswer,
  view: ViewPlan,
  lowestMs: number | null,
  firstStartMs: number,
  zone: string,
): string | null {
  let expected: number | null | undefined = null;
  if (view.window.kind === 'all') expected = undefined;
  else if (watermark !== null && lowestMs !== null) {
    const { startMs } = windowAt(view.window, calendarOf(zone), lowestMs);
    expected = startMs > firstStartMs ? startMs : null;
  }
  const said = typeof closedBefore === 'string' ? Date.parse(closedBefore) : closedBefore;
  return said === expected ? null : `closed before ${closedBefore}, not ${expected}`;
}

/**
 * A record that was in the stream when the question was asked, in a shard of which nothing is folded yet, with a slice or without, and that will fold
 * into a window which the answer's watermark calls closed. A shard whose slice has a watermark can have none: a record
 * before that is late.
 */
function openRecordOf({ plan, view, pages, standing }: Answered, epochs: Epochs): string | null {
  const { watermark } = pages[0] as ViewAnswer;
  if (watermark === null || view.window.kind === 'all') return null;
  const watermarkMs = Date.parse(watermark);
  for (const { shard, records } of standing) {
    const epoch = epochs.find(({ shardId }) => shardId === shard.id);
    if (epoch !== undefined && epoch.digest.count > 0) continue;
    let found: string | null = null;
    recountShard(plan, shard.log.slice(shard.trimmed, records), [], {
      observe: ({ record, outcome, judged, lateFor }) => {
        if (outcome !== 'folded' || judged === null || lateFor.includes(view)) return;
        if (view.category !== null && view.category !== judged.category) return;
        const { endMs } = windowAt(view.window, calendarOf(plan.zone), judged.timeMs);
        if (endMs <= watermarkMs) found ??= record.sequenceNumber;
      },
    });
    if (found !== null) {
      return `its watermark is ${watermark}, but record ${found} of ${shard.id}, which has folded nothing, belongs before it`;
    }
  }
  return null;
}

/** What an answer claims of aggregates that were not there from the start, and may not. */
function claimOf(
  { wholeSince = {}, rows }: ViewAnswer,
  view: ViewPlan,
  wholeFromMs: readonly number[],
  begunCount: number,
): string | null {
  for (const [index, { name }] of view.aggregates.entries()) {
    const fromMs = wholeFromMs[index] as number;
    if (fromMs === Number.NEGATIVE_INFINITY) continue;
    const expected = Number.isFinite(fromMs) ? fromMs : null;
    const said = wholeSince[name] ?? null;
    // A slice that has no record yet may not have gone over.
    const isSaid =
      name in wholeSince && [expected, null].includes(said === null ? null : Date.parse(said));
    if (!isSaid) return `'${name}' is whole since ${wholeSince[name]}, not ${expected}`;
    const silent = rows.find(({ window, partial = [] }) => {
      return (window === null || Date.parse(window.start) < fromMs) && !partial.includes(name);
    });
    if (silent !== undefined) return `a row of ${silent.window?.start} is whole in '${name}'`;
  }
  const isSilent = begunCount > 0 && wholeFromMs.every((ms) => ms === Number.NEGATIVE_INFINITY);
  const claimed = isSilent ? rows.find(({ partial }) => partial !== undefined) : undefined;
  const mayWait = Object.values(wholeSince).includes(null);
  return claimed === undefined || mayWait ? null : `a row is partial in ${claimed.partial}`;
}

/** An answer may know less than it could; it must not claim more. */
function untruthOf(
  { watermark, rows, zone, waiting, listed }: ViewAnswer,
  lowestMs: number | null,
  epochs: Epochs,
): string | null {
  const isIdle = epochs.some(({ digest }) => digest.count === 0);
  const watermarkMs = watermark === null ? null : Date.parse(watermark);
  const isExplained = isIdle || waiting !== undefined || listed === false;
  const mayBeUnknown = watermark === null && isExplained;
  if (watermarkMs !== lowestMs && !mayBeUnknown) return `watermark ${watermark}, not ${lowestMs}`;
  const misread = [watermark, ...rows.flatMap(({ window }) => [window?.start, window?.end])].find(
    (text) => typeof text === 'string' && !isOfZone(text, zone),
  );
  if (misread !== undefined) return `${misread} is no time as ${zone} writes it`;
  for (const row of rows) {
    const endMs = row.window === null ? null : Date.parse(row.window.end);
    const hasPassed = endMs !== null && watermark !== null && endMs <= Date.parse(watermark);
    if (row.closed !== hasPassed) return `a row is closed: ${row.closed}, at ${watermark}`;
  }
  return null;
}

/** The clock that the text shows is the zone's at that instant, to the minute. */
function isOfZone(text: string, zone: string): boolean {
  const shownMs = Date.parse(`${text.slice(0, 'yyyy-mm-ddThh:mm:ss.sss'.length)}Z`);
  const localMs = calendarOf(zone).localAt(Date.parse(text));
  return Math.abs(shownMs - localMs) < 60_000;
}

/** Records of the epochs that wait in the quarantine, each with its reason. */
export function waitingOf(epochs: Epochs, auditor: Auditor): Map<string, string> {
  const waiting = new Map<string, string>();
  for (const head of epochs) {
    const { quarantined, redriven } = auditor.recountAt(head);
    for (const [id, reason] of quarantined) {
      const outcome = redriven.get(id) ?? 'quarantined';
      if (outcome === 'quarantined') waiting.set(`${head.shardId} ${id}`, reason);
    }
  }
  return waiting;
}

function rowsOf(view: ViewPlan, rows: readonly AnswerRow[]): FoundRows {
  return new Map(
    rows.map(({ key, window, values }) => {
      const groupKey = view.groupBy.map(
        ({ name }) => key[name] as string | number | boolean | null,
      );
      const startMs = window === null ? null : Date.parse(window.start);
      return [rowId(groupKey, startMs), { values: { ...values } }];
    }),
  );
}
