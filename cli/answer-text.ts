/**
 * A view's answer as a person reads it: as of when and how far it holds, the rows, and what must be known about them.
 */
import type { IncompleteReason } from '../core/query/completeness.ts';
import { countText } from './count-text.ts';
import { keyText } from './printable.ts';
import { namesOf, type StreamStanding, unknownWatermarkLines } from './slice-remarks.ts';
import { type Cell, formatTable, shortTime, TERMINAL } from './table.ts';

export interface Row {
  readonly key: Readonly<Record<string, unknown>>;
  readonly window: { readonly start: string; readonly end: string } | null;
  readonly closed: boolean;
  readonly values: Readonly<Record<string, unknown>>;
  readonly inexact?: readonly string[];
  /** Aggregates that began later than the window, and lack its earlier records. */
  readonly partial?: readonly string[];
}

/** `from` and `to` where only the rows between two places are damaged; null: the first, and the last. */
interface DamagedRows {
  readonly slice: string;
  readonly epoch: number;
  readonly from?: RowPlace | null;
  readonly to?: RowPlace | null;
}

interface RowPlace {
  readonly window: string | null;
  readonly key: Readonly<Record<string, unknown>>;
}

export interface ViewAnswer extends StreamStanding {
  readonly view: string;
  readonly watermark: string | null;
  readonly complete: boolean;
  readonly incomplete?: readonly IncompleteReason[];
  /** Absent: the view has no windows. */
  readonly closedBefore?: string | null;
  readonly quarantined?: number;
  readonly streamFault?: string;
  readonly wholeSince?: Readonly<Record<string, string | null>>;
  readonly damaged?: readonly DamagedRows[];
  /** Absent: the question had no `after`. */
  readonly reached?: boolean;
  readonly rows: readonly Row[];
  readonly next: string | null;
}

export function describeAnswer(answer: ViewAnswer): string {
  const { rows, next } = answer;
  const more = next === null ? [] : [`for the next page add to this command: --next ${next}`];
  return [headingOf(answer), tableOf(rows), ...notesOf(answer), ...more].join('\n');
}

function headingOf(answer: ViewAnswer): string {
  const { view, watermark } = answer;
  const isUnknown = unknownWatermarkLines(answer).length > 0;
  const none = isUnknown ? 'watermark not known' : 'no watermark yet';
  const asOf = watermark === null ? none : `as of watermark ${shortTime(watermark)}`;
  return `${view}: ${asOf}, ${standingOf(answer)}`;
}

/** How far the answer holds. */
function standingOf({ complete, incomplete = [], closedBefore }: ViewAnswer): string {
  if (complete) return 'complete';
  if (closedBefore === undefined) return 'goes on growing';
  if (!hasOpenWindows(incomplete)) return 'closed, but not complete';
  return closedBefore === null ? 'nothing closed yet' : `closed up to ${shortTime(closedBefore)}`;
}

function hasOpenWindows(incomplete: readonly IncompleteReason[]): boolean {
  return incomplete.includes('no-end') || incomplete.includes('open-windows');
}

function notesOf(answer: ViewAnswer): string[] {
  const { complete, incomplete = [], closedBefore, quarantined = 0, damaged, exempt } = answer;
  const notes: string[] = [];
  if (hasOpenWindows(incomplete) && typeof closedBefore === 'string') {
    notes.push(`for what has closed, ask with --end ${shortTime(closedBefore)}`);
  }
  notes.push(...wholeLines(answer));
  if (damaged !== undefined) {
    const results = damaged.map(damageText);
    notes.push(
      `stored results cannot be read, so the rows lack what they hold: ${namesOf(results)}`,
    );
  }
  if (incomplete.includes('recovering')) {
    notes.push('a slice is being recovered, and the rows lack records until it has caught up');
  }
  notes.push(...unknownWatermarkLines(answer));
  if (complete && exempt !== undefined) {
    notes.push(`no record yet: ${namesOf(exempt)}: the first one there may be of any window`);
  }
  if (quarantined > 0) {
    notes.push(
      `${countText(quarantined, 'record')} of the pipeline ${quarantined === 1 ? 'was' : 'were'} quarantined, for this view or for others; what was for this view is not in the rows (what waits: npx tidemark quarantine --summary)`,
    );
  }
  return notes;
}

function damageText({ slice, epoch, from, to }: DamagedRows): string {
  const what = `epoch ${epoch} of ${slice}`;
  if (from === undefined || to === undefined) return what;
  if (from === null && to === null) return `${what} (all that has not closed)`;
  const begin = from === null ? 'the first' : placeText(from);
  return `${what} (by window and key, rows from ${begin} ${to === null ? 'on' : `to before ${placeText(to)}`})`;
}

function placeText({ window, key }: RowPlace): string {
  const values = Object.values(key).map(keyText);
  return [...(window === null ? [] : [shortTime(window)]), ...values].join(' ');
}

/** Which aggregates lack records, and where they are whole. */
function wholeLines({
  rows,
  incomplete = [],
  closedBefore,
  wholeSince = {},
}: ViewAnswer): string[] {
  const isMarked = rows.some(({ partial }) => partial !== undefined);
  if (!isMarked && !incomplete.includes('partial')) return [];
  return Object.entries(wholeSince).map(([aggregate, since]) => {
    const lacks = `* ${aggregate} lacks the records from before it began in this view`;
    if (closedBefore === undefined) return lacks;
    const from =
      since === null
        ? 'from which window on it is whole is not known yet'
        : `it is whole in windows from ${shortTime(since)} on (--start)`;
    return `${lacks}: ${from}`;
  });
}

function tableOf(rows: readonly Row[]): string {
  const [first] = rows;
  if (first === undefined) return 'no rows';
  const keys = Object.keys(first.key);
  const values = valueColumns(first);
  const windows = first.window === null ? [] : ['window', 'closed'];
  const cells = rows.map((row): Cell[] => [
    ...keys.map((key) => keyText(row.key[key])),
    ...(row.window === null ? [] : [shortTime(row.window.start), row.closed ? 'yes' : 'no']),
    ...values.map((column) => valueCell(row, column)),
  ]);
  const headings = [...keys, ...windows, ...values.map(({ heading }) => heading)];
  return formatTable(headings, cells, TERMINAL);
}

interface ValueColumn {
  /** As `--order` takes it. */
  readonly heading: string;
  readonly aggregate: string;
  /** Of a quantile. */
  readonly rank: string | null;
}

/** A quantile has a column for each of its ranks. */
function valueColumns({ values }: Row): ValueColumn[] {
  return Object.entries(values).flatMap(([aggregate, value]): ValueColumn[] =>
    value === null || typeof value !== 'object'
      ? [{ heading: aggregate, aggregate, rank: null }]
      : Object.keys(value).map((rank) => ({ heading: `${aggregate}.${rank}`, aggregate, rank })),
  );
}

function valueCell({ values, inexact, partial }: Row, { aggregate, rank }: ValueColumn): Cell {
  const whole = values[aggregate];
  const value = rank === null ? whole : (whole as Readonly<Record<string, unknown>>)[rank];
  if (value === null || value === undefined) return null;
  if (typeof value !== 'number') return keyText(value);
  if (partial?.includes(aggregate)) return { partial: value };
  return inexact?.includes(aggregate) ? { approximately: value } : value;
}
