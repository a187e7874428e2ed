import { describe, expect, it } from 'vitest';
import { CorruptStateFault } from '../../../core/faults.ts';
import { decoded, fromHex, hexOf, hexOfValues, resultOf } from './slots.ts';

const VALUES = [3, -8, 0.5, 12];

describe('an extreme', () => {
  it('is the least value of a min and the greatest of a max', () => {
    expect(resultOf('min', VALUES)).toEqual({ value: -8, exact: true });
    expect(resultOf('max', VALUES)).toEqual({ value: 12, exact: true });
  });

  it('of −0 and 0 is 0, whichever came first', () => {
    for (const kind of ['min', 'max'] as const) {
      expect(resultOf(kind, [-0, 0]).value).toBe(0);
      expect(resultOf(kind, [0, -0]).value).toBe(0);
    }
  });

  it('reaches the largest doubles', () => {
    expect(resultOf('min', [Number.MAX_VALUE]).value).toBe(Number.MAX_VALUE);
    expect(resultOf('max', [-Number.MAX_VALUE]).value).toBe(-Number.MAX_VALUE);
  });

  it('is inexact where an integer may have lost digits before it came', () => {
    expect(resultOf('max', [1, 2 ** 53 - 1])).toEqual({ value: 2 ** 53 - 1, exact: true });
    expect(resultOf('max', [1, 2 ** 53])).toEqual({ value: 2 ** 53, exact: false });
    expect(resultOf('min', [1, 2 ** 53])).toEqual({ value: 1, exact: true });
  });
});

describe('the bytes of an extreme', () => {
  it.each([
    ['nothing', [], '03'],
    ['an integer', [300], '00ac02'],
    ['a negative integer', [-1], '0101'],
    ['zero', [0], '0000'],
    ['a fraction', [0.5], '02000000000000e03f'],
    ['2^53', [2 ** 53], '020000000000004043'],
  ])('of %s', (_name, values, hex) => {
    for (const kind of ['min', 'max'] as const) {
      expect(hexOfValues(kind, values)).toBe(hex);
      expect(hexOf(decoded(kind, fromHex(hex)), 0)).toBe(hex);
    }
  });

  it.each([
    ['an unknown tag', '0400'],
    ['−0 as integer', '0100'],
    ['−0 as double', '020000000000000080'],
    ['an integer as double', '02000000000000f03f'],
    ['Infinity', '02000000000000f07f'],
    ['−Infinity', '02000000000000f0ff'],
    ['NaN', '02000000000000f87f'],
  ])('are refused with %s', (_name, hex) => {
    for (const kind of ['min', 'max'] as const) {
      expect(() => decoded(kind, fromHex(hex))).toThrow(CorruptStateFault);
    }
  });
});
