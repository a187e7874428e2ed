/**
 * How long ago something was, by clocks that may have jumped since, or that are another machine's. The difference of two
 * such readings proves nothing, so every decision says on which side it may err:
 *
 * - `mayHavePassed`: acting too early costs a little (save, look, take over), waiting for ever costs everything.
 * - `hasSurelyPassed`: acting too early cannot be undone (delete, forget). What cannot be judged begins anew (`sinceOrNow`).
 * - `isSurelyYoung`: something is left out on the ground that little time has passed.
 * - `ageToShow`: what people are told: no age rather than a false one.
 *
 * Durations within one process come from a monotonic clock, not from here. All values are milliseconds; times since the epoch.
 */

/** A larger age is one of a clock that was never set (1970) or has jumped. */
const BELIEVABLE_AGE_MS_MAX = 400 * 24 * 60 * 60_000;
/** A clock that is behind what was seen by more than this is the right one: the other was ahead. */
const CLOCK_LAG_MS_MAX = 48 * 60 * 60_000;
/** By how much clocks that are kept right may differ. */
const CLOCK_ERROR_MS_MAX = 60_000;

/**
 * True once the period is over, and also where the clock stands that far *before* the time: it was set back, and it is unknown
 * for how long it would take to come there again. So a period lasts twice as long at most.
 */
export function mayHavePassed(sinceMs: number, periodMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - sinceMs) >= periodMs;
}

/** True only if the period is over by an age that can be believed. */
export function hasSurelyPassed(sinceMs: number, periodMs: number, nowMs: number): boolean {
  const ageMs = nowMs - sinceMs;
  return ageMs >= periodMs && ageMs <= BELIEVABLE_AGE_MS_MAX;
}

/**
 * Where a period that `hasSurelyPassed` is asked of begins: where it began, also by a clock that is behind it, since a clock that
 * was set back may be put right, and would then find a period that began too early over. Now, where its age cannot be believed.
 */
export function sinceOrNow(sinceMs: number, nowMs: number): number {
  const ageMs = nowMs - sinceMs;
  return ageMs > -CLOCK_LAG_MS_MAX && ageMs <= BELIEVABLE_AGE_MS_MAX ? sinceMs : nowMs;
}

/** Where such a period begins now. `seenMs` is a time that was reached already: a clock that is behind it by more than clocks differ is not believed. */
export function beginningNow(nowMs: number, seenMs: number): number {
  const lagMs = seenMs - nowMs;
  return lagMs > CLOCK_ERROR_MS_MAX && lagMs < CLOCK_LAG_MS_MAX ? seenMs : nowMs;
}

/** True only if the time lies less than the period back, and not before a clock that is behind. */
export function isSurelyYoung(sinceMs: number, periodMs: number, nowMs: number): boolean {
  const ageMs = nowMs - sinceMs;
  return ageMs >= -CLOCK_ERROR_MS_MAX && ageMs < periodMs;
}

/** Null where the clock stands before the time. Clocks that differ a little make it `leastMs`, not less. */
export function ageToShow(sinceMs: number, nowMs: number, leastMs = 0): number | null {
  const ageMs = nowMs - sinceMs;
  return ageMs < -CLOCK_ERROR_MS_MAX ? null : Math.max(leastMs, ageMs);
}
