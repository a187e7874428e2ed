import { describe, expect, it } from 'vitest';
import { CorruptStateFault, InvariantFault } from '../../../core/faults.ts';
import {
  checkFollows,
  type DedupeLife,
  expiredBy,
  firstDedupe,
  nextDedupe,
} from '../../../core/state/dedupe-life.ts';
import { idPlan } from '../../world/id-model.ts';

const plan = (withinMs: number, field: 'id' | 'other' = 'id') => idPlan({ field, withinMs });
const first = firstDedupe(plan(60_000)) as DedupeLife;

describe('what a change of policy makes of ids', () => {
  it('is nothing where the policy stays', () => {
    expect(nextDedupe(first, plan(60_000), 500_000, 7)).toEqual(first);
  });

  it('forgets what had expired, whether `within` grows or shrinks', () => {
    for (const withinMs of [10_000, 600_000]) {
      const next = nextDedupe(first, plan(withinMs), 500_000, 7);
      expect(next).toEqual({ ...first, withinMs, forgottenMs: 440_000 });
    }
  });

  it('goes on forgetting what was forgotten before', () => {
    const longer = nextDedupe(first, plan(600_000), 500_000, 7);
    const longest = nextDedupe(longer, plan(900_000), 510_000, 9);
    expect(longest?.forgottenMs).toBe(440_000);
    expect(expiredBy(longest, 520_000)).toBe(440_000);
    expect(expiredBy(longest, 1_400_000)).toBe(500_000);
  });

  it('begins anew with another field, and after a time without one', () => {
    const other = nextDedupe(first, plan(60_000, 'other'), 500_000, 7);
    expect(other).toMatchObject({ after: 7, forgottenMs: Number.NEGATIVE_INFINITY });
    expect(nextDedupe(first, idPlan(null), 500_000, 7)).toBeNull();
    expect(nextDedupe(null, plan(60_000), 500_000, 8)).toMatchObject({ after: 8 });
    expect(expiredBy(null, 0)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('what a stored epoch says of ids', () => {
  it('is refused where it knows more than was left', () => {
    const longer = { ...first, withinMs: 600_000 };
    expect(() => checkFollows(first, longer, 500_000, 8)).toThrow(InvariantFault);
    checkFollows(first, { ...longer, forgottenMs: 440_000 }, 500_000, 8);
    checkFollows(first, first, 500_000, 8);
  });

  it('is refused where ids began in another epoch', () => {
    const began = { ...first, fieldText: 'other' };
    for (const before of [first, null]) {
      expect(() => checkFollows(before, { ...began, after: 5 }, 0, 8)).toThrow(CorruptStateFault);
      checkFollows(before, { ...began, after: 7 }, 0, 8);
      checkFollows(before, null, 0, 8);
    }
  });
});
