import { describe, expect, it } from 'vitest';
import { EVENT_TIME_MS_MAX, EVENT_TIME_MS_MIN } from '../../../core/limits.ts';
import { readEventTime } from '../../../core/time/event-time.ts';
import { Zone } from '../../../core/time/zone.ts';

const utc = new Zone('UTC');

describe('event times', () => {
  it('are numbers of milliseconds, whose fractions are floored', () => {
    expect(readEventTime(978_307_260_000, 1, utc)).toBe(978_307_260_000);
    expect(readEventTime(1.9, 1, utc)).toBe(1);
    expect(readEventTime(-1.1, 1, utc)).toBe(-2);
  });

  it('are numbers of seconds, of which the decimals that were written count', () => {
    expect(readEventTime(978_307_260, 1000, utc)).toBe(978_307_260_000);
    expect(readEventTime(978_307_260.123, 1000, utc)).toBe(978_307_260_123);
    expect(readEventTime(1.001, 1000, utc)).toBe(1001);
    expect(readEventTime(1.0019, 1000, utc)).toBe(1001);
    expect(readEventTime(-0.0005, 1000, utc)).toBe(-1);
  });

  it('in seconds are exact for every millisecond of a while', () => {
    for (let ms = 1_785_000_000_000; ms < 1_785_000_002_000; ms++) {
      expect(
        readEventTime(
          Number(`${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, '0')}`),
          1000,
          utc,
        ),
      ).toBe(ms);
    }
  });

  it('are ISO 8601 texts, whatever the unit of numbers', () => {
    expect(readEventTime('2001-01-01T00:01:00Z', 1000, utc)).toBe(978_307_260_000);
  });

  it('are never −0', () => {
    expect(Object.is(readEventTime(-0, 1, utc), 0)).toBe(true);
    expect(Object.is(readEventTime(-0, 1000, utc), 0)).toBe(true);
  });

  it('lie in the years 0000 to 9999: microseconds by mistake do not pass for milliseconds', () => {
    expect(readEventTime(EVENT_TIME_MS_MIN, 1, utc)).toBe(EVENT_TIME_MS_MIN);
    expect(readEventTime(EVENT_TIME_MS_MAX, 1, utc)).toBe(EVENT_TIME_MS_MAX);
    expect(new Date(EVENT_TIME_MS_MIN).toISOString()).toBe('0000-01-01T00:00:00.000Z');
    expect(new Date(EVENT_TIME_MS_MAX).toISOString()).toBe('9999-12-31T23:59:59.999Z');
    expect(readEventTime(EVENT_TIME_MS_MIN - 1, 1, utc)).toBeNaN();
    expect(readEventTime(EVENT_TIME_MS_MAX + 1, 1, utc)).toBeNaN();
    expect(readEventTime(1_785_000_000_000_000, 1, utc)).toBeNaN();
    expect(readEventTime('9999-12-31T23:59:59-01:00', 1, utc)).toBeNaN();
  });

  it.each([
    [null],
    [undefined],
    [true],
    [{}],
    [[978_307_260_000]],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    ['978307260000'],
    [''],
  ])('are never read from %j', (value) => {
    expect(readEventTime(value, 1, utc)).toBeNaN();
  });
});
