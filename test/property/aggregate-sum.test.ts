import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactTotal, exactUnits, isNearest } from '../unit/aggregate/exact-oracle.ts';
import { resultOf } from '../unit/aggregate/slots.ts';
import { anyValues } from './aggregate-values.ts';

const MAX = Number.MAX_VALUE;
const RUNS = { numRuns: 2000 };

/** Halfway from the largest double to the next, were there one: what rounds to infinity. */
const OVERFLOW = exactUnits(MAX) + exactUnits(2 ** 970);

/** An integer of magnitude 2^53 or more may have had more digits than a double keeps. */
function areLiteralsKept(values: readonly number[]): boolean {
  return values.every((value) => Math.abs(value) < 2 ** 53);
}

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
        const isUnrounded = exactUnits(value as number) === total;
        const isSmall = Math.abs(value as number) < 2 ** 53;
        expect(exact).toBe(areLiteralsKept(values) && (isSmall || isUnrounded));
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
        expect(exact).toBe(areLiteralsKept(values));
      }),
      RUNS,
    );
  });
});
