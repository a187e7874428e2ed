import { Command } from 'commander';
import { printableJson } from '../printable.ts';
import { callQueryApi } from '../query-client.ts';
import { adminPlace } from '../query-place.ts';
import { choiceOf, inPages, type QuarantineOptions, withChoiceOptions } from '../record-choice.ts';
import { formatTable, TERMINAL } from '../table.ts';

interface Refusal {
  readonly id: string;
  readonly reason: string;
}

interface RedriveAnswer {
  readonly redriven: readonly string[];
  readonly refused: readonly Refusal[];
  readonly pending: readonly string[];
  readonly next?: string;
}

export function redriveCommand(): Command {
  const command = new Command('redrive')
    .description('bring quarantined records back, each once: by id, or by reason and arrival')
    .argument('[id...]', 'ids that tidemark quarantine lists')
    .addHelpText(
      'after',
      '\nEnds with 1 if a record was refused, or if its slice could not come to it in time; the latter still comes back.',
    )
    .action(redrive);
  return withChoiceOptions(command);
}

async function redrive(
  ids: readonly string[],
  options: QuarantineOptions,
  command: Command,
): Promise<void> {
  const place = adminPlace(options, command);
  const answer = { redriven: [] as string[], refused: [] as Refusal[], pending: [] as string[] };
  const ask = (body: object) => callQueryApi<RedriveAnswer>(place, '/v1/quarantine/redrive', body);
  for await (const page of inPages(choiceOf(ids, options), ask)) {
    for (const id of page.redriven) answer.redriven.push(id);
    for (const refusal of page.refused) answer.refused.push(refusal);
    for (const id of page.pending) answer.pending.push(id);
  }
  console.log(options.json ? printableJson(answer, 2) : describeAnswer(answer));
  if (answer.refused.length + answer.pending.length > 0) process.exitCode = 1;
}

function describeAnswer({ redriven, refused, pending }: RedriveAnswer): string {
  const counts: string[] = [];
  if (redriven.length > 0) counts.push(`${redriven.length} redriven`);
  if (refused.length > 0) counts.push(`${refused.length} refused`);
  if (pending.length > 0) counts.push(`${pending.length} not yet, but asked for`);
  if (counts.length === 0) return 'nothing in the quarantine is selected';
  const rows = [
    ...refused.map(({ id, reason }) => [id, reason]),
    ...pending.map((id) => [id, 'its slice has not come to it yet']),
  ];
  const table = rows.length === 0 ? [] : [formatTable(['id', 'why not'], rows, TERMINAL)];
  return [counts.join(', '), ...table].join('\n');
}
