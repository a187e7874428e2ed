/**
 * Fixed seeds of the simulation, as a guard for every change; `npm run sim` runs as many as there is time for.
 */
import { describe, expect, it } from 'vitest';
import { simulateSeed } from '../../simulation/simulation.ts';
import { otherSmallPlans, smallPlan, smallRecords } from '../../simulation/small-pipeline.ts';

const SEEDS = 50;

describe('the simulation', () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
    'keeps every promise under seed %i',
    async (seed) => {
      const { failure, timeline } = await simulateSeed({
        plan: smallPlan,
        otherPlans: otherSmallPlans,
        records: smallRecords,
        seed,
      });
      const story =
        failure === null
          ? ''
          : `${failure.kind}: ${failure.detail}\n${timeline.slice(-40).join('\n')}`;
      expect(story).toBe('');
    },
  );
});
