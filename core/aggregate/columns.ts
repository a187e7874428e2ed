/**
 * From an aggregate's kind to the column that holds it.
 */
import { unreachable } from '../assert.ts';
import type { AggregateKind } from '../definition/plan.ts';
import type { AccumulatorColumn } from './column.ts';
import { CountColumn } from './count-column.ts';
import { ExtremeColumn } from './extreme-column.ts';
import { MeanColumn } from './mean-column.ts';
import { QuantileColumn } from './quantile-column.ts';
import { SumColumn } from './sum-column.ts';

/** An empty column; it has no slots until `grow`. */
export function createColumn(kind: AggregateKind): AccumulatorColumn {
  switch (kind) {
    case 'count':
      return new CountColumn();
    case 'sum':
      return new SumColumn();
    case 'min':
    case 'max':
      return new ExtremeColumn(kind);
    case 'mean':
      return new MeanColumn();
    case 'quantile':
      return new QuantileColumn();
    default:
      return unreachable(kind);
  }
}
