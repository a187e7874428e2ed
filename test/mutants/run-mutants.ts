/**
 * Plants one fault at a time and demands that the simulation finds it, as what it is: `npm run mutants [-- --only TEXT] [--seeds N]
 * [--jobs J]`. Each mutant runs in a process of its own, with its sources patched as they are loaded. The seed that found it
 * last time is tried first (test/mutants/record.json), so that all of them take a minute or two.
 *
 * A run of all mutants that ends well writes the record anew: commit it with the change.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { MUTANTS, type Mutant, SOUND } from './mutants.ts';
import { hashOfSources, type MutantRecord, readRecord, writeRecord } from './record.ts';

interface Outcome {
  readonly found: { readonly seed: number; readonly kind: string } | null;
  /** By kind of failure that is not the mutant's: the first seed. */
  readonly others: Readonly<Record<string, number>>;
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seeds: { type: 'string', default: '200' },
    jobs: { type: 'string', default: '2' },
  },
});
/** Seeds under which the sources as they are must not fail. */
const SOUND_SEEDS = 20;
const run = promisify(execFile);
const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const record = readRecord();

await runAll();

async function runAll(): Promise<void> {
  const { only } = values;
  const chosen = MUTANTS.filter(({ name }) => only === undefined || name.includes(only));
  const found: Record<string, MutantRecord['found'][string]> = {};
  const silent: string[] = [];
  const queue = [...chosen];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const outcome = await outcomeOf(next, Number(values.seeds), record.found[next.name]?.seed);
      if (outcome.found !== null) found[next.name] = outcome.found;
      else silent.push(next.name);
      print(lineOf(next, outcome));
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  const sound = only === undefined ? await outcomeOf(SOUND, SOUND_SEEDS) : null;
  const failing = Object.entries(sound?.others ?? {});
  for (const [kind, seed] of failing) {
    print(`nothing is changed, and seed ${seed} fails: ${kind}`);
  }
  print(`${chosen.length - silent.length} of ${chosen.length} mutants were found`);
  if (silent.length > 0 || failing.length > 0) process.exitCode = 1;
  else if (only === undefined) writeRecord({ sources: hashOfSources(), found });
}

function lineOf({ name, foundAs }: Mutant, { found, others }: Outcome): string {
  if (found !== null) return `| ${name} | ${found.seed} | ${found.kind} |`;
  const instead = Object.entries(others).map(([kind, seed]) => `${kind} (seed ${seed})`);
  return `NOT FOUND as ${foundAs.join(' or ')}: ${name}; ${instead.join(', ') || 'no seed failed'}`;
}

async function outcomeOf(mutant: Mutant, seedsMax: number, firstSeed?: number): Promise<Outcome> {
  const seeds = [seedsMax, ...(firstSeed === undefined ? [] : [firstSeed])].map(String);
  const args = ['--import', pathOf('mutant-loader.ts'), pathOf('mutant-run.ts'), ...seeds];
  const env = { ...process.env, TIDEMARK_MUTANT: mutant.name };
  const { stdout } = await run(process.execPath, args, { env });
  return JSON.parse(stdout) as Outcome;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
