import { Command } from 'commander';
import {
  awsOption,
  jsonOption,
  queryUrlOption,
  regionOption,
  wholeNumber,
} from '../option-values.ts';
import { callQueryApi } from '../query-client.ts';
import { type PlaceOptions, queryPlace } from '../query-place.ts';
import { formatTable } from '../table.ts';

interface QuarantineOptions extends PlaceOptions {
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
    readonly detail: string;
    readonly arrival: string;
    readonly partitionKey: string;
    /** Base64. */
    readonly data: string;
  }[];
  readonly next: string | null;
}

const DATA_CHARACTERS_SHOWN = 60;

export function quarantineCommand(): Command {
  return new Command('quarantine')
    .description('list the records that could not be processed; --json has their bytes whole')
    .addOption(queryUrlOption())
    .addOption(awsOption())
    .addOption(regionOption())
    .option('--limit <n>', 'records of one answer', wholeNumber(1, 1_000))
    .option('--next <token>', 'go on where an answer ended')
    .addOption(jsonOption())
    .action(async (options: QuarantineOptions) => {
      const query = new URLSearchParams();
      if (options.limit !== undefined) query.set('limit', String(options.limit));
      if (options.next !== undefined) query.set('next', options.next);
      const text = query.size === 0 ? '' : `?${query}`;
      const page = await callQueryApi<QuarantinePage>(queryPlace(options), `/v1/quarantine${text}`);
      console.log(options.json ? JSON.stringify(page, null, 2) : describePage(page));
    });
}

function describePage({ records, next }: QuarantinePage): string {
  if (records.length === 0) return 'nothing is in the quarantine';
  const rows = records.map(({ reason, arrival, id, detail, data }) => {
    const text = Buffer.from(data, 'base64').toString('utf8');
    const shown =
      text.length > DATA_CHARACTERS_SHOWN ? `${text.slice(0, DATA_CHARACTERS_SHOWN)}…` : text;
    return [reason, arrival, detail, shown, id];
  });
  const table = formatTable(['reason', 'arrival', 'detail', 'data', 'id'], rows);
  return next === null ? table : `${table}\nmore with --next ${next}`;
}
