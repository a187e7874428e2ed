/**
 * The oracle's times: a record's own time, local time by the runtime's calendar, and the window of an instant. It asks
 * the runtime for each instant anew and looks for boundaries by trying, where the product remembers ranges of offsets.
 */
import type { WindowPlan } from '../core/definition/kinds/window-kinds.ts';
import { EVENT_TIME_MS_MAX, EVENT_TIME_MS_MIN } from '../core/limits.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** No zone is further from UTC, and none changes its offset twice in twice this time. */
const FAR_MS = 26 * HOUR_MS;

export interface WindowSpan {
  readonly startMs: number;
  /** Exclusive; Infinity where there are no windows. */
  readonly endMs: number;
}

const calendars = new Map<string, LocalCalendar>();

/** One is enough for each zone: making it takes longer than asking it. */
export function calendarOf(zone: string): LocalCalendar {
  let calendar = calendars.get(zone);
  if (calendar === undefined) {
    calendar = new LocalCalendar(zone);
    calendars.set(zone, calendar);
  }
  return calendar;
}

/** Local time of a zone. */
export class LocalCalendar {
  readonly #format: Intl.DateTimeFormat;
  readonly #dayStarts = new Map<number, number>();
  readonly #isUtc: boolean;

  constructor(zone: string) {
    this.#format = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone: zone,
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      hourCycle: 'h23',
    });
    this.#isUtc = this.#format.resolvedOptions().timeZone === 'UTC';
  }

  /** What a clock of the zone shows, as if that were UTC. */
  localAt(utcMs: number): number {
    if (this.#isUtc) return utcMs;
    const seconds = Math.floor(utcMs / 1000) * 1000;
    const parts = Object.fromEntries(
      this.#format.formatToParts(seconds).map(({ type, value }) => [type, value]),
    );
    const year = Number(parts['year']);
    const date = new Date(0);
    date.setUTCFullYear(
      parts['era']?.startsWith('B') ? 1 - year : year,
      Number(parts['month']) - 1,
      Number(parts['day']),
    );
    date.setUTCHours(Number(parts['hour']), Number(parts['minute']), Number(parts['second']));
    return date.getTime() + (utcMs - seconds);
  }

  /** The first instant at which a clock shows this; one that is skipped is read by the offset before the change. */
  utcOf(localMs: number): number {
    if (this.#isUtc) return localMs;
    const offsets = [localMs - FAR_MS, localMs + FAR_MS].map((at) => this.localAt(at) - at);
    const instants = offsets.map((offset) => localMs - offset);
    const shown = instants.filter((at) => this.localAt(at) === localMs);
    return shown.length > 0 ? Math.min(...shown) : (instants[0] as number);
  }

  /** The first instant of which the local date is this day or a later one, in days since 1970-01-01. */
  dayStart(day: number): number {
    if (this.#isUtc) return day * DAY_MS;
    const known = this.#dayStarts.get(day);
    if (known !== undefined) return known;
    const start = this.#findDayStart(day * DAY_MS);
    this.#dayStarts.set(day, start);
    return start;
  }

  #findDayStart(midnightMs: number): number {
    const [from, to] = [midnightMs - FAR_MS, midnightMs + FAR_MS];
    const offset = this.localAt(from) - from;
    if (offset === this.localAt(to) - to) return midnightMs - offset;
    // A clock that changes shortly after midnight may show the new day for a minute only.
    let late = from;
    while (this.localAt(late) < midnightMs) late += MINUTE_MS;
    let early = late - MINUTE_MS;
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2);
      if (this.localAt(middle) < midnightMs) early = middle;
      else late = middle;
    }
    return late;
  }
}

/** The window that holds an instant. */
export function windowAt(window: WindowPlan, calendar: LocalCalendar, timeMs: number): WindowSpan {
  if (window.kind === 'all') return { startMs: 0, endMs: Number.POSITIVE_INFINITY };
  const { days, sizeMs } = window;
  if (days === 0) {
    const startMs = Math.floor(timeMs / sizeMs) * sizeMs;
    return { startMs, endMs: startMs + sizeMs };
  }
  let index = Math.floor(calendar.localAt(timeMs) / DAY_MS / days);
  while (calendar.dayStart((index + 1) * days) <= timeMs) index++;
  while (calendar.dayStart(index * days) > timeMs) index--;
  return {
    startMs: calendar.dayStart(index * days),
    endMs: calendar.dayStart((index + 1) * days),
  };
}

/** The time that a JSON value names, or null. */
export function eventTimeOf(
  value: unknown,
  unitMs: 1 | 1000,
  calendar: LocalCalendar,
): number | null {
  let timeMs: number | null = null;
  if (typeof value === 'number') timeMs = unitMs === 1 ? Math.floor(value) : msOfSeconds(value);
  else if (typeof value === 'string') timeMs = msOfIso(value, calendar);
  const isTime = timeMs !== null && timeMs >= EVENT_TIME_MS_MIN && timeMs <= EVENT_TIME_MS_MAX;
  return isTime ? (timeMs as number) + 0 : null;
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Whole milliseconds of the decimal number as it is written, rounded down. */
function msOfSeconds(seconds: number): number | null {
  const match = DECIMAL.exec(String(seconds));
  if (match === null) return Math.abs(seconds) < 1 ? Math.floor(seconds) : null;
  const [, sign, whole, fraction = ''] = match;
  const ms = Number(`${whole}${fraction.slice(0, 3).padEnd(3, '0')}`);
  const isCut = /[1-9]/.test(fraction.slice(3));
  return sign === '-' ? -ms - (isCut ? 1 : 0) : ms;
}

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|([+-])(\d\d)(?::?(\d\d))?)?)?$/;

function msOfIso(text: string, calendar: LocalCalendar): number | null {
  const match = ISO.exec(text);
  if (match === null) return null;
  const numbers = match.slice(1, 7).map((part) => Number(part ?? 0));
  const [year, month, day, hour, minute, second] = numbers as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [, , , , , , , fraction = '', zone, sign, offsetHour = '0', offsetMinute = '0'] = match;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isDay = month >= 1 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!isDay || hour > 23 || minute > 59 || second > 59) return null;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null;
  const ms = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const localMs = date.getTime() + hour * HOUR_MS + minute * MINUTE_MS + second * 1000 + ms;
  if (zone === undefined) return calendar.utcOf(localMs);
  const offsetMs = Number(offsetHour) * HOUR_MS + Number(offsetMinute) * MINUTE_MS;
  return sign === '-' ? localMs + offsetMs : localMs - offsetMs;
}
