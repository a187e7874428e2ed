/**
 * What code does with a slice that another plan wrote: go over to its own plan, go back to where it was left, or wait.
 *
 * The active plan is whichever was activated last. Views go on with what means the same (see `matchViews`), under any name;
 * views and aggregates without a match begin at the cursor. Back to exactly the plan before, within the grace, a slice goes
 * on from that plan's own last epoch and folds what came since again where something was lost meanwhile (see
 * `hasLostNothing`); otherwise, and back to a plan before that, it is a plan like any other.
 */
import type { Head, PreviousPlan } from '../checkpoint/head.ts';
import { decidePrevious } from '../checkpoint/retention.ts';
import type { ActivePlan } from '../ports.ts';

export type PlanDecision =
  | { readonly kind: 'same' }
  /** Other code than this carries the active plan. */
  | { readonly kind: 'held'; readonly active: string }
  | { readonly kind: 'switch'; readonly ordinal: number }
  | { readonly kind: 'rollback'; readonly ordinal: number; readonly to: PreviousPlan };

export function decidePlan(
  head: Pick<Head, 'planHash' | 'planOrdinal' | 'previous'>,
  planHash: string,
  active: ActivePlan,
  nowMs: number,
  rollbackGraceMs: number,
): PlanDecision {
  if (head.planHash === planHash) return { kind: 'same' };
  if (active.hash !== planHash || active.ordinal <= head.planOrdinal) {
    return { kind: 'held', active: active.hash === planHash ? head.planHash : active.hash };
  }
  const { ordinal } = active;
  const to = decidePrevious(head, nowMs, rollbackGraceMs);
  return to?.planHash === planHash
    ? { kind: 'rollback', ordinal, to }
    : { kind: 'switch', ordinal };
}
