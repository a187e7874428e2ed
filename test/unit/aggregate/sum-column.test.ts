import { describe, expect, it } from 'vitest';
import { ByteReader } from '../../../core/bytes.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { addAll, columnOf, decoded, fromHex, hexOf, hexOfValues, resultOf } from './slots.ts';

const SAFE = Number.MAX_SAFE_INTEGER;
const MAX = Number.MAX_VALUE;
/** More digits than a double keeps. */
const LONG = Number('12345678901234567890');

describe('a sum', () => {
  it.each([
    ['of small integers', [1, 2, 3], 6, true],
    ['of zeros', [0, -0], 0, true],
    ['that cancels to 0', [5, -5], 0, true],
    ['of integers up to the last safe one', [SAFE - 1, 1], SAFE, true],
    ['of 2^53 that safe integers make', [SAFE, 1], 2 ** 53, true],
    ['whose Σ|x| is beyond 2^53, and the total is not', [SAFE, SAFE, -SAFE], SAFE, true],
    ['beyond 2^53 that a double holds', [SAFE, SAFE, 2], 2 ** 54, true],
    ['beyond 2^53 that no double holds', [SAFE, 1, 1], 2 ** 53, false],
    ['with an integer that may have lost digits', [2 ** 53], 2 ** 53, false],
    ['with an integer that surely lost digits', [2 ** 60, 1, -(2 ** 60)], 1, false],
    ['of fractions', [0.5, 0.25], 0.75, true],
    ['of ten times 0.1, rounded once', Array<number>(10).fill(0.1), 1, true],
    ['of 0.1 and 0.2, rounded once', [0.1, 0.2], 0.30000000000000004, true],
    ['with a long integer and a fraction', [LONG, 0.5], LONG, false],
    ['of fractions and a large integer', [0.5, 2 ** 53], 2 ** 53, false],
    ['of 2^53 that safe integers and fractions make', [SAFE, 0.5, 0.5], 2 ** 53, true],
    ['beyond 2^53 that loses a fraction', [SAFE, 1, 0.5], 2 ** 53, false],
    ['below 2^53 that loses a fraction', [SAFE - 1, 0.25], SAFE - 1, true],
    ['beyond 2^53 of fractions alone', Array<number>(4).fill(2 ** 52 - 0.5), 2 ** 54 - 2, true],
    ['beyond −2^53 that loses a fraction', [-SAFE, -1, -0.5], -(2 ** 53), false],
    ['whose halfway case rounds to even', [SAFE, 1, 0.5, 0.5], 2 ** 53, false],
    ['whose halfway case is broken by a tiny value', [SAFE, 2, 5e-324], 2 ** 53 + 2, false],
    ['that cancels all but a tiny value', [1e300, 0.1, -1e300], 0.1, false],
    ['of subnormals', [5e-324, 5e-324, 1.5e-323], 2.5e-323, true],
    ['that overflows on the way', [1e308, 1e308, -1e308, 0.5], 1e308, false],
    ['that overflows by what rounding left', [MAX, 2 ** 969, 2 ** 969, -MAX], 2 ** 970, false],
    ['that overflows on the way with integers', [1e308, 1e308, -1e308], 1e308, false],
  ] as const)('%s', (_name, values, value, exact) => {
    expect(resultOf('sum', values)).toEqual({ value, exact });
    expect(resultOf('sum', values.toReversed())).toEqual({ value, exact });
  });

  it.each([
    ['above', [MAX, MAX], MAX],
    ['below', [-MAX, -MAX, -0.5], -MAX],
    ['by rounding', [MAX, 2 ** 970], MAX],
  ])('%s the largest double is that double, and inexact', (_name, values, value) => {
    expect(resultOf('sum', values)).toEqual({ value, exact: false });
  });

  it('just below the overflow threshold is the largest double, rounded', () => {
    expect(resultOf('sum', [MAX, 2 ** 969, 0.5])).toEqual({ value: MAX, exact: false });
  });

  it('comes back from an overflow of two million large values', () => {
    const column = columnOf('sum');
    for (let index = 0; index < 2_100_000; index++) column.add(0, -MAX);
    expect(column.result(0)).toEqual({ value: -MAX, exact: false });
    for (let index = 0; index < 2_100_000; index++) column.add(0, MAX);
    column.add(0, 0.125);
    expect(column.result(0)).toEqual({ value: 0.125, exact: false });
  });

  it('stays right however often it is doubled', () => {
    const column = columnOf('sum');
    column.add(0, 3e-5);
    column.add(0, -3e200);
    for (let index = 0; index < 60; index++) column.merge(0, column, 0);
    column.copy(1, column, 0);
    for (let index = 0; index < 60; index++) column.add(1, 3e200 * 2 ** index);
    column.add(1, 3e200);
    expect(column.result(1)).toEqual({ value: 3e-5 * 2 ** 60, exact: false });
  });

  it('gives rows of its wide form back', () => {
    const column = columnOf('sum', 2);
    addAll(column, 0, [1e300, 1e-300]);
    const once = column.heapBytes();
    for (let round = 0; round < 50; round++) {
      column.copy(1, column, 0);
      column.reset(0);
      column.decode(0, new ByteReader(fromHex('00')));
      addAll(column, 0, [1e300, 1e-300]);
    }
    expect(column.heapBytes()).toBeLessThanOrEqual(once * 2);
  });
});

