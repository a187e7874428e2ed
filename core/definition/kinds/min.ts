/**
 * The aggregate `min`.
 */
import { ExtremeColumn } from '../../aggregate/extreme-column.ts';
import type { FieldText } from '../field-path.ts';
import { type AggregateDescriptor, NO_OPTIONS, type NoOptions } from './aggregate-descriptor.ts';

export interface MinJson {
  min: FieldText;
}

/** The smallest value of a field. */
export function min(field: FieldText): MinJson {
  return { min: field };
}

export const MIN = {
  kind: 'min',
  code: 2,
  otherNames: [],
  fieldUse: 'added',
  takesRecords: false,
  foldOrder: 'any-order',
  optionNames: [],
  readOptions: () => NO_OPTIONS,
  toJson: min,
  createColumn: () => new ExtremeColumn('min'),
  result: (column, slot) => column.result(slot),
  orders: () => [null],
} as const satisfies AggregateDescriptor<'min', NoOptions, ExtremeColumn>;
