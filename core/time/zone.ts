/**
 * A time zone's offsets, fast enough to be asked for every record. The runtime's time zone data is asked twice a day of
 * event time; in between the answer comes from the range in which the offset is known to be constant.
 *
 * Rests on: no zone changes its offset twice within 48 hours (the closest pair on record is 95 hours apart).
 */
import { assert } from '../assert.ts';

const DAY_MS = 86_400_000;
const DAYS_KEPT_MAX = 4096;

/** One UTC day of a zone: its offset before and from an instant; `changeMs` is the day's end where nothing changes. */
interface OffsetDay {
  readonly beforeMs: number;
  readonly changeMs: number;
  readonly afterMs: number;
}

/** Making one takes longer than all that it is asked. */
const formats = new Map<string, { format: Intl.DateTimeFormat; isUtc: boolean }>();

function formatOf(timeZone: string): { format: Intl.DateTimeFormat; isUtc: boolean } {
  let known = formats.get(timeZone);
  if (known === undefined) {
    const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    known = { format, isUtc: format.resolvedOptions().timeZone === 'UTC' };
    formats.set(timeZone, known);
  }
  return known;
}

export class Zone {
  /** Its clock always shows UTC. */
  readonly isUtc: boolean;
  readonly #format: Intl.DateTimeFormat;
  readonly #days = new Map<number, OffsetDay>();
  // The offset is #offsetMs at every instant of [#fromMs, #toMs).
  #fromMs = 0;
  #toMs = 0;
  #offsetMs = 0;

  /** `name` is one that the plan accepted. */
  constructor(name: string) {
    const { format, isUtc } = formatOf(name);
    this.#format = format;
    this.isUtc = isUtc;
    if (!isUtc) return;
    this.#fromMs = Number.NEGATIVE_INFINITY;
    this.#toMs = Number.POSITIVE_INFINITY;
  }

  /** Local time minus UTC at an instant. */
  offsetAt(utcMs: number): number {
    if (utcMs >= this.#fromMs && utcMs < this.#toMs) return this.#offsetMs;
    return this.#lookUp(utcMs);
  }

  /**
   * The instant at which a clock of the zone shows `localMs` (milliseconds since 1970-01-01T00:00 on that clock). A time
   * that the clock shows twice means the first; one that it skips is read with the offset before the change, and so lies
   * as far after the change as it was written.
   */
  toUtc(localMs: number): number {
    if (localMs - DAY_MS >= this.#fromMs && localMs + DAY_MS < this.#toMs) {
      return localMs - this.#offsetMs;
    }
    const beforeMs = this.offsetAt(localMs - DAY_MS);
    const afterMs = this.offsetAt(localMs + DAY_MS);
    const first = localMs - beforeMs;
    if (this.offsetAt(first) === beforeMs) return first;
    const second = localMs - afterMs;
    return this.offsetAt(second) === afterMs ? second : first;
  }

  /** The local day of an instant, in days since 1970-01-01. */
  dayAt(utcMs: number): number {
    return Math.floor((utcMs + this.offsetAt(utcMs)) / DAY_MS);
  }

  /** The first instant of a local day; where the clock skips midnight, the instant of the change. */
  dayStart(day: number): number {
    const localMs = day * DAY_MS;
    const start = this.toUtc(localMs);
    if (start + this.offsetAt(start) === localMs) return start;
    return this.#changeBefore(start);
  }

  // `utcMs` lies at or after a change that skipped less than a day and a half.
  #changeBefore(utcMs: number): number {
    const after = this.offsetAt(utcMs);
    let low = utcMs - 2 * DAY_MS;
    let high = utcMs;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetAt(middle) === after) high = middle;
      else low = middle;
    }
    return high;
  }

  #lookUp(utcMs: number): number {
    const dayStart = Math.floor(utcMs / DAY_MS) * DAY_MS;
    const day = this.#dayFrom(dayStart);
    const isBefore = utcMs < day.changeMs;
    const fromMs = isBefore ? dayStart : day.changeMs;
    const toMs = isBefore ? day.changeMs : dayStart + DAY_MS;
    const offsetMs = isBefore ? day.beforeMs : day.afterMs;
    // Neighbouring days of one offset grow into one range.
    const grows = offsetMs === this.#offsetMs && (fromMs === this.#toMs || toMs === this.#fromMs);
    this.#fromMs = grows ? Math.min(fromMs, this.#fromMs) : fromMs;
    this.#toMs = grows ? Math.max(toMs, this.#toMs) : toMs;
    this.#offsetMs = offsetMs;
    return offsetMs;
  }

  #dayFrom(dayStart: number): OffsetDay {
    const kept = this.#days.get(dayStart);
    if (kept !== undefined) return kept;
    const beforeMs = this.#ask(dayStart);
    const afterMs = this.#ask(dayStart + DAY_MS - 1);
    let changeMs = dayStart + DAY_MS;
    if (beforeMs !== afterMs) {
      let low = dayStart;
      changeMs -= 1;
      while (changeMs - low > 1) {
        const middle = Math.floor((low + changeMs) / 2);
        if (this.#ask(middle) === beforeMs) low = middle;
        else changeMs = middle;
      }
    }
    const day = { beforeMs, changeMs, afterMs };
    if (this.#days.size >= DAYS_KEPT_MAX) this.#days.clear();
    this.#days.set(dayStart, day);
    return day;
  }

  #ask(utcMs: number): number {
    return parseOffset(this.#format.format(utcMs));
  }
}

const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

/** From the end of "11/29/2026, GMT-04:56:02". */
function parseOffset(formatted: string): number {
  const match = OFFSET.exec(formatted);
  assert(match !== null, 'formatted-time-ends-in-its-offset', () => formatted);
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -ms : ms;
}
