import { describe, expect, it } from 'vitest';
import { Zone } from '../../../core/time/zone.ts';
import { readZonedTime, zonedIsoTime } from '../../../core/time/zoned-time.ts';

const HOUR_MS = 3_600_000;

const read = (zone: string, text: string) => readZonedTime(text, new Zone(zone));
const isoOf = (zone: string, text: string) => new Date(read(zone, text)).toISOString();
const written = (zone: string, text: string) => zonedIsoTime(Date.parse(text), new Zone(zone));

describe('a time in a zone', () => {
  it.each([
    ['UTC', '2024-06-15T00:00:00Z', '2024-06-15T00:00:00.000Z'],
    ['Europe/Berlin', '2024-06-14T22:00:00Z', '2024-06-15T00:00:00.000+02:00'],
    ['Europe/Berlin', '2024-01-14T23:00:00Z', '2024-01-15T00:00:00.000+01:00'],
    ['Europe/London', '2024-01-15T00:00:00Z', '2024-01-15T00:00:00.000+00:00'],
    ['America/New_York', '2024-06-15T04:00:00.125Z', '2024-06-15T00:00:00.125-04:00'],
    ['America/St_Johns', '2024-06-15T02:30:00Z', '2024-06-15T00:00:00.000-02:30'],
    ['Asia/Kolkata', '2024-06-14T18:30:00Z', '2024-06-15T00:00:00.000+05:30'],
    ['Pacific/Kiritimati', '2024-06-14T10:00:00Z', '2024-06-15T00:00:00.000+14:00'],
    // The hour that is shown twice.
    ['Europe/Berlin', '2024-10-27T00:30:00Z', '2024-10-27T02:30:00.000+02:00'],
    ['Europe/Berlin', '2024-10-27T01:30:00Z', '2024-10-27T02:30:00.000+01:00'],
  ])('of %s at %s is written as %s', (zone, instant, text) => {
    expect(written(zone, instant)).toBe(text);
  });

  it('is read back as the same instant, whatever the offset is', () => {
    const zones = ['Europe/Berlin', 'America/New_York', 'Africa/Monrovia', 'Pacific/Apia', 'UTC'];
    const instants = ['0000-06-15T00:00Z', '1850-01-01T00:00:07.125Z', '1919-12-31T23:59:59Z'];
    for (const zone of zones) {
      for (const instant of [...instants, '2024-07-01T00:00Z', '9999-12-30T00:00Z']) {
        const text = written(zone, instant);
        expect(Date.parse(text), text).toBe(Date.parse(instant));
        expect(read(zone, text), text).toBe(Date.parse(instant));
      }
    }
  });

  it('beyond the years that have four digits is written in UTC', () => {
    const zone = new Zone('Asia/Tokyo');
    expect(zonedIsoTime(253_402_300_799_999, zone)).toBe('9999-12-31T23:59:59.999Z');
    expect(zonedIsoTime(-62_167_305_600_001, zone)).toBe('-000001-12-30T23:59:59.999Z');
  });

  it.each([
    // A date alone is midnight of the zone, ahead of UTC and behind it.
    ['Europe/Berlin', '2024-06-15', '2024-06-14T22:00:00.000Z'],
    ['America/New_York', '2024-06-15', '2024-06-15T04:00:00.000Z'],
    ['Pacific/Kiritimati', '2024-06-15', '2024-06-14T10:00:00.000Z'],
    ['UTC', '2024-06-15', '2024-06-15T00:00:00.000Z'],
    // With an offset the zone says nothing.
    ['Europe/Berlin', '2024-06-15T00:00Z', '2024-06-15T00:00:00.000Z'],
    ['Europe/Berlin', '2024-06-15T00:00-04:00', '2024-06-15T04:00:00.000Z'],
    ['Europe/Berlin', '2024-06-15 12:00', '2024-06-15T10:00:00.000Z'],
    // Shown twice: the first. Skipped: by the offset before, so an hour later than it is written.
    ['Europe/Berlin', '2024-10-27T02:30', '2024-10-27T00:30:00.000Z'],
    ['Europe/Berlin', '2024-03-31T02:30', '2024-03-31T01:30:00.000Z'],
    ['America/New_York', '2024-11-03T01:30', '2024-11-03T05:30:00.000Z'],
    ['America/New_York', '2024-03-10T02:30', '2024-03-10T07:30:00.000Z'],
    // Midnight itself is skipped, alone or with the hour before it, or with the whole day: the first instant after.
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z'],
    ['America/Toronto', '1919-03-31', '1919-03-31T04:30:00.000Z'],
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z'],
    ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00.000Z'],
  ])('of %s that is asked for as %s is %s', (zone, text, instant) => {
    expect(isoOf(zone, text)).toBe(instant);
  });

  it('gives days of 23 and 25 hours', () => {
    const hours = (from: string, to: string) =>
      (read('Europe/Berlin', to) - read('Europe/Berlin', from)) / HOUR_MS;
    expect(hours('2024-03-31', '2024-04-01')).toBe(23);
    expect(hours('2024-10-27', '2024-10-28')).toBe(25);
    expect(hours('2024-06-15', '2024-06-16')).toBe(24);
  });

  it('is none for other texts', () => {
    for (const text of ['yesterday', '2024-02-30', '2024-6-15', '', '1718409600', '20240615T0']) {
      expect(read('Europe/Berlin', text), text).toBeNaN();
    }
  });
});
