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
  const jobs = Number(values.jobs);
  // As long as the time lasts, unless a number was asked for too.
  const isTimed = values.minutes !== '0' && !process.argv.includes('--seeds');
  const seeds = isTimed ? Number.MAX_SAFE_INTEGER : Math.ceil(Number(values.seeds) / jobs);
  // Other seeds each day, the same all day.
  const from = values.fresh ? Math.floor(Date.now() / DAY_MS) * 1_000_000 : Number(values.from);
  const startMs = performance.now();
  const shares = Array.from({ length: jobs }, (_, index) =>
    startShare({
      from: from + index,
      step: jobs,
      seeds,
      minutes: Number(values.minutes) || Number.MAX_SAFE_INTEGER,
    }),
  );
  const tallies = await Promise.all(shares);
  const seconds = (performance.now() - startMs) / 1000;
  const total = (of: (tally: Tally) => number) => tallies.reduce((sum, each) => sum + of(each), 0);
  const count = total((tally) => tally.seeds);
  console.log(
    `${count} seeds in ${seconds.toFixed(0)} s, ${((seconds * jobs) / count).toFixed(2)} s a seed and core; ` +
      `${(total((tally) => tally.virtualMs) / 1000 / seconds).toFixed(0)} virtual seconds a second; ` +
      `${total((tally) => tally.events)} events, ${total((tally) => tally.audited)} audits, ` +
      `${total((tally) => tally.answers)} answers; ${total((tally) => tally.failed)} failed`,
  );
  if (total((tally) => tally.failed) > 0) process.exitCode = 1;
}

async function startShare(mine: Share): Promise<Tally> {
  const child = fork(fileURLToPath(import.meta.url), {
    env: { ...process.env, [SHARE]: JSON.stringify(mine) },
  });
  const [tally] = (await once(child, 'message')) as [Tally];
  return tally;
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
    if (verdict.failure === null) continue;
    tally.failed++;
    console.log(`SIM_SEED=${verdict.seed} npm run sim   # ${verdict.failure.kind}`);
  }
  process.send?.(tally);
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
