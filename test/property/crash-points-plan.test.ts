/** Exhaustive: each kind of fault at each call of a port while the plan changes, and changes back. */
import { describe, expect, it } from 'vitest';
import { runWithEachFault, runWithoutFaults } from '../world/schedules.ts';

describe('a change of plan and a rollback in a world of one slice', () => {
  it.each([
    'a change of plan and a rollback',
    'a change of plan of what is not saved, and a redrive',
  ] as const)('survives every fault at every port call: %s', async (name) => {
    const { statesSeen, timelinesSeen } = await runWithoutFaults(name);
    expect([...statesSeen]).toEqual(['OPEN 1', 'OPEN 2', 'RECOVERING 3', 'OPEN 3']);
    expect([...timelinesSeen]).toEqual([0, 1]);
    expect(await runWithEachFault(name)).toBeGreaterThan(300);
  });
});
