import { describe, expect, it } from 'vitest';
import {
  createWindowAssigner,
  type WindowPlan,
} from '../../../core/definition/kinds/window-kinds.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const hours = (count: number): WindowPlan => ({
  kind: 'tumbling',
  sizeMs: count * HOUR_MS,
  days: 0,
});
const days = (count: number): WindowPlan => ({
  kind: 'tumbling',
  sizeMs: count * DAY_MS,
  days: count,
});

function spanOf(window: WindowPlan, zone: string, time: string): [string, string] {
  const assigner = createWindowAssigner(window, zone);
  const startMs = assigner.startOf(Date.parse(time));
  return [new Date(startMs).toISOString(), new Date(assigner.endOf(startMs)).toISOString()];
}

describe('windows', () => {
  it('of all time start at 0 and never end', () => {
    const assigner = createWindowAssigner({ kind: 'all' }, 'UTC');
    expect(assigner.startOf(-5)).toBe(0);
    expect(assigner.startOf(978_307_260_000)).toBe(0);
    expect(assigner.endOf(0)).toBe(Number.POSITIVE_INFINITY);
  });

  it('of hours are aligned to the epoch in every zone', () => {
    const span = ['2024-07-01T06:00:00.000Z', '2024-07-01T12:00:00.000Z'];
    expect(spanOf(hours(6), 'UTC', '2024-07-01T11:59:59.999Z')).toEqual(span);
    expect(spanOf(hours(6), 'Asia/Kolkata', '2024-07-01T06:00:00.000Z')).toEqual(span);
  });

  it('before 1970 begin before their times', () => {
    const assigner = createWindowAssigner(hours(1), 'UTC');
    expect(assigner.startOf(-1)).toBe(-HOUR_MS);
    expect(assigner.startOf(-HOUR_MS)).toBe(-HOUR_MS);
    expect(assigner.startOf(-HOUR_MS - 1)).toBe(-2 * HOUR_MS);
    expect(Object.is(assigner.startOf(0), 0)).toBe(true);
    expect(assigner.endOf(-HOUR_MS)).toBe(0);
  });

  it('of a day have 23, 24 or 25 hours where clocks change', () => {
    const zone = 'America/New_York';
    expect(spanOf(days(1), zone, '2024-03-10T12:00Z')).toEqual([
      '2024-03-10T05:00:00.000Z',
      '2024-03-11T04:00:00.000Z',
    ]);
    expect(spanOf(days(1), zone, '2024-07-01T03:59:59.999Z')).toEqual([
      '2024-06-30T04:00:00.000Z',
      '2024-07-01T04:00:00.000Z',
    ]);
    expect(spanOf(days(1), zone, '2024-11-03T12:00Z')).toEqual([
      '2024-11-03T04:00:00.000Z',
      '2024-11-04T05:00:00.000Z',
    ]);
    expect(spanOf(days(1), 'Asia/Kolkata', '2024-07-01T18:30Z')[0]).toBe(
      '2024-07-01T18:30:00.000Z',
    );
  });

  it('of several days count from the local first of January 1970', () => {
    expect(spanOf(days(7), 'UTC', '1970-01-07T23:59Z')).toEqual([
      '1970-01-01T00:00:00.000Z',
      '1970-01-08T00:00:00.000Z',
    ]);
    expect(spanOf(days(7), 'Asia/Kolkata', '1970-01-01T00:00Z')[0]).toBe(
      '1969-12-31T18:30:00.000Z',
    );
    expect(spanOf(days(7), 'UTC', '1969-12-31T12:00Z')[0]).toBe('1969-12-25T00:00:00.000Z');
    // Seven local days across the change of clocks: an hour less.
    const [start, end] = spanOf(days(7), 'America/New_York', '2024-03-10T12:00Z');
    expect(Date.parse(end) - Date.parse(start)).toBe(7 * DAY_MS - HOUR_MS);
  });

  it('have an end before any time was assigned to them', () => {
    expect(createWindowAssigner(days(1), 'UTC').endOf(0)).toBe(DAY_MS);
    expect(createWindowAssigner(hours(1), 'UTC').endOf(0)).toBe(HOUR_MS);
  });

  it('leave out a day that the clock left out', () => {
    expect(spanOf(days(1), 'Pacific/Apia', '2011-12-30T09:00Z')).toEqual([
      '2011-12-29T10:00:00.000Z',
      '2011-12-30T10:00:00.000Z',
    ]);
    expect(spanOf(days(1), 'Pacific/Apia', '2011-12-30T10:00Z')).toEqual([
      '2011-12-30T10:00:00.000Z',
      '2011-12-31T10:00:00.000Z',
    ]);
  });

  it('give an hour that the clock shows again to the day in which it comes', () => {
    // Havana, 2024-11-03: at one o'clock back to midnight. Both hours are of that day.
    const zone = 'America/Havana';
    expect(spanOf(days(1), zone, '2024-11-03T04:30Z')).toEqual(
      spanOf(days(1), zone, '2024-11-03T05:30Z'),
    );
    // St. John's, 1987-10-25: at 00:01 back to 23:01 of the day before. The new day has begun and goes on.
    const [start, end] = spanOf(days(1), 'America/St_Johns', '1987-10-25T03:00Z');
    expect(start).toBe('1987-10-25T02:30:00.000Z');
    expect(end).toBe('1987-10-26T03:30:00.000Z');
  });
});
