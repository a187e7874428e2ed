/**
 * A second fault while the world recovers from the first: at each call, each kind, in turn. Part of `npm run thorough`, since it
 * takes minutes.
 */
import { describe, expect, it } from 'vitest';
import { runWithTwoFaults } from '../world/schedules.ts';

describe('two faults are survived', () => {
  it.each([
    ['batches that are only delivered, and ticks', 3],
    ['a lost delta after a redrive', 5],
    ['a change of plan and a rollback', 5],
    ['a redrive of what is not saved', 2],
    ['a recovery', 4],
  ] as const)('in a world of one slice: %s', async (name, step) => {
    expect(await runWithTwoFaults(name, step)).toBeGreaterThan(50);
  });
});
