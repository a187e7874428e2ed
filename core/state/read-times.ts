/**
 * What a change of the way in which times are read means for what was folded before it.
 */
import type { Plan } from '../definition/plan.ts';
import { timeHash } from '../definition/plan-hash.ts';
import type { FoldProgress } from './state-change.ts';

/** Where times are read in another way from here on, those that were read until here say nothing of what is missing. */
export function adoptTimes(progress: FoldProgress, plan: Plan): void {
  const own = timeHash(plan);
  const { timeHash: former, newestArrivalMs } = progress;
  if (former === own) return;
  progress.timeHash = own;
  progress.otherTimesUntilMs = newestArrivalMs;
  progress.newestMs = Number.NEGATIVE_INFINITY;
  progress.highMs = Number.NEGATIVE_INFINITY;
}

/** No record until here has a time from then on: by its time where that was read, otherwise by its arrival and the skew. */
export function coveredFrom({ newestMs, otherTimesUntilMs }: FoldProgress, plan: Plan): number {
  if (otherTimesUntilMs === Number.NEGATIVE_INFINITY) return newestMs + 1;
  const aheadMs = plan.time === null ? 0 : (plan.skewMs ?? Number.POSITIVE_INFINITY);
  return Math.max(newestMs, otherTimesUntilMs + aheadMs) + 1;
}
