/**
 * Fixed seeds of the simulation, as a guard for every change; `npm run sim` runs as many as there is time for.
 */
import { describe, expect, it } from 'vitest';
import { drawScenario, type Scenario } from '../../simulation/scenario.ts';
import { simulateSeed } from '../../simulation/simulation.ts';
import { otherSmallPlans, smallPlan, smallRecords } from '../../simulation/small-pipeline.ts';
import { CONTENTION, GAP_IN_PARTS, RECOVERY_IN_STEPS } from './fixed-scenarios.ts';

const SEEDS = 50;
/** Of these, so many run twice: both runs must have the same trace. */
const SEEDS_RUN_TWICE = 8;

const FIXED_SEEDS = 3;

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** What went wrong, with the last events; empty if nothing did. */
async function storyOf(
  seed: number,
  fixed: Partial<Scenario>,
  once = seed > SEEDS_RUN_TWICE,
): Promise<string> {
  const { failure, timeline } = await simulateSeed({
    plan: smallPlan,
    otherPlans: otherSmallPlans,
    records: smallRecords,
    seed,
    scenario: { ...drawScenario(seed), ...fixed },
    once,
  });
  if (failure === null) return '';
  return `${failure.kind}: ${failure.detail}\n${timeline.slice(-40).join('\n')}`;
}

describe('the simulation', () => {
  it.each(upTo(SEEDS))('keeps every promise under seed %i', async (seed) => {
    expect(await storyOf(seed, {})).toBe('');
  });

  it.each(upTo(FIXED_SEEDS))('closes a gap in parts under seed %i', async (seed) => {
    expect(await storyOf(seed, GAP_IN_PARTS)).toBe('');
  });

  it.each(upTo(FIXED_SEEDS))('recovers a slice in steps under seed %i', async (seed) => {
    expect(await storyOf(seed, RECOVERY_IN_STEPS)).toBe('');
  });

  it.each(upTo(FIXED_SEEDS))('ends a checkpoint beside deliveries under seed %i', async (seed) => {
    expect(await storyOf(seed, CONTENTION)).toBe('');
  });
});
