/**
 * Columns of one aggregate for tests, and what their slots hold.
 */
import type { AccumulatorColumn, AggregateResult } from '../../../core/aggregate/column.ts';
import { ByteReader, ByteWriter } from '../../../core/bytes.ts';
import {
  AGGREGATES,
  type AggregateKind,
  aggregateOf,
} from '../../../core/definition/kinds/aggregate-kinds.ts';

export const KINDS: readonly AggregateKind[] = AGGREGATES.map(({ kind }) => kind);
export const RANKS = [0, 0.01, 0.25, 0.5, 0.9, 0.99, 1];

export function columnOf(kind: AggregateKind, slots = 8): AccumulatorColumn {
  const { createColumn, result } = aggregateOf(kind);
  const column = createColumn();
  column.grow(slots);
  const plain = { result: column.result.bind(column) } as AccumulatorColumn;
  column.result = (slot) => result(plain, slot, { at: RANKS });
  return column;
}

export function addAll(column: AccumulatorColumn, slot: number, values: Iterable<number>): void {
  for (const value of values) column.add(slot, value);
}

export function resultOf(kind: AggregateKind, values: Iterable<number>): AggregateResult {
  const column = columnOf(kind);
  addAll(column, 0, values);
  return column.result(0);
}

export function bytesOf(column: AccumulatorColumn, slot: number): Uint8Array {
  const writer = new ByteWriter();
  column.encode(slot, writer);
  return writer.finish();
}

export function hexOf(column: AccumulatorColumn, slot: number): string {
  return toHex(bytesOf(column, slot));
}

export function hexOfValues(kind: AggregateKind, values: Iterable<number>): string {
  const column = columnOf(kind);
  addAll(column, 0, values);
  return hexOf(column, 0);
}

/** Decodes into slot 0 of a column of its own; every byte must be used. */
export function decoded(kind: AggregateKind, bytes: Uint8Array): AccumulatorColumn {
  const column = columnOf(kind);
  const reader = new ByteReader(bytes);
  column.decode(0, reader);
  reader.end();
  return column;
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

export function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'));
}
