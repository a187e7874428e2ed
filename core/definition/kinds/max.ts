/**
 * The aggregate `max`.
 */
import { ExtremeColumn } from '../../aggregate/extreme-column.ts';
import type { FieldText } from '../field-path.ts';
import { type AggregateDescriptor, NO_OPTIONS, type NoOptions } from './aggregate-descriptor.ts';

export interface MaxJson {
  max: FieldText;
}

/** The largest value of a field. */
export function max(field: FieldText): MaxJson {
  return { max: field };
}

export const MAX = {
  kind: 'max',
  code: 3,
  otherNames: [],
  fieldUse: 'added',
  takesRecords: false,
  foldOrder: 'any-order',
  optionNames: [],
  readOptions: () => NO_OPTIONS,
  toJson: max,
  createColumn: () => new ExtremeColumn('max'),
  result: (column, slot) => column.result(slot),
  orders: () => [null],
} as const satisfies AggregateDescriptor<'max', NoOptions, ExtremeColumn>;
