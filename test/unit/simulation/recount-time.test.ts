import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWindowAssigner } from '../../../core/definition/kinds/window-kinds.ts';
import { readEventTime } from '../../../core/time/event-time.ts';
import { Zone } from '../../../core/time/zone.ts';
import { eventTimeOf, LocalCalendar, windowAt } from '../../../simulation/recount-time.ts';

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')];
const HOUR_MS = 3_600_000;
/** Mostly near midnights of the years in which zones changed their clocks. */
const anyInstant = fc.oneof(
  fc.integer({ min: -2_000_000_000_000, max: 2_000_000_000_000 }),
  fc
    .tuple(fc.integer({ min: -25_000, max: 25_000 }), fc.integer({ min: -50, max: 50 }))
    .map(([day, quarters]) => day * 24 * HOUR_MS + quarters * (HOUR_MS / 4)),
);

describe('the windows of the oracle', () => {
  it.each([1, 7])('of %i days are those of the product, in every zone', (days) => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), fc.array(anyInstant), (zone, instants) => {
        const window = { kind: 'tumbling', sizeMs: days * 24 * HOUR_MS, days } as const;
        const [calendar, windows] = [new LocalCalendar(zone), createWindowAssigner(window, zone)];
        for (const instant of instants) {
          const startMs = windows.startOf(instant);
          const endMs = windows.endOf(startMs);
          expect(windowAt(window, calendar, instant)).toEqual({ startMs, endMs });
          expect(windowAt(window, calendar, endMs - 1)).toEqual({ startMs, endMs });
          expect(windowAt(window, calendar, endMs).startMs).toBe(endMs);
        }
      }),
      { seed: 5, numRuns: 300, endOnFailure: true },
    );
  });

  it('begin at a midnight that the clock shows for a minute and again an hour later', () => {
    const calendar = new LocalCalendar('America/St_Johns');
    const window = { kind: 'tumbling', sizeMs: 24 * HOUR_MS, days: 1 } as const;
    const span = windowAt(window, calendar, Date.parse('2006-10-29T12:00:00Z'));
    expect(new Date(span.startMs).toISOString()).toBe('2006-10-29T02:30:00.000Z');
  });
});

describe('the times of the oracle', () => {
  const anyText = fc
    .tuple(
      fc.constantFrom(...ZONES),
      anyInstant,
      fc.constantFrom('', 'Z', '+05:30', '-0330', '+14', ':00', '.5', ',98765Z', '+24:00', '+1:00'),
      fc.integer({ min: 9, max: 24 }),
    )
    .map(([zone, instant, end, length]) => {
      const text = new Date(instant).toISOString().slice(0, length).replace('Z', '');
      return [zone, `${text}${end}`] as const;
    });

  it('are those of the product, for any text', () => {
    fc.assert(
      fc.property(anyText, ([zone, text]) => {
        const timeMs = readEventTime(text, 1, new Zone(zone));
        expect(eventTimeOf(text, 1, new LocalCalendar(zone))).toBe(
          Number.isNaN(timeMs) ? null : timeMs,
        );
      }),
      { seed: 6, numRuns: 2_000, endOnFailure: true },
    );
  });

  it('are those of the product, for any number', () => {
    const calendar = new LocalCalendar('UTC');
    const anyNumber = fc.oneof(
      fc.double({ min: -1e11, max: 1e12, noNaN: true }),
      fc.integer({ min: -2e12, max: 2e12 }).map((ms) => ms / 1000),
      fc.integer({ min: -2e12, max: 2e12 }).map((ms) => ms / 1000 + 0.000_25),
      fc.constantFrom(-0, 5e-324, -5e-324, 1e-7, -1e-7, 1e300, Number.MAX_SAFE_INTEGER),
    );
    fc.assert(
      fc.property(anyNumber, fc.constantFrom(1 as const, 1000 as const), (value, unitMs) => {
        const timeMs = readEventTime(value, unitMs, new Zone('UTC'));
        expect(eventTimeOf(value, unitMs, calendar)).toBe(Number.isNaN(timeMs) ? null : timeMs);
      }),
      { seed: 7, numRuns: 5_000, endOnFailure: true },
    );
  });
});
