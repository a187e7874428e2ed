import { describe, expect, it } from 'vitest';
import { ByteReader } from '../../../core/bytes.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { addAll, bytesOf, columnOf, decoded, hexOf, KINDS, RANKS, resultOf } from './slots.ts';

const VALUES = [3, -1.5, 0, 2 ** 60, 7, 7, 1e-300];
const NO_QUANTILES = Object.fromEntries(RANKS.map((rank) => [String(rank), null]));

describe.each(KINDS)('a column of %s', (kind) => {
  it('answers that nothing was added', () => {
    const value = { count: 0, quantile: NO_QUANTILES }[kind as string] ?? null;
    expect(columnOf(kind).result(0)).toEqual({ value, exact: true });
  });

  it('folds −0 as 0', () => {
    const negative = columnOf(kind);
    const positive = columnOf(kind);
    negative.add(0, -0);
    positive.add(0, 0);
    expect(hexOf(negative, 0)).toBe(hexOf(positive, 0));
    expect(negative.result(0)).toEqual(positive.result(0));
    const { value } = negative.result(0);
    for (const number of typeof value === 'object' ? Object.values(value ?? {}) : [value]) {
      expect(number).not.toBe(-0);
    }
  });

  it('keeps slots apart', () => {
    const column = columnOf(kind);
    addAll(column, 0, VALUES);
    addAll(column, 2, [9]);
    expect(hexOf(column, 1)).toBe(hexOf(columnOf(kind), 0));
    expect(column.result(2)).toEqual(resultOf(kind, [9]));
  });

  it('keeps its slots when it grows, and gives new ones the identity', () => {
    const column = columnOf(kind, 1);
    addAll(column, 0, VALUES);
    const before = hexOf(column, 0);
    column.grow(100);
    column.grow(5);
    expect(hexOf(column, 0)).toBe(before);
    for (const slot of [1, 50, 99]) expect(hexOf(column, slot)).toBe(hexOf(columnOf(kind), 0));
  });

  it('is the identity again after a reset', () => {
    const column = columnOf(kind);
    addAll(column, 0, VALUES);
    column.reset(0);
    expect(hexOf(column, 0)).toBe(hexOf(columnOf(kind), 0));
    column.add(0, 5);
    expect(column.result(0)).toEqual(resultOf(kind, [5]));
  });

  it('copies a slot without sharing anything', () => {
    const source = columnOf(kind);
    const target = columnOf(kind);
    addAll(source, 3, VALUES);
    addAll(target, 0, [1e300, 1e-300, 0.1]);
    const before = hexOf(source, 3);
    target.copy(0, source, 3);
    source.copy(4, source, 3);
    expect(hexOf(target, 0)).toBe(before);
    addAll(target, 0, [1, 1e-200, 3e200, -8, 3]);
    expect(hexOf(source, 3)).toBe(before);
    expect(hexOf(source, 4)).toBe(before);
    const copied = hexOf(target, 0);
    addAll(source, 3, [2, 1e-100, 3e100, -8, 3]);
    expect(hexOf(target, 0)).toBe(copied);
    expect(hexOf(source, 4)).toBe(before);
    expect(hexOf(source, 3)).not.toBe(before);
  });

  it('leaves the other slot of a merge as it is, and shares nothing with it', () => {
    const one = columnOf(kind);
    const other = columnOf(kind);
    addAll(other, 1, VALUES);
    const before = hexOf(other, 1);
    one.merge(0, other, 1);
    expect(hexOf(one, 0)).toBe(before);
    addAll(one, 0, [4, 1e-250, 1e250]);
    expect(hexOf(other, 1)).toBe(before);
  });

  it('merges a slot with itself', () => {
    const column = columnOf(kind);
    addAll(column, 0, VALUES);
    column.merge(0, column, 0);
    const twice = columnOf(kind);
    addAll(twice, 0, [...VALUES, ...VALUES]);
    expect(hexOf(column, 0)).toBe(hexOf(twice, 0));
  });

  it('copies a slot onto itself', () => {
    const column = columnOf(kind);
    addAll(column, 0, VALUES);
    const before = hexOf(column, 0);
    column.copy(0, column, 0);
    expect(hexOf(column, 0)).toBe(before);
  });

  it('decodes over what a slot held', () => {
    const column = columnOf(kind);
    addAll(column, 0, [1e300, 1e-300, 0.1]);
    const other = columnOf(kind);
    addAll(other, 0, VALUES);
    column.decode(0, new ByteReader(bytesOf(other, 0)));
    expect(hexOf(column, 0)).toBe(hexOf(other, 0));
    expect(column.result(0)).toEqual(other.result(0));
  });

  it('refuses bytes that end too early', () => {
    const column = columnOf(kind);
    addAll(column, 0, VALUES);
    const bytes = bytesOf(column, 0);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decoded(kind, bytes.subarray(0, length))).toThrow(CorruptStateFault);
    }
  });

  it('says about how much memory it holds', () => {
    const column = columnOf(kind, 0);
    const none = column.heapBytes();
    column.grow(1000);
    const empty = column.heapBytes();
    expect(empty - none).toBeGreaterThanOrEqual(8 * 1000);
    expect(empty - none).toBeLessThanOrEqual(48 * 1000);
    for (let slot = 0; slot < 1000; slot++) addAll(column, slot, VALUES);
    const full = column.heapBytes();
    expect(full).toBeGreaterThanOrEqual(empty);
    for (let slot = 0; slot < 1000; slot++) column.reset(slot);
    expect(column.heapBytes()).toBeLessThanOrEqual(full);
  });
});
