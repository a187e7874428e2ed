/**
 * The aggregate `sum`.
 */
import { SumColumn } from '../../aggregate/sum-column.ts';
import type { FieldText } from '../field-path.ts';
import { type AggregateDescriptor, NO_OPTIONS, type NoOptions } from './aggregate-descriptor.ts';

export interface SumJson {
  sum: FieldText;
}

/** The sum of a field: exact, and rounded once. A row names it under `inexact` where it is beyond 2^53 and needed rounding. */
export function sum(field: FieldText): SumJson {
  return { sum: field };
}

export const SUM = {
  kind: 'sum',
  code: 1,
  otherNames: ['total'],
  fieldUse: 'added',
  takesRecords: false,
  foldOrder: 'any-order',
  optionNames: [],
  readOptions: () => NO_OPTIONS,
  toJson: sum,
  createColumn: () => new SumColumn(),
  result: (column, slot) => column.result(slot),
  orders: () => [null],
} as const satisfies AggregateDescriptor<'sum', NoOptions, SumColumn>;
