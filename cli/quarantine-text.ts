/**
 * The quarantine as a person reads it: a few lines for each record, so that only its id, which must be whole to be of use, may
 * be wider than the terminal; and counts by reason.
 */
import { printable } from './printable.ts';
import { cutToWidth, formatTable, shortTime, type TableOptions, TERMINAL } from './table.ts';

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
}

export interface ReasonCount {
  readonly reason: string;
  readonly count: number;
  readonly first: string;
  readonly last: string;
}

/** Where a terminal has no width. */
const WIDTH_DEFAULT = 120;

export function describePage(
  { records, next }: QuarantinePage,
  { width = WIDTH_DEFAULT }: TableOptions = TERMINAL,
): string {
  if (records.length === 0) return 'nothing in the quarantine is selected';
  const isWhole = records.every(({ data }) => data !== undefined);
  const blocks = records.map(({ reason, arrival, shardId, id, detail = '', data = '' }) => {
    const contents = [...(detail === '' ? [] : [['why', detail]]), ['data', textOf(data)]];
    return [
      `${printable(reason)}  ${shortTime(arrival)}  ${printable(shardId)}`,
      ...(isWhole ? contents : []).map(([name = '', text = '']) =>
        cutToWidth(`  ${name.padEnd(4)}  ${printable(text)}`, width),
      ),
      `  id    ${printable(id)}`,
    ].join('\n');
  });
  return [
    ...blocks,
    ...(isWhole ? [] : ['what they hold is shown by the admin URL: --admin-url']),
    ...(next === null
      ? []
      : [`more with --next ${next}`, 'counts of all, by reason: tidemark quarantine --summary']),
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

export function describeReasons(reasons: readonly ReasonCount[]): string {
  if (reasons.length === 0) return 'nothing in the quarantine is selected';
  const rows = reasons.map(({ reason, count, first, last }) => [
    reason,
    count,
    shortTime(first),
    shortTime(last),
  ]);
  const table = formatTable(['reason', 'records', 'first arrival', 'last arrival'], rows, TERMINAL);
  return `${table}\nlist some with --reason REASON`;
}

function earlier(a: string, b: string): boolean {
  return Date.parse(a) < Date.parse(b);
}

/** No terminal shows more of it in one line. */
const BYTES_SHOWN = 4_096;

function textOf(data: string): string {
  return Buffer.from(data, 'base64').subarray(0, BYTES_SHOWN).toString('utf8');
}
