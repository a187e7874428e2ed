/**
 * What a change of plan does to the state that slices keep for a rollback. A slice keeps that of one plan: the one that it
 * left last. So a change to a third plan ends what was kept, also where the change is of a policy only.
 */
import type { Head } from '../checkpoint/head.ts';
import { decidePrevious } from '../checkpoint/retention.ts';
import { DEFAULT_KNOBS } from '../knobs.ts';

type SliceHead = Pick<Head, 'planHash' | 'epoch' | 'previous'>;

/** True if every slice that has state was left by the plan lately, or still is under it: the change is a rollback. */
export function isRollback(hash: string, heads: readonly SliceHead[], nowMs: number): boolean {
  const withState = heads.filter(({ epoch }) => epoch > 0);
  return (
    withState.length > 0 &&
    withState.every((head) => head.planHash === hash || keptPlanOf(head, nowMs) === hash)
  );
}

/** Hashes of the plans that a rollback could go back to until now, and no more once the plan of this hash is active. */
export function rollbacksEndedBy(
  hash: string,
  heads: readonly SliceHead[],
  nowMs: number,
): string[] {
  const ended = heads
    .filter(({ planHash }) => planHash !== hash)
    .map((head) => keptPlanOf(head, nowMs))
    .filter((kept) => kept !== null && kept !== hash);
  return [...new Set(ended as string[])].sort();
}

function keptPlanOf(head: SliceHead, nowMs: number): string | null {
  return decidePrevious(head, nowMs, DEFAULT_KNOBS.rollbackGraceMs)?.planHash ?? null;
}

/** One line for each plan that `rollbacksEndedBy` names. */
export function describeEndedRollbacks(hashes: readonly string[]): string[] {
  return hashes.map((hash) => {
    const plan = `plan ${hash.slice(0, 8)}, which was left less than 24 h ago`;
    return `the state that was kept for a rollback to ${plan}, ends with this change: only the state of the plan before is kept. If that plan comes back later, it is a change like any other`;
  });
}
