/**
 * How accumulators that another plan laid out come into the columns of a table.
 */
import type { AccumulatorColumn } from '../aggregate/column.ts';

/** Where an accumulator goes that another plan laid out. */
export type LaidColumn =
  | { readonly target: number; readonly skipped: null }
  /** `skipped` reads over it. */
  | { readonly target: null; readonly skipped: AccumulatorColumn };

/** In the order of the accumulators. */
export type ColumnLayout = readonly LaidColumn[];
