/**
 * Runs seeds of the simulation: `npm run sim -- --seeds 200 [--from S | --fresh] [--minutes M] [--jobs J]`. A failure prints the line that
 * runs its seed again; `SIM_SEED=<seed> npm run sim` shows the last events and the smallest scenario that fails alike.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { shrinkScenario } from '../simulation/shrink.ts';
import { type SeedVerdict, simulateSeed } from '../simulation/simulation.ts';
import { otherSmallPlans, smallPlan, smallRecords } from '../simulation/small-pipeline.ts';

interface Share {
  readonly from: number;
  readonly step: number;
  readonly seeds: number;
  readonly minutes: number;
}

interface Tally {
  seeds: number;
  failed: number;
  virtualMs: number;
  events: number;
  audited: number;
  answers: number;
}

const SHARE = 'TIDEMARK_SIM_SHARE';
const DAY_MS = 86_400_000;
const PROGRESS_MS = 15_000;
/** The smallest scenario of the tries that were made until then is shown. */
const SHRINK_MS_MAX = 60_000;
const small = { plan: smallPlan, otherPlans: otherSmallPlans, records: smallRecords };

const share = process.env[SHARE];
const seed = process.env['SIM_SEED'];
if (share !== undefined) await runShare(JSON.parse(share) as Share);
else if (seed !== undefined) await replay(Number(seed));
else await runAll();

async function runAll(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '200' },
      from: { type: 'string', default: '1' },
      minutes: { type: 'string', default: '0' },
      jobs: { type: 'string', default: '2' },
      fresh: { type: 'boolean', default: false },
    },
  });
  // As long as the time lasts, unless a number was asked for too.
  const isTimed = values.minutes !== '0' && !process.argv.includes('--seeds');
  const seeds = isTimed ? Number.MAX_SAFE_INTEGER : Number(values.seeds);
  const jobs = Math.min(Number(values.jobs), seeds);
  // Other seeds each day, the same all day.
  const from = values.fresh ? Math.floor(Date.now() / DAY_MS) * 1_000_000 : Number(values.from);
  const startMs = performance.now();
  const tallies: Tally[] = [];
  const shares = Array.from({ length: jobs }, (_, index) => {
    const mine = {
      from: from + index,
      step: jobs,
      seeds: isTimed ? seeds : Math.ceil((seeds - index) / jobs),
      minutes: Number(values.minutes) || Number.MAX_SAFE_INTEGER,
    };
    return runInProcess(mine, (tally) => {
      tallies[index] = tally;
    });
  });
  const progress = setInterval(() => {
    const [done, failed] = [sum(tallies, 'seeds'), sum(tallies, 'failed')];
    console.log(`${done}${isTimed ? '' : ` of ${seeds}`} seeds so far, ${failed} failed`);
  }, PROGRESS_MS);
  await Promise.all(shares).finally(() => clearInterval(progress));
  const seconds = (performance.now() - startMs) / 1000;
  const count = sum(tallies, 'seeds');
  console.log(
    `${count} ${count === 1 ? 'seed' : 'seeds'} in ${seconds.toFixed(0)} s, ${((seconds * jobs) / count).toFixed(2)} s a seed and core; ` +
      `${(sum(tallies, 'virtualMs') / 1000 / seconds).toFixed(0)} virtual seconds a second; ` +
      `${sum(tallies, 'events')} events, ${sum(tallies, 'audited')} audits, ` +
      `${sum(tallies, 'answers')} answers; ${sum(tallies, 'failed')} failed`,
  );
  if (sum(tallies, 'failed') > 0) process.exitCode = 1;
}

function sum(tallies: readonly Tally[], name: keyof Tally): number {
  return tallies.reduce((total, tally) => total + tally[name], 0);
}

/** `onTally` is told of each seed that is done. */
async function runInProcess(mine: Share, onTally: (tally: Tally) => void): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), {
    env: { ...process.env, [SHARE]: JSON.stringify(mine) },
  });
  child.on('message', (tally) => onTally(tally as Tally));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code !== 0) throw new Error(`a process of the simulation ended with ${code ?? signal}`);
}

async function runShare({ from, step, seeds, minutes }: Share): Promise<void> {
  const tally: Tally = { seeds: 0, failed: 0, virtualMs: 0, events: 0, audited: 0, answers: 0 };
  const endMs = performance.now() + minutes * 60_000;
  while (tally.seeds < seeds && performance.now() < endMs) {
    const verdict = await simulateSeed({ ...small, seed: from + step * tally.seeds });
    tally.seeds++;
    tally.virtualMs += 2 * verdict.virtualMs;
    tally.events += 2 * verdict.eventCount;
    tally.audited += verdict.auditedCount;
    tally.answers += verdict.answerCount;
    if (verdict.failure !== null) {
      tally.failed++;
      console.log(`SIM_SEED=${verdict.seed} npm run sim   # ${verdict.failure.kind}`);
    }
    process.send?.(tally);
  }
  process.disconnect();
}

async function replay(seed: number): Promise<void> {
  const verdict = await simulateSeed({ ...small, seed });
  const { failure, scenario } = verdict;
  if (failure === null) {
    const seconds = (verdict.virtualMs / 1000).toFixed(1);
    console.log(
      `seed ${seed} passes: ${seconds} virtual seconds, ${verdict.eventCount} events, ${verdict.auditedCount} audits, ${verdict.answerCount} answers, trace ${verdict.traceHash}`,
    );
    return;
  }
  process.exitCode = 1;
  showFailure(verdict);
  const endMs = performance.now() + SHRINK_MS_MAX;
  const smallest = await shrinkScenario(scenario, failure.kind, async (smaller) => {
    if (performance.now() > endMs) return null;
    const { failure: found } = await simulateSeed({ ...small, seed, scenario: smaller });
    return found?.kind ?? null;
  });
  const shrunk = await simulateSeed({ ...small, seed, scenario: smallest });
  console.log('\nThe smallest scenario that fails alike:\n');
  showFailure(shrunk);
  console.log(`\n${JSON.stringify(smallest, null, 2)}`);
}

function showFailure({ timeline, failure }: SeedVerdict): void {
  for (const line of timeline) console.log(line);
  console.log(`\n${failure?.kind}: ${failure?.detail}`);
}
