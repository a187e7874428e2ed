import { describe, expect, it } from 'vitest';
import { Superaccumulators } from '../../../core/aggregate/superaccumulators.ts';
import { ByteReader, ByteWriter } from '../../../core/bytes.ts';
import { exactTotal, exactUnits } from './exact-oracle.ts';

const MAX = Number.MAX_VALUE;
const MIN = Number.MIN_VALUE;

describe('a superaccumulator', () => {
  it.each([
    [[]],
    [[0]],
    [[1]],
    [[-1]],
    [[MIN]],
    [[-MIN]],
    [[MAX, MAX, MIN]],
    [[-MAX, -MAX, MIN]],
    [[2 ** -1022, -(2 ** -1022 - MIN)]],
    [[1e16, 1, -1e16]],
    [[MAX, -MAX, -MIN]],
    [[0.1, -0.3, 1e200, -7e-200]],
  ])('holds the total of %j', (values) => {
    const rows = new Superaccumulators();
    const row = rows.take();
    for (const value of values) rows.add(row, value);
    expect(rows.total(row)).toBe(exactTotal(values));
    // Reading changes nothing, and adding goes on.
    expect(rows.total(row)).toBe(exactTotal(values));
    rows.add(row, -0.7);
    expect(rows.total(row)).toBe(exactTotal([...values, -0.7]));
  });

  it('holds every power of two, of either sign', () => {
    const rows = new Superaccumulators();
    const row = rows.take();
    for (let value = MIN; value < Infinity; value *= 2) {
      for (const signed of [value, -value]) {
        rows.clear(row);
        rows.add(row, signed);
        expect(rows.total(row)).toBe(exactUnits(signed));
      }
    }
  });

  it('carries before a limb loses bits', () => {
    const rows = new Superaccumulators();
    const row = rows.take();
    const value = -(2 ** 53 - 1) * 2 ** 11;
    for (let index = 0; index < 2 ** 21 + 5; index++) rows.add(row, value);
    expect(rows.total(row)).toBe(exactUnits(value) * BigInt(2 ** 21 + 5));
    for (let index = 0; index < 25; index++) rows.addRow(row, rows, row);
    expect(rows.total(row)).toBe(exactUnits(value) * BigInt(2 ** 21 + 5) * 2n ** 25n);
  });

  it('keeps rows apart, and gives a taken row as zero', () => {
    const rows = new Superaccumulators();
    const taken = [rows.take(), rows.take(), rows.take()] as const;
    for (const [index, row] of taken.entries()) rows.add(row, index + 0.5);
    expect(taken.map((row) => rows.total(row))).toEqual([0.5, 1.5, 2.5].map(exactUnits));
    rows.release(taken[1]);
    const again = rows.take();
    expect(again).toBe(taken[1]);
    expect(rows.total(again)).toBe(0n);
    expect(rows.total(taken[2])).toBe(exactUnits(2.5));
  });

  it('knows of a decoded row whether it is an integer, and which doubles make it', () => {
    const rows = new Superaccumulators();
    for (const [values, isInteger] of [
      [[3, 2 ** 60], true],
      [[-3], true],
      [[], true],
      [[2 ** -18], false],
      [[1 - 2 ** -19, 2 ** 80], false],
      [[MIN], false],
    ] as const) {
      const row = rows.take();
      for (const value of values) rows.add(row, value);
      const writer = new ByteWriter();
      rows.encode(row, writer);
      const decoded = rows.take();
      rows.decode(decoded, new ByteReader(writer.finish()));
      expect(rows.isInteger(decoded)).toBe(isInteger);
      expect(exactTotal(rows.doubles(decoded))).toBe(exactTotal(values));
    }
  });
});
