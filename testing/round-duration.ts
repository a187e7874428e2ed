/**
 * Durations as a person would write them into a pipeline file: rounded up, to two units at most.
 */
import { formatDuration } from '../core/definition/duration.ts';

const ROUNDING: readonly (readonly [fromMs: number, stepMs: number])[] = [
  [48 * 3_600_000, 3_600_000],
  [3_600_000, 60_000],
  [1_000, 1_000],
  [0, 1],
];

/** Never less than `ms`. */
export function durationOf(ms: number): string {
  const [, stepMs] = ROUNDING.find(([fromMs]) => ms >= fromMs) ?? [0, 1];
  return formatDuration(Math.ceil(Math.max(0, ms) / stepMs) * stepMs);
}