describe('the bytes of a sum', () => {
  it.each([
    ['nothing', [], '00'],
    ['zero', [0], '01000000'],
    ['integers', [300, -1], '0100ab02ad02'],
    ['a negative total', [-7], '01010707'],
    [
      'integers beyond 2^53',
      [SAFE, SAFE, -SAFE],
      '02000321' + '0000fcff' + 'ffffffff' + '7f000000',
    ],
    ['a fraction', [0.5], '03000121' + '00000200'],
    ['a negative fraction', [-0.5], '03010121' + '00000200'],
    ['fractions that cancel', [0.5, -0.5], '030000'],
    ['an unsafe integer', [2 ** 53], '04000123' + '80000000'],
    ['both', [2 ** 53, 0.5], '05000321' + '00000200' + '00000000' + '80000000'],
    ['the smallest double', [5e-324], '0300010001000000'],
  ])('of %s', (_name, values, hex) => {
    expect(hexOfValues('sum', values)).toBe(hex);
    expect(hexOf(decoded('sum', fromHex(hex)), 0)).toBe(hex);
  });

  it('do not show how a total came about', () => {
    // A pair of doubles, and a superaccumulator that came back to what a pair holds.
    const direct = columnOf('sum');
    addAll(direct, 0, [0.1, 1e20]);
    const roundabout = columnOf('sum');
    addAll(roundabout, 0, [1e300, 0.1, 1e-300, 1e20, -1e300, -1e-300]);
    expect(hexOf(roundabout, 0)).toBe(hexOf(direct, 0));
  });

  it.each([
    ['an unknown tag', '06000121' + '00000200'],
    ['−0 as total', '01010000'],
    ['a total larger than Σ|x|', '01000504'],
    ['a total of other parity than Σ|x|', '01000205'],
    ['a zero with a sign', '030100'],
    ['a lowest limb of zero', '03000221' + '0000000000000200'],
    ['a highest limb of zero', '03000221' + '0000020000000000'],
    ['a limb above the last', '03000144' + '01000000'],
    ['more limbs than there are', '030045' + '00'],
    ['more than 2^53 of the largest doubles', '03000143' + '80000000'],
    ['a fraction of integers', '02000121' + '00000200'],
    ['a fraction of integers in a lower limb', '04000120' + '01000000'],
    ['Σ|x| beyond 2^53', '010000ffffffffffffff7f'],
  ])('are refused with %s', (_name, hex) => {
    expect(() => decoded('sum', fromHex(hex))).toThrow(CorruptStateFault);
  });
});
