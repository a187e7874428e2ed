/**
 * What takes minutes and looks at the core, the simulation and their tests alone: all mutants, and two faults at once in the small
 * worlds. `npm run thorough -- --changed` does so only where their content is not the recorded one.
 */
import { spawnSync } from 'node:child_process';
import { hashOfSources, readRecord } from './record.ts';

const isChanged = readRecord().sources !== hashOfSources();
if (process.argv.includes('--changed') && !isChanged) {
  const why = 'nothing of core, simulation and their mutants has changed since the record';
  process.stdout.write(`thorough: ${why}\n`);
} else {
  // The record is written last, by the mutants: what it names has passed both.
  runOrExit(['node_modules/vitest/vitest.mjs', 'run', '--project', 'schedules']);
  runOrExit(['test/mutants/run-mutants.ts']);
}

function runOrExit(args: readonly string[]): void {
  const env = { ...process.env, TIDEMARK_THOROUGH: '1' };
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', env });
  if (status !== 0) process.exit(status ?? 1);
}
