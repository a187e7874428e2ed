/**
 * The command line: parses arguments, runs one command, and turns what it comes to into an exit code: 0 done, 1 failed,
 * 2 wrong usage.
 */
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { backupCommand } from './commands/backup.ts';
import { checkCommand } from './commands/check.ts';
import { checkpointCommand } from './commands/checkpoint.ts';
import { devCommand } from './commands/dev.ts';
import { putCommand } from './commands/put.ts';
import { quarantineCommand } from './commands/quarantine.ts';
import { queryCommand } from './commands/query.ts';
import { redriveCommand } from './commands/redrive.ts';
import { simulateCommand } from './commands/simulate.ts';
import { statusCommand } from './commands/status.ts';
import { undeleteCommand } from './commands/undelete.ts';
import { errorText } from './error-text.ts';
import { guardOutput } from './output-failure.ts';
import { printableLines } from './printable.ts';
import { endWith } from './process-end.ts';
import { UsageError } from './usage-error.ts';
import { silenceExperimentalWarnings } from './warnings.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

silenceExperimentalWarnings();
guardOutput();
await endWith(await main(process.argv));

async function main(argv: string[]): Promise<number> {
  const program = new Command('tidemark')
    .description('Exactly-once keyed, windowed aggregates over Kinesis.')
    .version(packageVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .showHelpAfterError('(run with --help for the options)')
    .enablePositionalOptions()
    .exitOverride();
  const commands = [
    checkCommand(),
    devCommand(),
    putCommand(),
    queryCommand(),
    statusCommand(),
    checkpointCommand(),
    quarantineCommand(),
    simulateCommand(),
    redriveCommand(),
    backupCommand(),
    undeleteCommand(),
  ];
  for (const command of commands) program.addCommand(command.exitOverride());
  try {
    await program.parseAsync(argv);
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  if (error instanceof UsageError) {
    console.error(`error: ${printableLines(error.message)}`);
    return EXIT_USAGE;
  }
  console.error(`error: ${errorText(error)}`);
  return EXIT_FAILED;
}

function packageVersion(): string {
  // Beside this folder in a checkout, two folders up in the published package.
  for (const path of ['../package.json', '../../package.json']) {
    try {
      const text = readFileSync(new URL(path, import.meta.url), 'utf8');
      const manifest = JSON.parse(text) as { name?: string; version?: string };
      if (manifest.name === 'tidemark') return manifest.version ?? 'unknown';
    } catch {
      // Not this one.
    }
  }
  return 'unknown';
}
