import { describe, expect, it } from 'vitest';
import { formatDuration, formatHours, parseDuration } from '../../../core/definition/duration.ts';

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1h30m', 5_400_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['90m', 5_400_000],
    ['0s', 0],
    ['3650d', 315_360_000_000],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text)?.ms).toBe(ms);
  });

  it.each([
    '',
    'h',
    '1',
    '1.5h',
    '-1h',
    '+1h',
    '1 h',
    '1H',
    '1m1h',
    '1h1h',
    'PT1H',
    '1w',
    '3651d',
    '1e3s',
  ])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeNull();
  });

  it('tells days of the zone from hours', () => {
    expect(parseDuration('7d')).toEqual({ ms: 604_800_000, days: 7, mixed: false });
    expect(parseDuration('24h')).toEqual({ ms: 86_400_000, days: 0, mixed: false });
    expect(parseDuration('1d12h')).toEqual({ ms: 129_600_000, days: 0, mixed: true });
  });

  it('writes the shortest text of a duration', () => {
    expect(formatDuration(0)).toBe('0s');
    expect(formatDuration(5_400_000)).toBe('1h30m');
    expect(formatDuration(93_784_005)).toBe('1d2h3m4s5ms');
    expect(formatHours(86_400_000)).toBe('24h');
  });
});
