/**
 * Durations as text: whole numbers with units, the larger unit first and each at most once: "500ms", "1h30m", "7d". A day
 * is 24 hours here; only windows of whole days follow the zone.
 */
import { DURATION_MS_MAX } from '../limits.ts';

type TimeUnit = 'ms' | 's' | 'm' | 'h' | 'd';

/** Whole numbers with units, the larger unit first: `"500ms"`, `"30s"`, `"10m"`, `"1h30m"`, `"7d"`. */
export type Duration =
  | `${number}${TimeUnit}`
  | `${number}${TimeUnit}${number}${TimeUnit}`
  | `${number}${TimeUnit}${number}${TimeUnit}${number}${TimeUnit}`;

export interface ParsedDuration {
  readonly ms: number;
  /** Whole days when written in days and nothing else, otherwise 0. */
  readonly days: number;
  /** True when days stand beside smaller units. */
  readonly mixed: boolean;
}

const DURATION =
  /^(?:(\d{1,15})d)?(?:(\d{1,15})h)?(?:(\d{1,15})m)?(?:(\d{1,15})s)?(?:(\d{1,15})ms)?$/;
const DAY_MS = 86_400_000;
const UNITS = [
  ['d', DAY_MS],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** The duration, or null for any other text and for one of more than `DURATION_MS_MAX`. */
export function parseDuration(text: string): ParsedDuration | null {
  const match = DURATION.exec(text);
  if (match === null || text === '') return null;
  const [, days, ...smaller] = match;
  let ms = 0;
  for (const [index, [, unitMs]] of UNITS.entries()) ms += Number(match[index + 1] ?? 0) * unitMs;
  if (ms > DURATION_MS_MAX) return null;
  const hasSmaller = smaller.some((part) => part !== undefined);
  return {
    ms,
    days: hasSmaller ? 0 : Number(days),
    mixed: days !== undefined && hasSmaller,
  };
}

/** The canonical text of a duration: "1h30m", "0s". */
export function formatDuration(ms: number): Duration {
  return formatUnits(ms, UNITS);
}

/** The canonical text of a duration that is not a number of the zone's days: "24h". */
export function formatHours(ms: number): Duration {
  return formatUnits(ms, UNITS.slice(1));
}

function formatUnits(ms: number, units: readonly (readonly [TimeUnit, number])[]): Duration {
  if (ms === 0) return '0s';
  let rest = ms;
  let text = '';
  for (const [unit, unitMs] of units) {
    const amount = Math.floor(rest / unitMs);
    if (amount > 0) text += `${amount}${unit}`;
    rest -= amount * unitMs;
  }
  return text as Duration;
}
