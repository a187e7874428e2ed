import { describe, expect, it } from 'vitest';
import { BIN_MAX, BIN_MIN, binOf, middleOf } from '../../../core/aggregate/sketch-bins.ts';

const MAX = Number.MAX_VALUE;
const MIN_NORMAL = 2 ** -1022;

describe('the bins of a sketch', () => {
  it('are 35 to an octave, and 1 begins bin 0', () => {
    expect(binOf(1)).toBe(0);
    expect(binOf(2)).toBe(35);
    expect(binOf(0.5)).toBe(-35);
    expect(binOf(2 - 2 ** -52)).toBe(34);
    expect(binOf(1 - 2 ** -53)).toBe(-1);
  });

  it('reach from the smallest to the largest double', () => {
    expect(binOf(Number.MIN_VALUE)).toBe(BIN_MIN);
    expect(binOf(MAX)).toBe(BIN_MAX);
    expect(binOf(MIN_NORMAL)).toBe(-1022 * 35);
    expect(binOf(MIN_NORMAL - Number.MIN_VALUE)).toBe(-1022 * 35 - 1);
  });

  it('are cut alike in every octave', () => {
    for (let cell = 0; cell < 1000; cell++) {
      const value = 1 + cell / 1000;
      const bin = binOf(value);
      for (const exponent of [-1022, -500, -1, 1, 52, 1023]) {
        expect(binOf(value * 2 ** exponent)).toBe(bin + 35 * exponent);
      }
    }
  });

  it('follow the logarithm, boundaries apart', () => {
    for (let value = 1e-3; value < 1e6; value *= 1.000917) {
      const place = Math.log2(value) * 35;
      if (Math.abs(place - Math.round(place)) < 1e-9) continue;
      expect(binOf(value)).toBe(Math.floor(place));
    }
  });

  it('have a middle within 1 % of every value in them, at both ends too', () => {
    let worst = 0;
    for (let bin = -70; bin < 70; bin++) {
      const [low, high] = endsOf(bin);
      const middle = middleOf(bin);
      expect(binOf(middle)).toBe(bin);
      worst = Math.max(worst, (middle - low) / low, (high - middle) / high);
    }
    expect(worst).toBeLessThan(0.00991);
    expect(worst).toBeGreaterThan(0.0099);
  });

  it('have a middle in the highest and the lowest octave', () => {
    expect(Math.abs(middleOf(BIN_MAX) - MAX) / MAX).toBeLessThan(0.01);
    expect(middleOf(BIN_MIN)).toBe(Number.MIN_VALUE);
    expect(Math.abs(middleOf(binOf(MIN_NORMAL)) - MIN_NORMAL) / MIN_NORMAL).toBeLessThan(0.01);
  });

  it('are at most one last digit more than 1 % wide in subnormals', () => {
    for (let units = 1; units < 5000; units++) {
      const value = units * Number.MIN_VALUE;
      const off = Math.abs(middleOf(binOf(value)) / Number.MIN_VALUE - units);
      expect(off).toBeLessThanOrEqual(Math.ceil(units * 0.01));
    }
  });

  it('never fall as values rise, next to a boundary either', () => {
    for (let bin = -40; bin < 40; bin++) {
      const [, high] = endsOf(bin);
      expect(binOf(high)).toBe(bin);
      expect(binOf(high * (1 + Number.EPSILON))).toBe(bin + 1);
    }
  });
});

/** The least and the greatest double of a bin, by bisection of what `binOf` says. */
function endsOf(bin: number): [number, number] {
  return [firstAtLeast(bin), below(firstAtLeast(bin + 1))];
}

function firstAtLeast(bin: number): number {
  let low = 2 ** -3;
  let high = 2 ** 3;
  while (below(high) > low) {
    const middle = (low + high) / 2;
    if (binOf(middle) >= bin) high = middle;
    else low = middle;
  }
  return high;
}

function below(value: number): number {
  const bits = new BigInt64Array(Float64Array.of(value).buffer);
  bits[0] = (bits[0] as bigint) - 1n;
  return new Float64Array(bits.buffer)[0] as number;
}
