import { Command } from 'commander';
import {
  adminUrlOption,
  awsOption,
  jsonOption,
  queryUrlOption,
  regionOption,
} from '../option-values.ts';
import { callQueryApi } from '../query-client.ts';
import { type AdminPlaceOptions, adminPlace } from '../query-place.ts';
import { formatTable } from '../table.ts';
import { UsageError } from '../usage-error.ts';

interface RedriveOptions extends AdminPlaceOptions {
  readonly reason?: string;
  readonly json?: boolean;
}

interface RedriveAnswer {
  readonly redriven: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
  readonly pending: readonly string[];
}

export function redriveCommand(): Command {
  return new Command('redrive')
    .description('bring quarantined records back, each once: by id, or all of a reason')
    .argument('[id...]', 'ids that tidemark quarantine lists')
    .option('--reason <reason>', 'all records that were put aside for this reason')
    .addOption(queryUrlOption())
    .addOption(adminUrlOption())
    .addOption(awsOption())
    .addOption(regionOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nEnds with 1 if a record was refused, or if its slice could not come to it in time; the latter still comes back.',
    )
    .action(redrive);
}

async function redrive(
  ids: readonly string[],
  options: RedriveOptions,
  command: Command,
): Promise<void> {
  const { reason, json } = options;
  if ((reason === undefined) === (ids.length === 0)) {
    throw new UsageError("name ids, or a --reason, one of them; 'tidemark quarantine' lists both");
  }
  const body = reason === undefined ? { ids } : { reason };
  const place = adminPlace(options, command);
  const answer = await callQueryApi<RedriveAnswer>(place, '/v1/quarantine/redrive', body);
  console.log(json ? JSON.stringify(answer, null, 2) : describeAnswer(answer));
  if (answer.refused.length + answer.pending.length > 0) process.exitCode = 1;
}

function describeAnswer({ redriven, refused, pending }: RedriveAnswer): string {
  const counts: string[] = [];
  if (redriven.length > 0) counts.push(`${redriven.length} redriven`);
  if (refused.length > 0) counts.push(`${refused.length} refused`);
  if (pending.length > 0) counts.push(`${pending.length} not yet, but asked for`);
  if (counts.length === 0) return 'nothing in the quarantine has this reason';
  const rows = [
    ...refused.map(({ id, reason }) => [id, reason]),
    ...pending.map((id) => [id, 'its slice has not come to it yet']),
  ];
  const table = rows.length === 0 ? [] : [formatTable(['id', 'why not'], rows)];
  return [counts.join(', '), ...table].join('\n');
}
