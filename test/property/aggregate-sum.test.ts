import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactTotal, exactUnits, isNearest } from '../unit/aggregate/exact-oracle.ts';
import { resultOf } from '../unit/aggregate/slots.ts';
import { anyValues } from './aggregate-values.ts';

const MAX = Number.MAX_VALUE;
const RUNS = { numRuns: 2000 };

/** Halfway from the largest double to the next, were there one: what rounds to infinity. */
const OVERFLOW = exactUnits(MAX) + exactUnits(2 ** 970);

describe('a sum', () => {
  it('is the exact total, rounded once to the nearest double', () => {
    fc.assert(
      fc.property(anyValues, (values) => {
        const { value, exact } = resultOf('sum', values);
        if (values.length === 0) {
          expect({ value, exact }).toEqual({ value: null, exact: true });
          return;
        }
        const total = exactTotal(values);
        if (total >= OVERFLOW || total <= -OVERFLOW) {
          expect({ value, exact }).toEqual({ value: total > 0n ? MAX : -MAX, exact: false });
          return;
        }
        expect(isNearest(value as number, total)).toBe(true);
        expect(value).not.toBe(-0);
        const integers = values.every(Number.isInteger);
        const safe = values.every((one) => !Number.isInteger(one) || Number.isSafeInteger(one));
        expect(exact).toBe(!integers || (safe && exactUnits(value as number) === total));
      }),
      RUNS,
    );
  });
});

describe('a mean', () => {
  it('is the exact total divided by the count, rounded once to the nearest double', () => {
    fc.assert(
      fc.property(anyValues, (values) => {
        const { value, exact } = resultOf('mean', values);
        if (values.length === 0) {
          expect({ value, exact }).toEqual({ value: null, exact: true });
          return;
        }
        expect(isNearest(value as number, exactTotal(values), BigInt(values.length))).toBe(true);
        expect(value).not.toBe(-0);
        const integers = values.every(Number.isInteger);
        expect(exact).toBe(!integers || values.every(Number.isSafeInteger));
      }),
      RUNS,
    );
  });
});
