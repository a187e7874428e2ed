import { describe, expect, it } from 'vitest';
import { Zone } from '../../../core/time/zone.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function instant(text: string): number {
  return Date.parse(text);
}

function dayOf(date: string): number {
  return Date.parse(`${date}T00:00Z`) / DAY_MS;
}

function dayStart(zone: string, date: string): string {
  return new Date(new Zone(zone).dayStart(dayOf(date))).toISOString();
}

describe('a zone', () => {
  it.each([
    ['UTC', '2024-07-01T00:00Z', 0],
    ['America/New_York', '2024-03-10T06:59:59.999Z', -5],
    ['America/New_York', '2024-03-10T07:00:00.000Z', -4],
    ['America/New_York', '2024-11-03T05:59:59.999Z', -4],
    ['America/New_York', '2024-11-03T06:00:00.000Z', -5],
    ['Asia/Kolkata', '2024-07-01T00:00Z', 5.5],
    ['Australia/Lord_Howe', '2024-01-01T00:00Z', 11],
    ['Australia/Lord_Howe', '2024-07-01T00:00Z', 10.5],
    ['Pacific/Apia', '2011-12-30T09:59:59.999Z', -10],
    ['Pacific/Apia', '2011-12-30T10:00:00Z', 14],
    ['+05:45', '2024-07-01T00:00Z', 5.75],
  ])('%s at %s is %d hours from UTC', (name, text, hours) => {
    expect(new Zone(name).offsetAt(instant(text))).toBe(hours * HOUR_MS);
  });

  it('knows offsets of seconds, from before there were zones', () => {
    const offsetMs = new Zone('America/New_York').offsetAt(instant('1850-01-01T00:00Z'));
    expect(offsetMs).toBe(-(4 * 3600 + 56 * 60 + 2) * 1000);
  });

  it('answers the same in any order of questions', () => {
    const times = Array.from(
      { length: 2000 },
      (_, index) => instant('2024-01-01T00:00Z') + index * 5 * HOUR_MS,
    );
    const shuffled = times.map((time, index) => ({ time, order: (index * 7919) % 2003 }));
    shuffled.sort((a, b) => a.order - b.order);
    const asked = new Zone('Australia/Lord_Howe');
    for (const { time } of shuffled) {
      expect(asked.offsetAt(time)).toBe(
        new Date(time) < new Date('2024-04-06T15:00Z') ? 11 * HOUR_MS : expectedLordHowe(time),
      );
    }
  });

  it('starts a day at midnight, or where the clock skips midnight at the change', () => {
    expect(dayStart('America/New_York', '2024-03-10')).toBe('2024-03-10T05:00:00.000Z');
    expect(dayStart('America/New_York', '2024-03-11')).toBe('2024-03-11T04:00:00.000Z');
    // Midnight to one o'clock was skipped.
    expect(dayStart('America/Sao_Paulo', '2018-11-04')).toBe('2018-11-04T03:00:00.000Z');
    // At midnight the clock went back to eleven: midnight came an hour later.
    expect(dayStart('America/Sao_Paulo', '2018-02-18')).toBe('2018-02-18T03:00:00.000Z');
    // At one o'clock it went back to midnight: the first of two midnights.
    expect(dayStart('America/Havana', '2024-11-03')).toBe('2024-11-03T04:00:00.000Z');
    // Half past eleven to half past twelve was skipped: the day began at half past twelve.
    expect(dayStart('America/Toronto', '1919-03-31')).toBe('1919-03-31T04:30:00.000Z');
    // A day that was skipped whole begins where the next does.
    expect(dayStart('Pacific/Apia', '2011-12-30')).toBe('2011-12-30T10:00:00.000Z');
    expect(dayStart('Pacific/Apia', '2011-12-31')).toBe('2011-12-30T10:00:00.000Z');
  });
});

function expectedLordHowe(time: number): number {
  const summerStart = instant('2024-10-05T15:30Z');
  const winterStart = instant('2025-04-05T15:00Z');
  return time < summerStart || time >= winterStart ? 10.5 * HOUR_MS : 11 * HOUR_MS;
}
