import { describe, expect, it } from 'vitest';
import { likelyUnitHint } from '../../../core/time/likely-unit.ts';

describe('the unit that was probably meant', () => {
  it.each([
    [1_717_171_717, 1, '; as seconds it is 2024-05-31T16:08:37Z: is time.unit "s"?'],
    [
      1_717_171_717_250,
      1000,
      '; as milliseconds it is 2024-05-31T16:08:37.250Z: is time.unit "ms"?',
    ],
    [1_717_171_717_000_000, 1, '; as microseconds it is 2024-05-31T16:08:37Z: send milliseconds'],
    [1.717171717e18, 1000, '; as nanoseconds it is 2024-05-31T16:08:37Z: send milliseconds'],
  ])('of %d, read in units of %d ms', (value, unitMs, hint) => {
    expect(likelyUnitHint(value, unitMs).startsWith(hint)).toBe(true);
  });

  it.each([
    ['is the one of the plan', 1_717_171_717_250, 1],
    ['is none: too small for all', 1_000, 1],
    ['is none: too large for all', 1e22, 1],
    ['is none: the year 1999 in seconds', 946_684_799, 1],
    ['is none: the year 2100 in seconds', 4_102_444_800, 1],
    ['is none: a negative number', -1_717_171_717, 1],
  ])('%s', (_, value, unitMs) => {
    expect(likelyUnitHint(value, unitMs)).toBe('');
  });
});
