import { Command } from 'commander';
import { countText } from '../count-text.ts';
import {
  awsOption,
  collect,
  jsonOption,
  queryUrlOption,
  regionOption,
  wholeNumber,
} from '../option-values.ts';
import { keyText, printable, printableJson } from '../printable.ts';
import { callQueryApi } from '../query-client.ts';
import { type PlaceOptions, queryPlace } from '../query-place.ts';
import { type Cell, formatTable, shortTime, TERMINAL } from '../table.ts';
import { UsageError } from '../usage-error.ts';

interface QueryOptions extends PlaceOptions {
  readonly key?: string[];
  readonly after?: string[];
  readonly start?: string;
  readonly end?: string;
  readonly prefix?: string;
  readonly order?: string;
  readonly limit?: number;
  readonly next?: string;
  readonly json?: boolean;
}

interface Row {
  readonly key: Readonly<Record<string, unknown>>;
  readonly window: { readonly start: string; readonly end: string } | null;
  readonly closed: boolean;
  readonly values: Readonly<Record<string, unknown>>;
  readonly inexact?: readonly string[];
  /** Aggregates that began later than the window, and lack its earlier records. */
  readonly partial?: readonly string[];
}

interface ViewAnswer {
  readonly view: string;
  readonly watermark: string | null;
  readonly complete: boolean;
  readonly quarantined?: number;
  readonly streamFault?: string;
  readonly wholeSince?: Readonly<Record<string, string | null>>;
  readonly reached: boolean;
  readonly rows: readonly Row[];
  readonly next: string | null;
}

export function queryCommand(): Command {
  return new Command('query')
    .description('rows of a view; without a view, the list of views')
    .argument('[view]', 'the name of a view')
    .option(
      '--key <field=value>',
      'rows with this value only, as text or as a number; "7" in quotes is the text, [7] the number; may repeat',
      collect,
    )
    .option(
      '--start <time>',
      "windows from this time on (ISO 8601; without an offset in the pipeline's zone)",
    )
    .option('--end <time>', 'windows before this time')
    .option('--prefix <text>', 'rows whose key begins with this text')
    .option('--order <aggregate>', 'by an aggregate; -NAME for the largest first')
    .option('--limit <n>', 'rows of one answer, up to 10,000 (default 100)', wholeNumber(1, 10_000))
    .option('--next <token>', 'go on where an answer ended')
    .option('--after <shard:sequence>', 'wait until this record is in; may repeat', collect)
    .addOption(queryUrlOption())
    .addOption(awsOption())
    .addOption(regionOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Examples:
  a day:                          npx tidemark query VIEW --start 2026-11-30 --end 2026-12-01
  the 20 largest, page by page:   npx tidemark query VIEW --order -AGGREGATE --limit 20
                                  and for the next page the same with --next TOKEN`,
    )
    .action(async (view: string | undefined, options: QueryOptions) => {
      if (view === undefined && options.next !== undefined) {
        throw new UsageError('--next goes on with a view: name the view and its other options too');
      }
      if (view === undefined) await listViews(options);
      else await queryView(view, options);
    });
}

async function listViews(options: QueryOptions): Promise<void> {
  interface View {
    readonly name: string;
    readonly groupBy: readonly string[];
    readonly aggregates: object;
  }
  const answer = await callQueryApi<{ views: readonly View[] }>(queryPlace(options), '/v1/views');
  if (options.json) {
    console.log(printableJson(answer, 2));
    return;
  }
  const rows = answer.views.map(({ name, groupBy, aggregates }) => [
    name,
    groupBy.join(', '),
    Object.keys(aggregates).join(', '),
  ]);
  console.log(formatTable(['view', 'group by', 'aggregates'], rows, TERMINAL));
}

async function queryView(view: string, options: QueryOptions): Promise<void> {
  const path = `/v1/views/${encodeURIComponent(view)}?${searchOf(options)}`;
  const answer = await callQueryApi<ViewAnswer>(queryPlace(options), path);
  console.log(options.json ? printableJson(answer, 2) : describeAnswer(answer));
  if (!answer.reached) {
    console.error('warning: the records of --after were not in yet when the answer was due');
  }
  if (answer.streamFault !== undefined && !options.json) {
    console.error(
      `warning: not complete, since the stream does not answer: ${printable(answer.streamFault)}`,
    );
  }
}

function searchOf(options: QueryOptions): URLSearchParams {
  const search = new URLSearchParams();
  for (const pair of options.key ?? []) {
    const equals = pair.indexOf('=');
    if (equals <= 0) throw new UsageError(`--key ${pair}: expected FIELD=VALUE`);
    search.append(`key.${pair.slice(0, equals)}`, pair.slice(equals + 1));
  }
  for (const after of options.after ?? []) search.append('after', after);
  for (const name of ['start', 'end', 'prefix', 'order', 'limit', 'next'] as const) {
    const value = options[name];
    if (value !== undefined) search.set(name, String(value));
  }
  return search;
}

function describeAnswer(answer: ViewAnswer): string {
  const [first] = answer.rows;
  const state = answer.complete ? 'complete' : 'not complete yet';
  const watermark = answer.watermark === null ? 'none' : shortTime(answer.watermark);
  const heading = `${answer.view}: as of watermark ${watermark}, ${state}${besides(answer)}`;
  if (first === undefined) return `${heading}\nno rows`;
  const keys = Object.keys(first.key);
  const values = valueColumns(first);
  const windows = first.window === null ? [] : ['window', 'closed'];
  const rows = answer.rows.map((row): Cell[] => [
    ...keys.map((key) => keyText(row.key[key])),
    ...(row.window === null ? [] : [shortTime(row.window.start), row.closed ? 'yes' : 'no']),
    ...values.map((column) => valueCell(row, column)),
  ]);
  const headings = [...keys, ...windows, ...values.map(({ heading }) => heading)];
  const table = formatTable(headings, rows, TERMINAL);
  const more =
    answer.next === null ? [] : [`for the next page add to this command: --next ${answer.next}`];
  return [heading, table, ...wholeLines(answer), ...more].join('\n');
}

function besides({ quarantined = 0 }: ViewAnswer): string {
  if (quarantined === 0) return '';
  return `, without what ${countText(quarantined, 'record')} in the quarantine would add`;
}

/** What the marks of partial values mean. */
export function wholeLines({
  rows,
  wholeSince = {},
}: Pick<ViewAnswer, 'rows' | 'wholeSince'>): string[] {
  if (!rows.some(({ partial }) => partial !== undefined)) return [];
  const hasWindows = rows.some(({ window }) => window !== null);
  return Object.entries(wholeSince).map(([aggregate, since]) => {
    if (!hasWindows) return `* ${aggregate} lacks the records from before it began in this view`;
    const from =
      since === null
        ? 'from which window on it is whole is not known yet'
        : `it is whole in windows from ${shortTime(since)} on`;
    return `* ${aggregate} lacks the records from before it began in this view: ${from}`;
  });
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
