import { describe, expect, it } from 'vitest';
import { CorruptStateFault } from '../../../core/faults.ts';
import { decoded, fromHex, hexOf, hexOfValues, resultOf } from './slots.ts';

const MAX = Number.MAX_VALUE;

describe('a mean', () => {
  it.each([
    ['of integers', [1, 2], 1.5, true],
    ['that needs rounding', [1, 1, 2], 4 / 3, true],
    ['of zeros', [0, 0], 0, true],
    ['of fractions', [0.1, 0.2, 0.3], 0.2, true],
    ['of one fraction', [0.1], 0.1, true],
    ['whose sum overflows', [MAX, MAX, MAX], MAX, false],
    ['whose sum overflows, with a fraction', [MAX, MAX, 0.5, -0.5], MAX / 2, false],
    ['of subnormals, to even', [5e-324, 0], 0, true],
    ['that underflows from below', [-5e-324, 0], 0, true],
    ['that underflows from below, wide', [-1e300, 1e300, -5e-324, 0], 0, false],
    ['of a long integer and a fraction', [2 ** 60, 0.5], 2 ** 59, false],
    ['of subnormals, up', [5e-324, 5e-324, 0], 5e-324, true],
    ['of integers of unknown last digits', [2 ** 60, 2 ** 60], 2 ** 60, false],
    ['of integers whose sum no double holds', [2 ** 53 - 1, 2, 2], 3002399751580331.5, true],
  ] as const)('%s', (_name, values, value, exact) => {
    expect(resultOf('mean', values)).toEqual({ value, exact });
    expect(resultOf('mean', values.toReversed())).toEqual({ value, exact });
  });

  it('rounds once, where the sum rounded first would round twice', () => {
    // (2^53 + 1) / 3 is 3002399751580331 exactly; 2^53 / 3 is a third less.
    expect(resultOf('mean', [2 ** 53 - 1, 1, 1])).toEqual({ value: 3002399751580331, exact: true });
  });
});

describe('the bytes of a mean', () => {
  it.each([
    ['nothing', [], '0000'],
    ['integers', [300, -1], '020100ab02ad02'],
    ['fractions', [0.5, 0.5], '0203000121' + '00000400'],
  ])('of %s', (_name, values, hex) => {
    expect(hexOfValues('mean', values)).toBe(hex);
    expect(hexOf(decoded('mean', fromHex(hex)), 0)).toBe(hex);
  });

  it.each([
    ['a count without a sum', '0100'],
    ['a sum without a count', '0001000505'],
    ['a mean beyond the largest double', '0104000142' + '01000000'],
  ])('are refused with %s', (_name, hex) => {
    expect(() => decoded('mean', fromHex(hex))).toThrow(CorruptStateFault);
  });
});
