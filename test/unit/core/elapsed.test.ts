import { describe, expect, it } from 'vitest';
import {
  ageToShow,
  hasSurelyPassed,
  isSurelyYoung,
  mayHavePassed,
  sinceOrNow,
} from '../../../core/elapsed.ts';

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
const YEARS_MS = 57 * 365 * 24 * HOUR_MS;
/** What a period of an hour looks like, by how long ago it began. */
const ago = (ageMs: number) => NOW_MS - ageMs;

describe('a period of an hour that began', () => {
  it.each([
    // age, may have passed, has surely passed, surely young
    ['now', 0, false, false, true],
    ['a moment ago', 1, false, false, true],
    ['just under an hour ago', HOUR_MS - 1, false, false, true],
    ['an hour ago', HOUR_MS, true, true, false],
    ['a year ago', 365 * 24 * HOUR_MS, true, true, false],
    ['when the clock was not set (1970)', YEARS_MS, true, false, false],
    ['by a clock that is a little ahead', -1_000, false, false, true],
    ['by a clock that is minutes ahead', -10 * 60_000, false, false, false],
    ['26 h ahead of this clock', -26 * HOUR_MS, true, false, false],
    ['years ahead of this clock', -YEARS_MS, true, false, false],
  ])('%s', (_, ageMs, may, surely, young) => {
    expect(mayHavePassed(ago(ageMs), HOUR_MS, NOW_MS)).toBe(may);
    expect(hasSurelyPassed(ago(ageMs), HOUR_MS, NOW_MS)).toBe(surely);
    expect(isSurelyYoung(ago(ageMs), HOUR_MS, NOW_MS)).toBe(young);
  });

  it('is over within two hours, however far the clock was set back', () => {
    for (let backMs = 0; backMs <= 3 * HOUR_MS; backMs += HOUR_MS / 10) {
      const waits = [...Array(21).keys()].map((tenth) => (tenth * HOUR_MS) / 10);
      const over = waits.find((waitedMs) =>
        mayHavePassed(NOW_MS + backMs, HOUR_MS, NOW_MS + waitedMs),
      );
      expect(over, `${backMs} ms back`).toBeDefined();
    }
  });

  it('begins anew where its age cannot be believed, and stays where it began before a clock that is behind', () => {
    expect(sinceOrNow(ago(HOUR_MS), NOW_MS)).toBe(ago(HOUR_MS));
    expect(sinceOrNow(ago(-1), NOW_MS)).toBe(ago(-1));
    expect(sinceOrNow(ago(-26 * HOUR_MS), NOW_MS)).toBe(ago(-26 * HOUR_MS));
    expect(sinceOrNow(ago(-48 * HOUR_MS), NOW_MS)).toBe(NOW_MS);
    expect(sinceOrNow(ago(YEARS_MS), NOW_MS)).toBe(NOW_MS);
  });
});

describe('an age that people are told', () => {
  it.each([
    [5_000, 5_000],
    [0, 1],
    [-500, 1],
    [-26 * HOUR_MS, null],
  ])('of %s ms is %s', (ageMs, shown) => {
    expect(ageToShow(ago(ageMs), NOW_MS, 1)).toBe(shown);
  });
});
