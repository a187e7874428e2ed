import { Command } from 'commander';
import {
  adminUrlOption,
  awsOption,
  jsonOption,
  queryUrlOption,
  regionOption,
} from '../option-values.ts';
import { printableJson } from '../printable.ts';
import { callQueryApi } from '../query-client.ts';
import { type AdminPlaceOptions, adminPlace } from '../query-place.ts';
import { formatTable, TERMINAL } from '../table.ts';

interface CheckpointOptions extends AdminPlaceOptions {
  readonly json?: boolean;
}

interface CheckpointAnswer {
  readonly slices: readonly { readonly id: string; readonly epoch: number }[];
}

export function checkpointCommand(): Command {
  return new Command('checkpoint')
    .description('write a full checkpoint of every slice now')
    .addOption(queryUrlOption())
    .addOption(adminUrlOption())
    .addOption(awsOption())
    .addOption(regionOption())
    .addOption(jsonOption())
    .action(async (options: CheckpointOptions, command: Command) => {
      const answer = await callQueryApi<CheckpointAnswer>(
        adminPlace(options, command),
        '/v1/checkpoint',
        {},
      );
      if (options.json) console.log(printableJson(answer, 2));
      else {
        const rows = answer.slices.map(({ id, epoch }) => [id, epoch]);
        console.log(formatTable(['slice', 'epoch'], rows, TERMINAL));
      }
    });
}
