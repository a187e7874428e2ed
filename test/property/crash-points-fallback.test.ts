/** Exhaustive: each kind of fault at each call of a port after a blob was lost. */
import { describe, expect, it } from 'vitest';
import { runWithEachFault, runWithoutFaults } from '../world/schedules.ts';

describe('a lost blob in a world of one slice', () => {
  it.each([
    'a lost delta after a redrive',
    'a lost base',
    'a lost delta of what is not saved',
  ] as const)('is survived with every fault at every port call: %s', async (name) => {
    expect([...(await runWithoutFaults(name)).timelinesSeen]).toEqual([0, 1]);
    expect(await runWithEachFault(name)).toBeGreaterThan(200);
  });
});
