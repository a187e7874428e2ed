/**
 * The aggregate `mean`.
 */
import { MeanColumn } from '../../aggregate/mean-column.ts';
import type { FieldText } from '../field-path.ts';
import { type AggregateDescriptor, NO_OPTIONS, type NoOptions } from './aggregate-descriptor.ts';

export interface MeanJson {
  mean: FieldText;
}

/** The arithmetic mean of a field. */
export function mean(field: FieldText): MeanJson {
  return { mean: field };
}

export const MEAN = {
  kind: 'mean',
  code: 4,
  otherNames: ['avg', 'average'],
  fieldUse: 'added',
  takesRecords: false,
  foldOrder: 'any-order',
  optionNames: [],
  readOptions: () => NO_OPTIONS,
  toJson: mean,
  createColumn: () => new MeanColumn(),
  result: (column, slot) => column.result(slot),
  orders: () => [null],
} as const satisfies AggregateDescriptor<'mean', NoOptions, MeanColumn>;
