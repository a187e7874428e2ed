/**
 * Times as answers write them and as questions name them: ISO 8601 in the pipeline's zone.
 *
 * Every text that is written has its offset and names the instant exactly, so that it can be read anywhere, and asked for
 * again. A zone that is UTC writes `Z`.
 */
import { EVENT_TIME_MS_MAX, EVENT_TIME_MS_MIN } from '../limits.ts';
import { parseIsoTime } from './iso-time.ts';
import { Zone } from './zone.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DATE_LENGTH = 'yyyy-mm-dd'.length;

const utc = new Zone('UTC');

/** ISO 8601 with milliseconds and offset, such as 2024-06-15T00:00:00.000+02:00. */
export function zonedIsoTime(timeMs: number, zone: Zone): string {
  // An offset is written in whole minutes. Before zones had such ones, the clock shown is off by less than a minute.
  const offsetMs = Math.trunc(zone.offsetAt(timeMs) / MINUTE_MS) * MINUTE_MS;
  const localMs = timeMs + offsetMs;
  const hasFourDigitYear = localMs >= EVENT_TIME_MS_MIN && localMs <= EVENT_TIME_MS_MAX;
  if (zone.isUtc || !hasFourDigitYear) return new Date(timeMs).toISOString();
  return `${new Date(localMs).toISOString().slice(0, -1)}${offsetText(offsetMs)}`;
}

/** The same for a message: without a fraction that is zero. */
export function zonedText(timeMs: number, zone: Zone): string {
  return zonedIsoTime(timeMs, zone).replace(/\.000(?=Z|[+-]\d\d:\d\d$)/, '');
}

/**
 * The instant that a question means, or NaN: a time without offset is one of the zone, by the rule that records are read by
 * (shown twice: the first; skipped: by the offset before). A date alone is the first instant of that day in the zone.
 */
export function readZonedTime(text: string, zone: Zone): number {
  if (text.length !== DATE_LENGTH) return parseIsoTime(text, zone);
  const dateMs = parseIsoTime(text, utc);
  return Number.isNaN(dateMs) ? dateMs : zone.dayStart(dateMs / DAY_MS);
}

function offsetText(offsetMs: number): string {
  const sign = offsetMs < 0 ? '-' : '+';
  const size = Math.abs(offsetMs);
  const hours = Math.floor(size / HOUR_MS);
  const minutes = (size % HOUR_MS) / MINUTE_MS;
  return `${sign}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
}
