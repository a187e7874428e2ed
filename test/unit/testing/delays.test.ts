import { describe, expect, it } from 'vitest';
import { Random } from '../../../simulation/random.ts';
import { delayDraw, InvalidDelay } from '../../../testing/delays.ts';
import { durationOf } from '../../../testing/round-duration.ts';

describe('delayDraw', () => {
  it.each([
    [1_500, 1_500],
    ['10m', 600_000],
    ['-2s', -2_000],
  ])('takes %j as %i ms, always', (delay, ms) => {
    expect(delayDraw(delay)(() => 0.9)).toBe(ms);
  });

  it('draws with the median, the 99th percentile and the maximum that are asked', () => {
    const random = new Random('delays');
    const draw = delayDraw({ p50: '2s', p99: '1m', max: '10m' });
    const drawn = Array.from({ length: 20_000 }, () => draw(() => random.fraction()));
    const share = (atMost: number) => drawn.filter((ms) => ms <= atMost).length / drawn.length;
    expect(share(2_000)).toBeCloseTo(0.5, 1);
    expect(share(60_000)).toBeCloseTo(0.99, 2);
    expect(Math.max(...drawn)).toBeLessThanOrEqual(600_000);
    expect(Math.max(...drawn)).toBeGreaterThan(300_000);
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0);
  });

  it.each([
    'soon',
    Number.NaN,
    { p50: '1m', p99: '1s' },
    { p50: '1s', max: '10ms' },
    { p50: '-1s' },
  ])('refuses %j', (delay) => {
    expect(() => delayDraw(delay)).toThrow(InvalidDelay);
  });
});

describe('durationOf', () => {
  it.each([
    [0, '0s'],
    [999, '999ms'],
    [526_001, '8m47s'],
    [3_600_001, '1h1m'],
    [200_000_000, '2d8h'],
  ])('writes %i ms as %s, never less', (ms, text) => {
    expect(durationOf(ms)).toBe(text);
  });
});
