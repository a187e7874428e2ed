import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWindowAssigner, type WindowPlan } from '../../core/definition/kinds/window-kinds.ts';
import { EVENT_TIME_MS_MAX, EVENT_TIME_MS_MIN } from '../../core/limits.ts';
import { parseIsoTime } from '../../core/time/iso-time.ts';
import { Zone } from '../../core/time/zone.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ZONES = [
  'UTC',
  'America/New_York',
  'America/Sao_Paulo',
  'America/Havana',
  'America/St_Johns',
  'Africa/Casablanca',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Europe/London',
  'Pacific/Apia',
  '-03:30',
];
const opened = new Map(ZONES.map((name) => [name, new Zone(name)]));
const formats = new Map(ZONES.map((name) => [name, clockOf(name)]));

const zoneName = fc.constantFrom(...ZONES);
const anyTime = fc.oneof(
  fc.integer({ min: EVENT_TIME_MS_MIN, max: EVENT_TIME_MS_MAX }),
  // Where zones have had their changes.
  fc.integer({ min: Date.UTC(1960, 0), max: Date.UTC(2037, 0) }),
);

function clockOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    era: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
}

/** What a clock of the zone shows, as if it showed UTC: another way than by formatted offsets. */
function shown(zone: string, utcMs: number): number {
  const parts = new Map(
    formats
      .get(zone)
      ?.formatToParts(utcMs)
      .map(({ type, value }) => [type, value]),
  );
  const number = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
  const year = parts.get('era')?.startsWith('B') ? 1 - number('year') : number('year');
  const date = new Date(0);
  date.setUTCFullYear(year, number('month') - 1, number('day'));
  date.setUTCHours(number('hour'), number('minute'), number('second'));
  return date.getTime() + (((utcMs % 1000) + 1000) % 1000);
}

describe('ISO 8601 times', () => {
  const utc = new Zone('UTC');

  it('agree with Date for every date and time, whichever way they are written', () => {
    const suffix = fc.constantFrom('Z', '', '+00:00', '-0000');
    fc.assert(
      fc.property(anyTime, suffix, fc.constantFrom('T', ' '), (timeMs, end, separator) => {
        const iso = new Date(timeMs).toISOString();
        expect(parseIsoTime(iso.replace('Z', end).replace('T', separator), utc)).toBe(timeMs);
        const minute = `${iso.slice(0, 16)}${end}`;
        expect(parseIsoTime(minute, utc)).toBe(Math.floor(timeMs / 60_000) * 60_000);
        expect(parseIsoTime(iso.slice(0, 10), utc)).toBe(Math.floor(timeMs / DAY_MS) * DAY_MS);
      }),
      { numRuns: 2000 },
    );
  });

  it('with an offset lie by it before what they show', () => {
    const minutes = fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 });
    fc.assert(
      fc.property(anyTime, minutes, (timeMs, offset) => {
        const two = (value: number): string => String(Math.floor(Math.abs(value))).padStart(2, '0');
        const suffix = `${offset < 0 ? '-' : '+'}${two(Math.abs(offset) / 60)}:${two(Math.abs(offset) % 60)}`;
        const text = new Date(timeMs).toISOString().replace('Z', suffix);
        expect(parseIsoTime(text, utc)).toBe(timeMs - offset * 60_000);
      }),
    );
  });

  it('are refused exactly where the calendar has no such day', () => {
    const part = (max: number): fc.Arbitrary<number> => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(part(9999), part(14), part(33), (year, month, day) => {
        const pad = (value: number, length: number): string => String(value).padStart(length, '0');
        const date = new Date(0);
        date.setUTCFullYear(year, month - 1, day);
        const exists =
          date.getUTCFullYear() === year &&
          date.getUTCMonth() === month - 1 &&
          date.getUTCDate() === day;
        const timeMs = parseIsoTime(`${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`, utc);
        expect(timeMs).toBe(exists ? date.getTime() : Number.NaN);
      }),
      { numRuns: 2000 },
    );
  });

  it('are never read from texts that are nearly right', () => {
    const spoilt = fc.tuple(anyTime, fc.nat(23), fc.constantFrom('x', ' ', '-', ':', '٣', ''));
    fc.assert(
      fc.property(spoilt, ([timeMs, where, character]) => {
        const iso = new Date(timeMs).toISOString();
        const text = iso.slice(0, where) + character + iso.slice(where + 1);
        const read = parseIsoTime(text, utc);
        // What is still right after the change: a space for T, a shorter fraction, no Z.
        const isRight = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d{1,3}Z?$/.test(text);
        expect(Number.isNaN(read)).toBe(!isRight);
      }),
      { numRuns: 1000 },
    );
  });

  it('in a zone name an instant at which its clock shows them', () => {
    let skipped = 0;
    fc.assert(
      fc.property(
        zoneName,
        fc.integer({ min: Date.UTC(1960, 0), max: Date.UTC(2037, 0) }),
        (name, localMs) => {
          const text = new Date(localMs).toISOString().slice(0, -1);
          const utcMs = parseIsoTime(text, opened.get(name) ?? utc);
          if (shown(name, utcMs) === localMs) return;
          // The clock skips this time: just before it showed less, and now it shows more.
          skipped++;
          expect(shown(name, utcMs)).toBeGreaterThan(localMs);
          expect(shown(name, utcMs - DAY_MS)).toBeLessThan(localMs);
        },
      ),
      { numRuns: 2000, examples: [['Pacific/Apia', Date.UTC(2011, 11, 30, 12)]] },
    );
    expect(skipped).toBeGreaterThan(0);
  });
});

