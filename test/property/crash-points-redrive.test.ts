/** Exhaustive: each kind of fault at each call of a port while records are redriven, or a slice is recovered. */
import { describe, expect, it } from 'vitest';
import { runWithEachFault, runWithoutFaults } from '../world/schedules.ts';

describe('a redrive in a world of one slice', () => {
  it.each(['a redrive', 'a redrive of what is not saved'] as const)(
    'survives every fault at every port call: %s',
    async (name) => {
      expect((await runWithoutFaults(name)).redriven.size).toBe(2);
      expect(await runWithEachFault(name)).toBeGreaterThan(100);
    },
  );
});

describe('a recovery in a world of one slice', () => {
  it('survives every fault at every port call', async () => {
    const { statesSeen } = await runWithoutFaults('a recovery');
    expect(statesSeen).toContain('RECOVERING 1');
    expect(await runWithEachFault('a recovery')).toBeGreaterThan(100);
  });
});
