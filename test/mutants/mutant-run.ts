/**
 * The process of one mutant: runs seeds until one fails, and prints which.
 */
import { drawScenario } from '../../simulation/scenario.ts';
import { simulateSeed } from '../../simulation/simulation.ts';
import { otherSmallPlans, smallPlan, smallRecords } from '../../simulation/small-pipeline.ts';
import { MUTANTS } from './mutants.ts';

const seedsMax = Number(process.argv[2]);
const mutant = MUTANTS.find(({ name }) => name === process.env['TIDEMARK_MUTANT']);
for (let seed = 1; seed <= seedsMax; seed++) {
  const { failure } = await simulateSeed({
    plan: smallPlan,
    otherPlans: otherSmallPlans,
    records: smallRecords,
    seed,
    scenario: { ...drawScenario(seed), ...mutant?.scenario },
    once: true,
  });
  if (failure === null) continue;
  process.stdout.write(
    `${JSON.stringify({ seed, kind: failure.kind, detail: failure.detail.slice(0, 300) })}\n`,
  );
  process.exit(0);
}
process.stdout.write(`${JSON.stringify({ seed: null })}\n`);