describe('zones', () => {
  it('know the offset at any instant, in any order', () => {
    fc.assert(
      fc.property(zoneName, fc.array(anyTime, { minLength: 1, maxLength: 6 }), (name, times) => {
        for (const time of times) {
          // Offsets of the time before zones have seconds, which some formats leave out.
          const utcMs = Math.floor(time / 1000) * 1000;
          expect(opened.get(name)?.offsetAt(utcMs)).toBe(shown(name, utcMs) - utcMs);
        }
      }),
      { numRuns: 1500 },
    );
  });
});

describe('windows', () => {
  const windowPlan: fc.Arbitrary<WindowPlan> = fc.oneof(
    fc
      .constantFrom(1, 2, 7, 30)
      .map((days) => ({ kind: 'tumbling' as const, sizeMs: days * DAY_MS, days })),
    fc
      .oneof(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1000, max: 100 * DAY_MS }))
      .map((sizeMs) => {
        return { kind: 'tumbling' as const, sizeMs, days: 0 };
      }),
  );

  it('tile time: each instant lies in one, and one begins where another ends', () => {
    fc.assert(
      fc.property(windowPlan, zoneName, anyTime, (window, zone, timeMs) => {
        const asked = createWindowAssigner(window, zone);
        const startMs = asked.startOf(timeMs);
        const endMs = asked.endOf(startMs);
        expect(startMs).toBeLessThanOrEqual(timeMs);
        expect(endMs).toBeGreaterThan(timeMs);
        // Asked afresh, and from both edges: the same window, and its neighbours touch it.
        const fresh = createWindowAssigner(window, zone);
        expect(fresh.endOf(startMs)).toBe(endMs);
        expect(fresh.startOf(endMs - 1)).toBe(startMs);
        expect(fresh.startOf(startMs)).toBe(startMs);
        expect(fresh.startOf(endMs)).toBe(endMs);
        expect(fresh.endOf(fresh.startOf(startMs - 1))).toBe(startMs);
      }),
      { numRuns: 2000 },
    );
  });

  it('of days follow one another through a year, with the hours that clocks take and give', () => {
    const year = [Date.UTC(2024, 0, 10), Date.UTC(2025, 0, 10)] as const;
    const hoursOf = (zone: string): Record<number, number> => {
      const days = createWindowAssigner({ kind: 'tumbling', sizeMs: DAY_MS, days: 1 }, zone);
      const counts: Record<number, number> = {};
      let startMs = days.startOf(year[0]);
      while (startMs < year[1]) {
        const endMs = days.endOf(startMs);
        const hours = (endMs - startMs) / HOUR_MS;
        counts[hours] = (counts[hours] ?? 0) + 1;
        // Midnight on the zone's own clock.
        expect(shown(zone, startMs) % DAY_MS).toBe(0);
        startMs = endMs;
      }
      return counts;
    };
    expect(hoursOf('America/New_York')).toEqual({ 23: 1, 24: 365, 25: 1 });
    expect(hoursOf('Australia/Lord_Howe')).toEqual({ 23.5: 1, 24: 365, 24.5: 1 });
    expect(hoursOf('Asia/Kolkata')).toEqual({ 24: 367 });
  });
});
