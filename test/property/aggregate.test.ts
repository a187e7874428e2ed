import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader } from '../../core/bytes.ts';
import type { AggregateKind } from '../../core/definition/kinds/aggregate-kinds.ts';
import { CorruptStateFault } from '../../core/faults.ts';
import {
  addAll,
  bytesOf,
  columnOf,
  hexOf,
  hexOfValues,
  KINDS,
  toHex,
} from '../unit/aggregate/slots.ts';
import { PartwiseFold } from './aggregate-parts.ts';
import { anyChoices, anyValues, cycled, permuted } from './aggregate-values.ts';

describe.each(KINDS)('%s', (kind) => {
  it('has bytes that depend on the multiset of values only', () => {
    fc.assert(
      fc.property(anyValues, anyChoices, (values, choices) => {
        const choose = cycled(choices);
        const parts = new PartwiseFold(kind, choose);
        const slot = parts.fold(permuted(values, choose));
        const straight = columnOf(kind);
        addAll(straight, 0, values);
        expect(hexOf(parts.column, slot)).toBe(hexOf(straight, 0));
        expect(parts.column.result(slot)).toEqual(straight.result(0));
      }),
      { numRuns: 400 },
    );
  });

  it('has an identity', () => {
    fc.assert(
      fc.property(anyValues, (values) => {
        const column = columnOf(kind);
        addAll(column, 0, values);
        column.copy(1, column, 0);
        column.merge(1, column, 7);
        column.merge(2, column, 0);
        expect(hexOf(column, 1)).toBe(hexOf(column, 0));
        expect(hexOf(column, 2)).toBe(hexOf(column, 0));
      }),
    );
  });

  it('merges commutatively', () => {
    fc.assert(
      fc.property(anyValues, anyValues, (a, b) => {
        const column = columnOf(kind);
        addAll(column, 0, a);
        addAll(column, 1, b);
        column.copy(2, column, 0);
        column.merge(2, column, 1);
        column.merge(1, column, 0);
        expect(hexOf(column, 2)).toBe(hexOf(column, 1));
        expect(hexOf(column, 1)).toBe(hexOfValues(kind, [...a, ...b]));
      }),
    );
  });

  it('merges associatively', () => {
    fc.assert(
      fc.property(anyValues, anyValues, anyValues, (a, b, c) => {
        const column = columnOf(kind);
        for (const [slot, values] of [a, b, c].entries()) addAll(column, slot, values);
        column.copy(3, column, 0);
        column.merge(3, column, 1);
        column.merge(3, column, 2);
        column.merge(1, column, 2);
        column.merge(0, column, 1);
        expect(hexOf(column, 3)).toBe(hexOf(column, 0));
      }),
    );
  });

  it('refuses damaged bytes, or reads them as what they are', () => {
    fc.assert(
      fc.property(
        anyValues,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
        fc.nat(5),
        (values, damage, cut) => {
          const column = columnOf(kind);
          addAll(column, 0, values);
          const whole = bytesOf(column, 0);
          const bytes = whole.slice(0, whole.length - (cut > 3 ? cut - 3 : 0));
          for (const [at, byte] of damage) if (bytes.length > 0) bytes[at % bytes.length] = byte;
          expectCanonicalOrRefused(kind, bytes);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('refuses random bytes, or reads them as what they are', () => {
    const byte = fc.oneof(fc.nat(5), fc.nat(255));
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 40 }), (bytes) => {
        expectCanonicalOrRefused(kind, Uint8Array.from(bytes));
      }),
      { numRuns: 1000 },
    );
  });
});

/** What is read must be exactly what a slot would write, and a result that JSON can carry. */
function expectCanonicalOrRefused(kind: AggregateKind, bytes: Uint8Array): void {
  const column = columnOf(kind);
  const reader = new ByteReader(bytes);
  try {
    column.decode(0, reader);
  } catch (fault) {
    expect(fault).toBeInstanceOf(CorruptStateFault);
    return;
  }
  expect(hexOf(column, 0)).toBe(toHex(bytes.subarray(0, reader.offset)));
  const { value } = column.result(0);
  for (const number of typeof value === 'object' && value !== null
    ? Object.values(value)
    : [value]) {
    expect(number === null || Number.isFinite(number)).toBe(true);
  }
}
