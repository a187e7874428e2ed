/**
 * What a slice lost under the plan that it comes back from: whether it can go on as it is under the plan before, or has to go
 * back to where it left that plan. What was quarantined meanwhile is not lost. Where it cannot be told that nothing was lost
 * or counted twice, the answer is that something was.
 */
import type { Plan } from '../definition/plan.ts';
import { type DedupePolicy, dedupePolicyOf } from '../state/dedupe-life.ts';
import type { SliceImage } from '../state/slice-image.ts';
import { sameLives } from '../state/view-life.ts';

/** Of an image of the plan before. */
export type Standing = Pick<SliceImage, 'lives' | 'dedupe' | 'progress'>;

/** `left`: where the slice left `plan`; `now`: where it is, as `plan` reads it. */
export function hasLostNothing(plan: Plan, left: Standing, now: Standing): boolean {
  return (
    left.lives.every((life, index) => sameLives(life, now.lives[index] ?? null)) &&
    left.progress.timeHash === now.progress.timeHash &&
    left.progress.lateDrops === now.progress.lateDrops &&
    now.progress.watermarkMs <= Math.max(left.progress.watermarkMs, latestWatermarkMs(plan, now)) &&
    hasJudgedIdsAlike(dedupePolicyOf(plan), left, now)
  );
}

/**
 * How far the plan could have moved the watermark by what came. One that is further ahead closes windows too early, and
 * drops what is still to come.
 */
function latestWatermarkMs({ latenessMs, idleMs, skewMs }: Plan, { progress }: Standing): number {
  const { newestMs, newestArrivalMs, shardTime } = progress;
  const timeMs = Math.min(newestMs, newestArrivalMs + (skewMs ?? Number.POSITIVE_INFINITY));
  const silentMs = idleMs === null ? Number.NEGATIVE_INFINITY : shardTime.confirmedMs - idleMs;
  return Math.max(timeMs, silentMs) - latenessMs;
}

/** No record was dropped whose id the plan would not have known, and none was counted whose id it would have. */
function hasJudgedIdsAlike(own: DedupePolicy | null, left: Standing, now: Standing): boolean {
  const [before, since] = [left.progress.counts, now.progress.counts];
  const hasDropped = since.duplicates !== before.duplicates;
  if (own?.fieldText !== now.dedupe?.fieldText) {
    return !hasDropped && since.folded === before.folded;
  }
  const [ownMs, betweenMs] = [own?.withinMs ?? 0, now.dedupe?.withinMs ?? 0];
  if (betweenMs > ownMs) return !hasDropped;
  return betweenMs === ownMs || since.folded === before.folded;
}
