import { describe, expect, it } from 'vitest';
import { numberInText, timeTextAdvice } from '../../../core/time/time-text-advice.ts';

describe('advice about a text that is no time', () => {
  it.each([
    ['20260701T100000', 'write "2026-07-01T10:00:00", with hyphens and colons'],
    ['20260701T100000.5Z', 'write "2026-07-01T10:00:00.5Z", with hyphens and colons'],
    ['20260701T1000+0200', 'write "2026-07-01T10:00+0200", with hyphens and colons'],
    ['20260701', 'write "2026-07-01", with hyphens and colons'],
    ['20260701100000', 'write "2026-07-01T10:00:00", with hyphens and colons'],
    ['202607011030', 'write "2026-07-01T10:30", with hyphens and colons'],
    ['2026070110', 'write "2026-07-01T10:00", with hyphens and colons'],
    ['2026-07-01T10', 'write "2026-07-01T10:00", an hour needs its minutes, after a colon'],
    ['2026-07-01T10Z', 'write "2026-07-01T10:00Z", an hour needs its minutes, after a colon'],
    ['2026-07-01T1030', 'write "2026-07-01T10:30", an hour needs its minutes, after a colon'],
    ['2026-W27-3', 'weeks are not read: write year, month and day'],
    ['2026W273T10:00', 'weeks are not read: write year, month and day'],
    ['2026-182', 'days of the year are not read: write year, month and day'],
    ['2026182', 'days of the year are not read: write year, month and day'],
    ['2026-07', 'a month is no time: write its day too'],
    ['2026-07-01T24:00', 'the hour 24 is not read: write 00:00 of the day after'],
    ['2026-06-30T23:59:60Z', 'a leap second (60) is not read: write 59'],
    ['2026-02-29', 'there is no day 2026-02-29'],
    ['2026-02-29T10:00:00Z', 'there is no day 2026-02-29'],
    ['2026-13-01', 'there is no day 2026-13-01'],
    ['2026-07-01t10:00:00z', 'write "2026-07-01T10:00:00Z", T and Z are capitals'],
    [' 2026-07-01 ', 'write "2026-07-01", without spaces around it'],
    ['01.07.2026 10:00', 'write year, month and day with hyphens, in this order'],
    ['7/1/2026', 'write year, month and day with hyphens, in this order'],
  ])('%s', (text, advice) => {
    expect(timeTextAdvice(text)).toBe(advice);
  });

  it.each([
    '',
    'yesterday',
    '2026-07-01T25:00',
    '1711900000000',
    '12',
    'x'.repeat(100_000),
    ' '.repeat(100_000),
    '99999999T999999',
  ])('is not given where nothing is known', (text) => {
    expect(timeTextAdvice(text)).toBeNull();
  });
});

it('a number as text is told from a date', () => {
  expect(numberInText('1711900000000')).toBe(1_711_900_000_000);
  expect(numberInText(' -1711900000.25')).toBe(-1_711_900_000.25);
  for (const text of [
    ...['20260701', '2026182', '2026-07-01', '', '1e12', '1'.repeat(20)],
    // As milliseconds or seconds: the years 2612 and 2034.
    ...['20260701100000', '2026070110', ' 202607011030 '],
  ]) {
    expect(numberInText(text)).toBeNull();
  }
});
