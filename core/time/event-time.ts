/**
 * A record's own time, from the JSON value of its time field: a number in the plan's unit, or ISO 8601 text.
 */
import { EVENT_TIME_MS_MAX, EVENT_TIME_MS_MIN } from '../limits.ts';
import { parseIsoTime } from './iso-time.ts';
import type { Zone } from './zone.ts';

/** Whole milliseconds since the epoch (fractions are floored), or NaN where the value is no time from year 0 to 9999. */
export function readEventTime(value: unknown, unitMs: 1 | 1000, zone: Zone): number {
  let timeMs: number;
  if (typeof value === 'number') timeMs = unitMs === 1 ? Math.floor(value) : fromSeconds(value);
  else if (typeof value === 'string') timeMs = parseIsoTime(value, zone);
  else return Number.NaN;
  // Adding 0 turns −0 into 0.
  return timeMs >= EVENT_TIME_MS_MIN && timeMs <= EVENT_TIME_MS_MAX ? timeMs + 0 : Number.NaN;
}

// 978307260.123 s is no double, and a thousand times the nearest one may floor to …122 ms: a number that is written with
// at most three decimals is taken at its word.
function fromSeconds(seconds: number): number {
  const nearest = Math.round(seconds * 1000);
  return nearest / 1000 === seconds ? nearest : Math.floor(seconds * 1000);
}
