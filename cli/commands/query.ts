import { Command } from 'commander';
import { describeAnswer, type ViewAnswer } from '../answer-text.ts';
import {
  awsOption,
  collect,
  jsonOption,
  queryUrlOption,
  regionOption,
  wholeNumber,
} from '../option-values.ts';
import { printable, printableJson } from '../printable.ts';
import { callQueryApi } from '../query-client.ts';
import { type PlaceOptions, queryPlace } from '../query-place.ts';
import { formatTable, TERMINAL } from '../table.ts';
import { UsageError } from '../usage-error.ts';

/** The answer is what it is said to be, but the records of `--after` are not in it. */
const EXIT_NOT_REACHED = 3;

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
    .option('--end <time>', 'windows that begin before this time')
    .option('--prefix <text>', 'rows whose key begins with this text')
    .option('--order <aggregate>', 'by an aggregate; -NAME for the largest first')
    .option('--limit <n>', 'rows of one answer, up to 10,000 (default 100)', wholeNumber(1, 10_000))
    .option('--next <token>', 'go on where an answer ended')
    .option(
      '--after <shard:sequence>',
      'wait until this record is in, for 10 s at most (exit code 3: it is not); may repeat',
      collect,
    )
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
  if (answer.streamFault !== undefined && !options.json) {
    console.error(`warning: the stream does not answer: ${printable(answer.streamFault)}`);
  }
  if (answer.reached === false) {
    console.error('warning: the records of --after were not in yet when the answer was due');
    process.exitCode = EXIT_NOT_REACHED;
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
