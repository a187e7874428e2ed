/**
 * The quarantine as a person reads it: a few lines for each record, so that only its id, which must be whole to be of use, may
 * be wider than the terminal; and counts by reason.
 */
import type { DamagedRun } from '../core/query/damaged-runs.ts';
import { printable } from './printable.ts';
import {
  cutToWidth,
  formatTable,
  numberText,
  shortTime,
  type TableOptions,
  TERMINAL,
} from './table.ts';

export interface QuarantinePage {
  readonly records: readonly {
    readonly id: string;
    readonly shardId: string;
    readonly reason: string;
    readonly arrival: string;
    /** On the admin side alone, with the partition key. */
    readonly detail?: string;
    /** Base64; on the admin side alone. */
    readonly data?: string;
  }[];
  readonly next: string | null;
  readonly damaged?: readonly DamagedRun[];
}

export interface ReasonCount {
  readonly reason: string;
  readonly count: number;
  readonly first: string;
  readonly last: string;
}

export function describePage(
  { records, next, damaged }: QuarantinePage,
  { width }: TableOptions = TERMINAL,
): string {
  if (records.length === 0) return [NOTHING, ...damageLines(damaged)].join('\n');
  const isWhole = records.every(({ data }) => data !== undefined);
  const blocks = records.map(({ reason, arrival, shardId, id, detail = '', data = '' }) => {
    const contents = [...(detail === '' ? [] : [['why', detail]]), ['data', textOf(data)]];
    return [
      `${printable(reason)}  ${shortTime(arrival)}  ${printable(shardId)}`,
      ...(isWhole ? contents : []).map(([name = '', text = '']) =>
        fitted(`  ${name.padEnd(4)}  ${printable(text)}`, width),
      ),
      `  id    ${printable(id)}`,
    ].join('\n');
  });
  return [
    ...blocks,
    ...damageLines(damaged),
    ...(isWhole ? [] : ['what they hold is shown by the admin URL: --admin-url']),
    ...(next === null
      ? []
      : [
          `more with --next ${next}`,
          'counts of all, by reason: npx tidemark quarantine --summary',
        ]),
  ].join('\n');
}

/** Sums of several answers, the most frequent reason first. */
export function addReasons(pages: readonly (readonly ReasonCount[])[]): ReasonCount[] {
  const sums = new Map<string, ReasonCount>();
  for (const each of pages.flat()) {
    const before = sums.get(each.reason) ?? { ...each, count: 0 };
    sums.set(each.reason, {
      reason: each.reason,
      count: before.count + each.count,
      first: earlier(before.first, each.first) ? before.first : each.first,
      last: earlier(before.last, each.last) ? each.last : before.last,
    });
  }
  return [...sums.values()].sort((a, b) => b.count - a.count);
}

export function describeReasons(
  reasons: readonly ReasonCount[],
  damaged: readonly DamagedRun[] = [],
): string {
  if (reasons.length === 0) return [NOTHING, ...damageLines(damaged)].join('\n');
  const rows = reasons.map(({ reason, count, first, last }) => [
    reason,
    count,
    shortTime(first),
    shortTime(last),
  ]);
  const table = formatTable(['reason', 'records', 'first arrival', 'last arrival'], rows, TERMINAL);
  return [table, ...damageLines(damaged), 'list some with --reason REASON'].join('\n');
}

const NOTHING = 'nothing in the quarantine is selected';

export function damageLines(damaged: readonly DamagedRun[] = []): string[] {
  if (damaged.length === 0) return [];
  const runs = damaged.map(({ slice, epoch }) => `${printable(slice)} epoch ${epoch}`).join(', ');
  return [
    `warning: results cannot be read: ${runs}. Records that were redriven already may be among these`,
  ];
}

function earlier(a: string, b: string): boolean {
  return Date.parse(a) < Date.parse(b);
}

/** What does not go to a terminal is not cut. */
function fitted(line: string, width: number | undefined): string {
  return width === undefined ? line : cutToWidth(line, width);
}

/** A record may have 1 MiB. */
const BYTES_SHOWN = 4_096;

function textOf(data: string): string {
  const bytes = Buffer.from(data, 'base64');
  const text = bytes.subarray(0, BYTES_SHOWN).toString('utf8');
  const rest = bytes.length - BYTES_SHOWN;
  return rest > 0 ? `${text}… and ${numberText(rest)} bytes more: --json has them` : text;
}
