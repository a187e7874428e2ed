import { Command } from 'commander';
import { QUARANTINE_LIMIT_DEFAULT, QUARANTINE_LIMIT_MAX } from '../../core/limits.ts';
import { type DamagedRun, DamagedRuns } from '../../core/query/damaged-runs.ts';
import { wholeNumber } from '../option-values.ts';
import { printableJson } from '../printable.ts';
import {
  addReasons,
  damageLines,
  describePage,
  describeReasons,
  type QuarantinePage,
  type ReasonCount,
} from '../quarantine-text.ts';
import { callQueryApi } from '../query-client.ts';
import { adminPlace, isLoopback, type QueryPlace, queryPlace } from '../query-place.ts';
import {
  choiceOf,
  inPages,
  type QuarantineOptions,
  selectionOf,
  withChoiceOptions,
} from '../record-choice.ts';
import { formatTable, numberText, TERMINAL } from '../table.ts';
import { UsageError } from '../usage-error.ts';

interface ListOptions extends QuarantineOptions {
  readonly summary?: boolean;
  readonly limit?: number;
  readonly next?: string;
}

interface SummaryPage {
  readonly reasons: readonly ReasonCount[];
  readonly next: string | null;
  readonly damaged?: readonly DamagedRun[];
}

export function quarantineCommand(): Command {
  const command = new Command('quarantine')
    .description('list the records that could not be processed; --json has their bytes whole')
    .option('--summary', 'how many there are for each reason, instead of the records')
    .option(
      '--limit <n>',
      `records of one answer, up to ${numberText(QUARANTINE_LIMIT_MAX)} (default ${QUARANTINE_LIMIT_DEFAULT})`,
      wholeNumber(1, QUARANTINE_LIMIT_MAX),
    )
    .option('--next <token>', 'go on where an answer ended')
    // Else those options after `purge` that both have would be taken for these.
    .enablePositionalOptions()
    .addCommand(purgeCommand())
    .addHelpText(
      'after',
      '\nWhat the records hold is shown by the admin URL alone: --admin-url, or TIDEMARK_ADMIN_URL. A query URL of AWS says which they are, and why.',
    )
    .action(async (options: ListOptions, command: Command) => {
      const place = placeOf(options, command);
      await (options.summary ? summarize(place, options) : list(place, options));
    });
  return withChoiceOptions(command);
}

async function list(place: QueryPlace, options: ListOptions): Promise<void> {
  const query = new URLSearchParams(selectionOf(options));
  if (options.limit !== undefined) query.set('limit', String(options.limit));
  if (options.next !== undefined) query.set('next', options.next);
  const page = await callQueryApi<QuarantinePage>(place, pathOf(query));
  console.log(options.json ? printableJson(page, 2) : describePage(page));
}

async function summarize(place: QueryPlace, options: ListOptions): Promise<void> {
  if (options.limit !== undefined || options.next !== undefined) {
    throw new UsageError('--summary counts all that is selected: leave --limit and --next out');
  }
  const query = new URLSearchParams({ ...selectionOf(options), summary: 'reason' });
  const pages: (readonly ReasonCount[])[] = [];
  const damage = new DamagedRuns();
  for (;;) {
    const { reasons, next, damaged = [] } = await callQueryApi<SummaryPage>(place, pathOf(query));
    pages.push(reasons);
    damaged.forEach(damage.note);
    if (next === null) break;
    query.set('next', next);
  }
  const reasons = addReasons(pages);
  const answer = { reasons, ...damage.told() };
  console.log(options.json ? printableJson(answer, 2) : describeReasons(reasons, answer.damaged));
}

function pathOf(query: URLSearchParams): string {
  return query.size === 0 ? '/v1/quarantine' : `/v1/quarantine?${query}`;
}

interface PurgeAnswer {
  readonly purged: number;
  readonly unknown: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
  readonly damaged?: readonly DamagedRun[];
  readonly next?: string;
}

function purgeCommand(): Command {
  const command = new Command('purge')
    .description(
      'delete the bytes of quarantined records for good: by id, or by reason and arrival',
    )
    .argument('[id...]', 'ids that tidemark quarantine lists')
    .addHelpText(
      'after',
      '\nPurged records cannot be redriven, and go on counting as quarantined. A record that came back is not purged. Ends with 1 if an id is of no record that is kept, or a record was not purged.',
    )
    .action(purge);
  return withChoiceOptions(command);
}

async function purge(
  ids: readonly string[],
  options: QuarantineOptions,
  command: Command,
): Promise<void> {
  const place = adminPlace(options, command);
  const unknown: string[] = [];
  const refused: PurgeAnswer['refused'][number][] = [];
  const damage = new DamagedRuns();
  let purged = 0;
  const ask = (body: object) => callQueryApi<PurgeAnswer>(place, '/v1/quarantine/purge', body);
  for await (const page of inPages(choiceOf(ids, options), ask)) {
    purged += page.purged;
    unknown.push(...page.unknown);
    refused.push(...page.refused);
    page.damaged?.forEach(damage.note);
  }
  const answer = { purged, unknown, refused, ...damage.told() };
  console.log(options.json ? printableJson(answer, 2) : describePurge(answer));
  if (unknown.length + refused.length > 0) process.exitCode = 1;
}

export function describePurge({ purged, unknown, refused, damaged = [] }: PurgeAnswer): string {
  if (purged + unknown.length + refused.length === 0) {
    return 'nothing in the quarantine is selected';
  }
  const left = [
    ...refused.map(({ id, reason }) => [id, reason]),
    ...unknown.map((id) => [id, 'no record that is kept has this id']),
  ];
  const counts = [
    `${purged} purged`,
    ...(refused.length > 0 ? [`${refused.length} not purged`] : []),
    ...(unknown.length > 0 ? [`${unknown.length} unknown`] : []),
  ].join(', ');
  const table = left.length === 0 ? [] : [formatTable(['id', 'why not'], left, TERMINAL)];
  return [counts, ...table, ...damageLines(damaged)].join('\n');
}

/** A query URL of AWS says less, and that to those who may not ask the other. */
function placeOf(options: ListOptions, command: Command) {
  const isReader = options.adminUrl === undefined && !isLoopback(new URL(options.queryUrl));
  return isReader ? queryPlace(options) : adminPlace(options, command);
}
