import { describe, expect, it } from 'vitest';
import { CorruptStateFault } from '../../../core/faults.ts';
import {
  addAll,
  columnOf,
  decoded,
  fromHex,
  hexOf,
  hexOfValues,
  RANKS,
  resultOf,
} from './slots.ts';

function quantilesOf(values: readonly number[]): Record<string, number> {
  return resultOf('quantile', values).value as Record<string, number>;
}

describe('a quantile', () => {
  it('is the value itself where only one was added', () => {
    for (const value of [42, -0.3, 0, 5e-324, Number.MAX_VALUE]) {
      expect(Object.values(quantilesOf([value]))).toEqual(RANKS.map(() => value));
    }
  });

  it('is named by its rank', () => {
    expect(Object.keys(quantilesOf([1])).toSorted()).toEqual(RANKS.map(String).toSorted());
  });

  it('says so when values lie too far apart for 1 %', () => {
    for (const [outlier, exact] of [
      [1e15, true],
      [2 ** 63, false],
      [-(2 ** 63), true],
    ] as const) {
      const values = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, outlier];
      expect(resultOf('quantile', values).exact).toBe(exact);
    }
  });

  it('has the least and the greatest value exactly, and none beyond them', () => {
    const quantiles = quantilesOf([1.003, 1.004, 1.005]);
    expect(quantiles['0']).toBe(1.003);
    expect(quantiles['1']).toBe(1.005);
    expect(quantiles['0.5']).toBeGreaterThanOrEqual(1.003);
    expect(quantiles['0.5']).toBeLessThanOrEqual(1.005);
  });

  it('goes from the negative over the zeros to the positive', () => {
    const values = [-100, -10, -1, 0, -0, 0, 1, 10, 100, 1000];
    const quantiles = quantilesOf(values);
    expect(quantiles['0']).toBe(-100);
    expect(Math.abs((quantiles['0.25'] as number) + 1)).toBeLessThan(0.01);
    expect(quantiles['0.5']).toBe(0);
    expect(quantiles['0.9']).toBeGreaterThan(99);
    expect(quantiles['0.9']).toBeLessThan(101);
    expect(quantiles['1']).toBe(1000);
  });

  it('stays within 1 % at the top where values are too far apart for the bins', () => {
    const values = Array.from({ length: 200 }, (_, index) => 10 ** (index / 4 - 20));
    const quantiles = quantilesOf(values);
    const exact = values[Math.floor(0.9 * 199)] as number;
    expect(Math.abs((quantiles['0.9'] as number) - exact) / exact).toBeLessThan(0.01);
    expect(quantiles['0']).toBe(1e-20);
  });

  it('counts what collapsed as the lowest kept bin, on the side of zero', () => {
    // 2,048 bins below that of 1e30 there are still values of about 3e12.
    expect(quantilesOf([1e-9, 1e-9, 1e-9, 1e30])['0.5']).toBeCloseTo(1e30 / 2 ** (2047 / 35), -11);
    expect(quantilesOf([-1e-9, -1e-9, -1e-9, -1e30])['0.9']).toBeCloseTo(
      -1e30 / 2 ** (2047 / 35),
      -11,
    );
  });

  it('of a handful of values costs less than half a kilobyte', () => {
    const column = columnOf('quantile', 100);
    for (let slot = 0; slot < 100; slot++) addAll(column, slot, [3, 5000, -1]);
    expect(column.heapBytes() / 100).toBeLessThan(512);
  });

  it('gives back the memory of a slot that is reset', () => {
    const column = columnOf('quantile', 10);
    const before = column.heapBytes();
    for (let index = 1; index < 2000; index++) column.add(index % 10, index);
    expect(column.heapBytes()).toBeGreaterThan(before + 1000);
    for (let slot = 0; slot < 10; slot++) column.reset(slot);
    expect(column.heapBytes()).toBe(before);
  });
});

describe('the bytes of a quantile', () => {
  it.each([
    ['nothing', [], '03'],
    ['a zero', [0], '0000' + '0000' + '01' + '00' + '00'],
    ['a one', [1], '0001' + '0001' + '00' + '01d6a50201' + '00'],
    ['a negative fraction', [-0.5], `${'02000000000000e0bf'.repeat(2)}000001b3a50201`],
    ['two bins', [1, 2, 2], '0001' + '0002' + '00' + '02d6a502012302' + '00'],
  ])('of %s', (_name, values, hex) => {
    expect(hexOfValues('quantile', values)).toBe(hex);
    expect(hexOf(decoded('quantile', fromHex(hex)), 0)).toBe(hex);
  });

  it.each([
    ['no greatest value', '0001' + '03' + '00' + '01d6a50201' + '00', /no greatest/],
    ['no values', '0001' + '0001' + '00' + '00' + '00', /counts 0 values/],
    ['a least above the greatest', '0002' + '0001' + '00' + '01d6a50202' + '00', /from 2 to 1/],
    ['one value that is two', '0001' + '0002' + '00' + '01d6a50201' + '00', /from 1 to 2/],
    ['a least that is not counted', '0001' + '0002' + '00' + '01f9a50202' + '00', /is counted/],
    ['a greatest that is not counted', '0001' + '0002' + '00' + '01d6a50202' + '00', /is counted/],
    ['a greatest of 0 without zeros', '0101' + '0000' + '00' + '00' + '01d6a50202', /is counted/],
    ['a least of 0 among negatives', `0000000100${'01d6a50201'.repeat(2)}`, /is counted/],
    ['an empty bin', '0001' + '0001' + '00' + '01d6a50200' + '00', /no place or count/],
    ['a bin twice', '0001' + '0001' + '00' + '02d6a502010001' + '00', /no place or count/],
    ['more bins than are kept', '0001' + '0001' + '00' + '8110', /2049 bins/],
    [
      'bins too far apart',
      '0001' + '0001' + '00' + '02d6a50201' + '801001' + '00',
      /too far apart/,
    ],
    ['a bin above the highest', '0001' + '0001' + '00' + '01d6bd0401' + '00', /bin 35840/],
    [
      '2^53 values',
      '0000' + '0001' + 'ffffffffffffff0f' + '01d6a50201' + '00',
      /counts 900719925474099/,
    ],
  ])('are refused with %s', (_name, hex, message) => {
    const decode = () => decoded('quantile', fromHex(hex));
    expect(decode).toThrow(CorruptStateFault);
    expect(decode).toThrow(message);
  });
});
