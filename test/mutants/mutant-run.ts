/**
 * The process of one mutant: tries the seeds that it is given, then those from 1 on, until one fails as it should, and prints which.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drawScenario } from '../../simulation/scenario.ts';
import { simulateSeed } from '../../simulation/simulation.ts';
import { otherSmallPlans, smallPlan, smallRecords } from '../../simulation/small-pipeline.ts';
import { LocalWorld } from '../local-world/local-world.ts';
import { mutantNamed } from './mutants.ts';

const [seedsMax = 0, ...firstSeeds] = process.argv.slice(2).map(Number);
const { foundAs, scenario: fixed, world } = mutantNamed(process.env['TIDEMARK_MUTANT'] ?? '');
const seeds = [...firstSeeds, ...Array.from({ length: seedsMax }, (_, index) => index + 1)];
/** Failures of other kinds, which say that the fault shows in another way than was thought. */
const others: Record<string, number> = {};
let found: { seed: number; kind: string } | null = null;
for (const seed of seeds) {
  const kind = world === 'local' ? await localFailure(seed) : await failureOf(seed);
  if (kind === null) continue;
  if (foundAs.some((wanted) => kind.startsWith(wanted))) {
    found = { seed, kind };
    break;
  }
  others[kind] ??= seed;
}
process.stdout.write(`${JSON.stringify({ found, others })}\n`);

async function failureOf(seed: number): Promise<string | null> {
  const { failure } = await simulateSeed({
    plan: smallPlan,
    otherPlans: otherSmallPlans,
    records: smallRecords,
    seed,
    scenario: { ...drawScenario(seed), ...fixed },
    once: true,
  });
  return failure?.kind ?? null;
}

async function localFailure(seed: number): Promise<string | null> {
  const root = mkdtempSync(join(tmpdir(), 'tidemark-mutant-'));
  try {
    return await new LocalWorld(seed, root).run();
  } catch (fault) {
    return String(fault);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
