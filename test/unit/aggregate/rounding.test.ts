import { describe, expect, it } from 'vitest';
import { powerOfTwo } from '../../../core/aggregate/power-of-two.ts';
import { nearestDouble, unitsOf } from '../../../core/aggregate/rounding.ts';
import { exactUnits, UNITS_OF_ONE } from './exact-oracle.ts';

const MAX = Number.MAX_VALUE;
const MIN = Number.MIN_VALUE;

describe('powers of two', () => {
  it('are exact from the smallest normal number up', () => {
    let power = 1;
    for (let exponent = 0; exponent <= 1023; exponent++, power *= 2) {
      expect(powerOfTwo(exponent)).toBe(power);
      if (exponent <= 1022) expect(powerOfTwo(-exponent)).toBe(1 / power);
    }
  });
});

describe('a total in units', () => {
  it.each([0, 1, -1, 0.1, MIN, -MIN, 2 ** -1022, 2 ** -1022 - MIN, MAX, -MAX, 2 ** 53 - 1])(
    'comes back as the double %d',
    (value) => {
      expect(unitsOf(value)).toBe(exactUnits(value));
      expect(nearestDouble(unitsOf(value), 1n)).toBe(value);
      expect(nearestDouble(unitsOf(value) * 12_345n, 12_345n)).toBe(value);
    },
  );

  it.each([
    ['a half below an even double goes down', 2n ** 53n + 1n, 2 ** 53],
    ['a half below an odd double goes up', 2n ** 53n + 3n, 2 ** 53 + 4],
    ['more than a half goes up', 2n ** 54n + 3n, 2 ** 54 + 4],
    ['less than a half goes down', 2n ** 54n + 1n, 2 ** 54],
  ])('%s', (_name, integer, expected) => {
    expect(nearestDouble(integer * UNITS_OF_ONE, 1n)).toBe(expected);
    expect(nearestDouble(-integer * UNITS_OF_ONE, 1n)).toBe(-expected);
  });

  it('is moved from a half by a single unit', () => {
    const half = (2n ** 53n + 1n) * UNITS_OF_ONE;
    expect(nearestDouble(half + 1n, 1n)).toBe(2 ** 53 + 2);
    expect(nearestDouble(half - 1n, 1n)).toBe(2 ** 53);
  });

  it('is rounded once where it is divided, among subnormals too', () => {
    expect(nearestDouble(UNITS_OF_ONE, 3n)).toBe(1 / 3);
    expect(nearestDouble(1n, 2n)).toBe(0);
    expect(nearestDouble(3n, 2n)).toBe(2 * MIN);
    expect(nearestDouble(2n, 3n)).toBe(MIN);
    expect(nearestDouble(-5n, 2n)).toBe(-2 * MIN);
    expect(nearestDouble(2n ** 53n * 2n + 1n, 2n)).toBe(2 ** 53 * MIN);
    expect(nearestDouble(2n ** 54n + 1n, 2n)).toBe(2 ** 53 * MIN);
    expect(nearestDouble(2n ** 54n + 3n, 1n)).toBe((2 ** 54 + 4) * MIN);
  });

  it('is infinite from halfway beyond the largest double', () => {
    const halfway = unitsOf(MAX) + unitsOf(2 ** 970);
    expect(nearestDouble(halfway - 1n, 1n)).toBe(MAX);
    expect(nearestDouble(halfway, 1n)).toBe(Infinity);
    expect(nearestDouble(-halfway, 1n)).toBe(-Infinity);
    expect(nearestDouble(unitsOf(MAX) * 2n ** 53n, 1n)).toBe(Infinity);
    expect(nearestDouble(unitsOf(MAX) * 2n ** 53n, 2n ** 53n)).toBe(MAX);
    for (let bits = 0n; bits < 60n; bits++) {
      expect(nearestDouble(unitsOf(MAX) << bits, 1n)).toBe(bits === 0n ? MAX : Infinity);
      expect(nearestDouble(unitsOf(MAX) << bits, 1n << bits)).toBe(MAX);
    }
  });
});
