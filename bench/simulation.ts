/**
 * How much virtual time the simulation runs through in a second of one core, and what a seed costs: each runs twice, the first
 * time with all of its checks.
 *
 *   npm run bench -- simulation [seeds]
 */
import { simulateSeed } from '../simulation/simulation.ts';
import { otherSmallPlans, smallPlan, smallRecords } from '../simulation/small-pipeline.ts';

const seedCount = Number(process.argv[2] ?? 60);
let virtualMs = 0;
let events = 0;
const startMs = performance.now();
for (let seed = 1; seed <= seedCount; seed++) {
  const verdict = await simulateSeed({
    plan: smallPlan,
    otherPlans: otherSmallPlans,
    records: smallRecords,
    seed,
  });
  if (verdict.failure !== null) throw new Error(`seed ${seed}: ${verdict.failure.detail}`);
  virtualMs += verdict.virtualMs;
  events += verdict.eventCount;
}
const seconds = (performance.now() - startMs) / 1000;
console.log(
  `${seedCount} seeds in ${seconds.toFixed(1)} s: ${((seconds / seedCount) * 1000).toFixed(0)} ms a seed, ` +
    `${Math.round(virtualMs / 1000 / seconds)} virtual seconds a second, ` +
    `${Math.round(events / seconds)} events a second (each seed runs twice, and counts once)`,
);
