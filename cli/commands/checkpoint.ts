import { Command } from 'commander';
import { jsonOption, queryUrlOption } from '../option-values.ts';
import { callQueryApi } from '../query-client.ts';
import { formatTable } from '../table.ts';

interface CheckpointAnswer {
  readonly slices: readonly { readonly id: string; readonly epoch: number }[];
}

export function checkpointCommand(): Command {
  return new Command('checkpoint')
    .description('complete an epoch with a full base for every slice now')
    .addOption(queryUrlOption())
    .addOption(jsonOption())
    .action(async (options: { queryUrl: string; json?: boolean }) => {
      const answer = await callQueryApi<CheckpointAnswer>(options.queryUrl, '/v1/checkpoint', {});
      if (options.json) console.log(JSON.stringify(answer, null, 2));
      else {
        const rows = answer.slices.map(({ id, epoch }) => [id, epoch]);
        console.log(formatTable(['slice', 'epoch'], rows));
      }
    });
}
