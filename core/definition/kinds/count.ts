/**
 * The aggregate `count`.
 */
import { CountColumn } from '../../aggregate/count-column.ts';
import type { FieldText } from '../field-path.ts';
import { type AggregateDescriptor, NO_OPTIONS, type NoOptions } from './aggregate-descriptor.ts';

/** `*` counts records, a field counts those where it is neither absent nor null. */
export interface CountJson {
  count: FieldText;
}

/** The number of records; with a field, of those where it is neither absent nor null. */
export function count(field: FieldText = '*'): CountJson {
  return { count: field };
}

export const COUNT = {
  kind: 'count',
  code: 0,
  otherNames: [],
  fieldUse: 'counted',
  takesRecords: true,
  foldOrder: 'any-order',
  optionNames: [],
  readOptions: () => NO_OPTIONS,
  toJson: count,
  createColumn: () => new CountColumn(),
  result: (column, slot) => column.result(slot),
  orders: () => [null],
} as const satisfies AggregateDescriptor<'count', NoOptions, CountColumn>;
