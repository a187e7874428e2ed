/**
 * Which unit a number was probably meant in, where it is no likely time in the plan's own: for a person who reads why a
 * record was quarantined. A number is a time from 2000 to 2099 in one unit at most.
 */
import { Zone } from './zone.ts';
import { zonedText } from './zoned-time.ts';

const UTC = new Zone('UTC');

const LIKELY_MS_MIN = 946_684_800_000;
const LIKELY_MS_MAX = 4_102_444_800_000;

const UNITS = [
  { name: 'seconds', unitMs: 1000, setting: 's' },
  { name: 'milliseconds', unitMs: 1, setting: 'ms' },
  { name: 'microseconds', unitMs: 1e-3, setting: null },
  { name: 'nanoseconds', unitMs: 1e-6, setting: null },
] as const;

/** `; as seconds it is 2024-05-31T16:08:37Z: is time.unit "s"?`, or nothing where no other unit is likely. */
export function likelyUnitHint(value: number, planUnitMs: number, zone = UTC): string {
  for (const { name, unitMs, setting } of UNITS) {
    const timeMs = Math.floor(value * unitMs);
    const isLikely = timeMs >= LIKELY_MS_MIN && timeMs < LIKELY_MS_MAX;
    if (unitMs === planUnitMs || !isLikely) continue;
    const advice =
      setting === null
        ? 'send milliseconds, or ISO 8601 text (time.unit takes "ms" and "s" only)'
        : `is time.unit "${setting}"?`;
    return `; as ${name} it is ${zonedText(timeMs, zone)}: ${advice}`;
  }
  return '';
}

/** What a number is called in the plan's unit. */
export function unitName(unitMs: 1 | 1000): string {
  return unitMs === 1 ? 'milliseconds' : 'seconds';
}
