/**
 * ISO 8601 text to milliseconds since the epoch, strictly: `Date.parse` takes too much, and reads times without offset in
 * the machine's zone.
 *
 *   2026-11-29 · 2026-11-29T08:15 · 2026-11-29T08:15:30 · 2026-11-29T08:15:30.123456Z · 2026-11-29 08:15:30+05:30
 *
 * Four-digit years; `T` or one space between date and time; a fraction of a second after a dot or a comma, of which whole
 * milliseconds count; `Z`, ±hh:mm, ±hhmm or ±hh. A date alone is its midnight. No 24:00, no leap second 60.
 */
import type { Zone } from './zone.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const DATE_LENGTH = 10;
const DIGIT_0 = 48;
const DIGIT_9 = 57;
const MINUS = 45;
const PLUS = 43;
const COLON = 58;
const DOT = 46;
const COMMA = 44;
const SPACE = 32;
const LETTER_T = 84;
const LETTER_Z = 90;

/** The instant, or NaN for any other text. A time without offset is one of `zone`. */
export function parseIsoTime(text: string, zone: Zone): number {
  const dateMs = parseDate(text);
  if (text.length === DATE_LENGTH) return Number.isNaN(dateMs) ? dateMs : zone.toUtc(dateMs);
  const separator = text.charCodeAt(DATE_LENGTH);
  if (separator !== LETTER_T && separator !== SPACE) return Number.NaN;
  const hour = digits(text, 11, 2);
  const minute = digits(text, 14, 2);
  if (text.charCodeAt(13) !== COLON || !(hour <= 23 && minute <= 59)) return Number.NaN;
  let localMs = dateMs + hour * HOUR_MS + minute * MINUTE_MS;
  let at = 16;
  if (text.charCodeAt(at) === COLON) {
    const second = digits(text, 17, 2);
    if (!(second <= 59)) return Number.NaN;
    localMs += second * 1000;
    at = 19;
    const mark = text.charCodeAt(at);
    if (mark === DOT || mark === COMMA) {
      const end = digitsEnd(text, at + 1);
      if (end === at + 1) return Number.NaN;
      localMs += fractionMs(text, at + 1, end);
      at = end;
    }
  }
  if (at === text.length) return Number.isNaN(localMs) ? localMs : zone.toUtc(localMs);
  return localMs - parseOffset(text, at);
}

/** Milliseconds to the midnight that "yyyy-mm-dd" at the start of `text` names, on a clock that shows UTC. */
function parseDate(text: string): number {
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 2);
  const day = digits(text, 8, 2);
  if (text.charCodeAt(4) !== MINUS || text.charCodeAt(7) !== MINUS) return Number.NaN;
  if (!(year >= 0 && month >= 1 && month <= 12 && day >= 1)) return Number.NaN;
  return day <= daysInMonth(year, month) ? daysSinceEpoch(year, month, day) * DAY_MS : Number.NaN;
}

function parseOffset(text: string, at: number): number {
  const sign = text.charCodeAt(at);
  if (sign === LETTER_Z) return text.length === at + 1 ? 0 : Number.NaN;
  if (sign !== PLUS && sign !== MINUS) return Number.NaN;
  const hour = digits(text, at + 1, 2);
  let minute = 0;
  let end = at + 3;
  if (end < text.length) {
    if (text.charCodeAt(end) === COLON) end++;
    minute = digits(text, end, 2);
    end += 2;
  }
  if (end !== text.length || !(hour <= 23 && minute <= 59)) return Number.NaN;
  const offsetMs = hour * HOUR_MS + minute * MINUTE_MS;
  return sign === MINUS ? -offsetMs : offsetMs;
}

/** The number that `count` digits at `from` write, or NaN if they are not all digits. */
function digits(text: string, from: number, count: number): number {
  let value = 0;
  for (let index = from; index < from + count; index++) {
    const code = text.charCodeAt(index);
    // charCodeAt is NaN past the end, and no comparison with NaN holds.
    if (!(code >= DIGIT_0 && code <= DIGIT_9)) return Number.NaN;
    value = value * 10 + code - DIGIT_0;
  }
  return value;
}

function digitsEnd(text: string, from: number): number {
  let end = from;
  for (;;) {
    const code = text.charCodeAt(end);
    if (!(code >= DIGIT_0 && code <= DIGIT_9)) return end;
    end++;
  }
}

function fractionMs(text: string, from: number, end: number): number {
  const length = Math.min(end - from, 3);
  return digits(text, from, length) * 10 ** (3 - length);
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

const DAYS_BEFORE_MONTH = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
const DAYS_FROM_YEAR_0_TO_EPOCH = 719_528;

/** In the proleptic Gregorian calendar, from the year 0. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const past = year - 1;
  // The year 0 is a leap year that the other terms do not count.
  const leapDays = Math.floor(past / 4) - Math.floor(past / 100) + Math.floor(past / 400) + 1;
  const leapDay = month > 2 && isLeapYear(year) ? 1 : 0;
  const inYear = (DAYS_BEFORE_MONTH[month - 1] as number) + leapDay + day - 1;
  return year * 365 + leapDays + inYear - DAYS_FROM_YEAR_0_TO_EPOCH;
}
