import { Command } from 'commander';
import { backupReportText } from '../backup-report.ts';
import { jsonOption } from '../option-values.ts';
import { printableLines } from '../printable.ts';

interface BackupOptions {
  readonly data: string;
  readonly to: string;
  readonly json?: boolean;
}

export function backupCommand(): Command {
  return new Command('backup')
    .description(
      'copy the data folder of `tidemark dev`, also while it runs, to one that can be started from',
    )
    .requiredOption('--to <dir>', 'the copy: a folder that does not exist yet')
    .option('--data <dir>', 'the data folder', '.tidemark')
    .addOption(jsonOption())
    .action(async ({ data, to, json = false }: BackupOptions) => {
      // Loaded here, so that no other command waits for it.
      const { backUpFolder } = await import('../../runtime/folder-backup.ts');
      const report = await backUpFolder(data, to);
      if (json) {
        console.log(JSON.stringify(report, null, 2));
        return;
      }
      console.log(printableLines(backupReportText(report, to)));
    });
}
