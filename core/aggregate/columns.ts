/**
 * From an aggregate's plan to the column that holds it.
 */
import { unreachable } from '../assert.ts';
import type { AggregatePlan } from '../definition/plan.ts';
import type { AccumulatorColumn } from './column.ts';
import { CountColumn } from './count-column.ts';
import { ExtremeColumn } from './extreme-column.ts';
import { MeanColumn } from './mean-column.ts';
import { QuantileColumn } from './quantile-column.ts';
import { SumColumn } from './sum-column.ts';

/** An empty column for `plan`; it has no slots until `grow`. */
export function createColumn(plan: AggregatePlan): AccumulatorColumn {
  switch (plan.kind) {
    case 'count':
      return new CountColumn();
    case 'sum':
      return new SumColumn();
    case 'min':
    case 'max':
      return new ExtremeColumn(plan.kind);
    case 'mean':
      return new MeanColumn();
    case 'quantile':
      return new QuantileColumn(plan.at);
    default:
      return unreachable(plan.kind);
  }
}
