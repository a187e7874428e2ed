/**
 * The windows of a view for a person: their size, where one of them begins, and what is easily taken for something else.
 */
import {
  createWindowAssigner,
  type WindowPlan,
  windowOf,
  windowSpan,
} from '../core/definition/kinds/window-kinds.ts';
import { Zone } from '../core/time/zone.ts';
import { zonedText } from '../core/time/zoned-time.ts';

const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;

/** `windows of 7d (the one of now began on Thursday, 2026-11-26T00:00:00+01:00)`, or `all time`. */
export function describeWindow(window: WindowPlan, zoneName: string, nowMs: number): string {
  const text = windowOf(window).describe(window);
  const span = windowSpan(window);
  if (span === null) return text;
  const zone = new Zone(zoneName);
  const startMs = createWindowAssigner(window, zoneName).startOf(nowMs);
  const day = span.lengthMs > DAY_MS ? `on ${weekdayOf(startMs, zone)}, ` : '';
  return `${text} (the one of now began ${day}${zonedText(startMs, zone)})`;
}

/** Sentences about windows that begin where few expect it; none of most. */
export function windowNotes(window: WindowPlan, zoneName: string, nowMs: number): string[] {
  const span = windowSpan(window);
  if (span === null) return [];
  const zone = new Zone(zoneName);
  const { days, lengthMs } = span;
  if (days === 0 && lengthMs % DAY_MS === 0 && !zone.isUtc) {
    const times = clockTimesAtUtcMidnight(zone, nowMs).join(' or ');
    return [
      `windows in hours begin at midnight UTC, which is ${times} in ${zoneName}; "${lengthMs / DAY_MS}d" begins at midnight of the zone`,
    ];
  }
  if (days % WEEK_DAYS === 0 && days > 0) {
    const startMs = createWindowAssigner(window, zoneName).startOf(nowMs);
    return [
      `windows of ${days}d begin on a ${weekdayOf(startMs, zone)}: days are counted from 1970-01-01`,
    ];
  }
  return [];
}

function weekdayOf(timeMs: number, zone: Zone): string {
  const local = new Date(timeMs + zone.offsetAt(timeMs));
  return local.toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' });
}

/** What the zone's clock shows at midnight UTC, in the half years of now. */
function clockTimesAtUtcMidnight(zone: Zone, nowMs: number): string[] {
  const midnightMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const times = [0, 1].map((half) => {
    const timeMs = midnightMs - half * Math.floor(DAYS_IN_YEAR / 2) * DAY_MS;
    return new Date(timeMs + zone.offsetAt(timeMs)).toISOString().slice(11, 16);
  });
  return [...new Set(times)].sort();
}

const DAYS_IN_YEAR = 365;
