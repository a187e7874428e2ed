/**
 * The aggregate `quantile`.
 */
import { QuantileColumn } from '../../aggregate/quantile-column.ts';
import { QUANTILE_RANKS_MAX } from '../../limits.ts';
import type { FieldText } from '../field-path.ts';
import { elementPath, type ProblemList, propertyPath } from '../problem.ts';
import { checkCount } from '../property-reader.ts';
import type { AggregateDescriptor } from './aggregate-descriptor.ts';

/** Values at ranks from 0 to 1, within 1 %: 0.5 is the median. */
export interface QuantileJson {
  quantile: FieldText;
  at: readonly number[];
}

/** The ranks asked for, ascending, each in [0, 1] and once. */
export interface QuantileOptions {
  readonly at: readonly number[];
}

/** The values of a field at `ranks` from 0 to 1, within 1 %: `quantile('delay', [0.5, 0.99])`. */
export function quantile(field: FieldText, ranks: readonly number[]): QuantileJson {
  return { quantile: field, at: [...ranks] };
}

export const QUANTILE = {
  kind: 'quantile',
  code: 5,
  otherNames: ['median', 'percentile', 'percentiles'],
  fieldUse: 'added',
  takesRecords: false,
  foldOrder: 'any-order',
  optionNames: ['at'],
  readOptions: (properties, path, problems) => ({
    at: readRanks(properties.get('at'), propertyPath(path, 'at'), problems),
  }),
  toJson: (field, { at }) => quantile(field, at),
  createColumn: () => new QuantileColumn(),
  result: (column, slot, { at }) => column.result(slot, at),
  orders: ({ at }) => at.map(String),
} as const satisfies AggregateDescriptor<'quantile', QuantileOptions, QuantileColumn>;

function readRanks(value: unknown, path: string, problems: ProblemList): number[] {
  const what = 'an array of ranks from 0 to 1 such as [0.5, 0.99]';
  if (!Array.isArray(value)) {
    problems.add(path, value, what);
    return [];
  }
  checkCount(value.length, { min: 1, max: QUANTILE_RANKS_MAX, of: 'ranks' }, path, problems);
  const ranks = new Set<number>();
  for (const [index, rank] of value.entries()) {
    const at = elementPath(path, index);
    if (typeof rank !== 'number' || !(rank >= 0 && rank <= 1)) {
      const hint = typeof rank === 'number' && rank > 1 ? 'ranks are not percentages' : undefined;
      problems.add(at, rank, 'a number from 0 to 1', hint);
    } else if (ranks.has(rank)) problems.add(at, rank, 'each rank once');
    // −0 is a rank that a file can spell; adding 0 makes it 0.
    else ranks.add(rank + 0);
  }
  return [...ranks].sort((a, b) => a - b);
}
