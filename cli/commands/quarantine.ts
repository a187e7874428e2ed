import { Command } from 'commander';
import {
  adminUrlOption,
  awsOption,
  jsonOption,
  queryUrlOption,
  regionOption,
  wholeNumber,
} from '../option-values.ts';
import { printableJson } from '../printable.ts';
import { callQueryApi } from '../query-client.ts';
import { type AdminPlaceOptions, adminPlace, isLoopback, queryPlace } from '../query-place.ts';
import {
  type ChoiceOptions,
  choiceOf,
  fromOption,
  inPages,
  reasonOption,
  toOption,
} from '../record-choice.ts';
import { formatTable, shortTime, TERMINAL } from '../table.ts';

interface QuarantineOptions extends AdminPlaceOptions {
  readonly limit?: number;
  readonly next?: string;
  readonly json?: boolean;
}

interface QuarantinePage {
  readonly records: readonly {
    readonly id: string;
    readonly shardId: string;
    readonly sequenceNumber: string;
    readonly reason: string;
    readonly arrival: string;
    /** On the admin side alone, with the partition key. */
    readonly detail?: string;
    /** Base64; on the admin side alone. */
    readonly data?: string;
  }[];
  readonly next: string | null;
}

const DATA_CHARACTERS_SHOWN = 60;

export function quarantineCommand(): Command {
  return (
    new Command('quarantine')
      .description('list the records that could not be processed; --json has their bytes whole')
      .addOption(queryUrlOption())
      .addOption(adminUrlOption())
      .addOption(awsOption())
      .addOption(regionOption())
      .option('--limit <n>', 'records of one answer', wholeNumber(1, 1_000))
      .option('--next <token>', 'go on where an answer ended')
      .addOption(jsonOption())
      // Else those options after `purge` that both have would be taken for these.
      .enablePositionalOptions()
      .addCommand(purgeCommand())
      .addHelpText(
        'after',
        '\nWhat the records hold is shown by the admin URL alone: --admin-url, or TIDEMARK_ADMIN_URL. A query URL of AWS says which they are, and why.',
      )
      .action(async (options: QuarantineOptions, command: Command) => {
        const query = new URLSearchParams();
        if (options.limit !== undefined) query.set('limit', String(options.limit));
        if (options.next !== undefined) query.set('next', options.next);
        const text = query.size === 0 ? '' : `?${query}`;
        const page = await callQueryApi<QuarantinePage>(
          placeOf(options, command),
          `/v1/quarantine${text}`,
        );
        console.log(options.json ? printableJson(page, 2) : describePage(page));
      })
  );
}

interface PurgeOptions extends AdminPlaceOptions, ChoiceOptions {
  readonly json?: boolean;
}

interface PurgeAnswer {
  readonly purged: number;
  readonly unknown: readonly string[];
  readonly next?: string;
}

function purgeCommand(): Command {
  return new Command('purge')
    .description(
      'delete the bytes of quarantined records for good: by id, or by reason and arrival',
    )
    .argument('[id...]', 'ids that tidemark quarantine lists')
    .addOption(reasonOption())
    .addOption(fromOption())
    .addOption(toOption())
    .addOption(queryUrlOption())
    .addOption(adminUrlOption())
    .addOption(awsOption())
    .addOption(regionOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nPurged records cannot be redriven, and go on counting as quarantined. Ends with 1 if an id is of no record that is kept.',
    )
    .action(purge);
}

async function purge(
  ids: readonly string[],
  options: PurgeOptions,
  command: Command,
): Promise<void> {
  const place = adminPlace(options, command);
  const answer = { purged: 0, unknown: [] as string[] };
  const ask = (body: object) => callQueryApi<PurgeAnswer>(place, '/v1/quarantine/purge', body);
  for await (const { purged, unknown } of inPages(choiceOf(ids, options), ask)) {
    answer.purged += purged;
    answer.unknown.push(...unknown);
  }
  console.log(options.json ? printableJson(answer, 2) : describePurge(answer));
  if (answer.unknown.length > 0) process.exitCode = 1;
}

function describePurge({ purged, unknown }: PurgeAnswer): string {
  const counts = `${purged} purged`;
  if (unknown.length === 0) return counts;
  const table = formatTable(
    ['id', 'why not'],
    unknown.map((id) => [id, 'no record that is kept has this id']),
    TERMINAL,
  );
  return `${counts}, ${unknown.length} unknown\n${table}`;
}

/** A query URL of AWS says less, and that to those who may not ask the other. */
function placeOf(options: QuarantineOptions, command: Command) {
  const isReader = options.adminUrl === undefined && !isLoopback(new URL(options.queryUrl));
  return isReader ? queryPlace(options) : adminPlace(options, command);
}

function describePage({ records, next }: QuarantinePage): string {
  if (records.length === 0) return 'nothing is in the quarantine';
  const isWhole = records.every(({ data }) => data !== undefined);
  const columns = ['reason', 'arrival', ...(isWhole ? ['detail', 'data'] : []), 'id'];
  const rows = records.map(({ reason, arrival, id, detail = '', data = '' }) => [
    reason,
    shortTime(arrival),
    ...(isWhole ? [detail, shown(data)] : []),
    id,
  ]);
  return [
    formatTable(columns, rows, TERMINAL),
    ...(isWhole ? [] : ['what they hold is shown by the admin URL: --admin-url']),
    ...(next === null ? [] : [`more with --next ${next}`]),
  ].join('\n');
}

function shown(data: string): string {
  const text = Buffer.from(data, 'base64').toString('utf8');
  return text.length > DATA_CHARACTERS_SHOWN ? `${text.slice(0, DATA_CHARACTERS_SHOWN)}…` : text;
}
