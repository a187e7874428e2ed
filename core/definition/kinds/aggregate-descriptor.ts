/**
 * What Tidemark knows of one kind of aggregate. Each kind is one descriptor in this folder, one line of the list in
 * aggregate-kinds.ts, and its column in core/aggregate; nothing else asks which kind it has before it.
 * `test/unit/definition/kinds/aggregate-kinds.test.ts` is the contract that every descriptor keeps.
 */
import type { AccumulatorColumn, AggregateResult } from '../../aggregate/column.ts';
import type { FieldText } from '../field-path.ts';
import type { ProblemList } from '../problem.ts';
import type { FoldOrder } from './fold-order.ts';

/**
 * What is asked of a field's value, where it is neither absent nor null:
 * - `counted`: nothing, it is there.
 * - `added`: it is a finite number.
 */
export type AggregateFieldUse = 'counted' | 'added';

export interface AggregateDescriptor<
  Kind extends string = string,
  Options extends object = object,
  Column extends AccumulatorColumn = AccumulatorColumn,
> {
  /** Also the property of the pipeline file that names the field. */
  readonly kind: Kind;
  /** Stored with each column (one byte): frozen, and used once. */
  readonly code: number;
  /** What other tools call it, in small letters. */
  readonly otherNames: readonly string[];
  readonly fieldUse: AggregateFieldUse;
  /** True if `*` in the field's place stands for whole records. Only where values are `counted`. */
  readonly takesRecords: boolean;
  /** What the results depend on besides the multiset of values. */
  readonly foldOrder: FoldOrder;
  /** The properties that may stand beside the field. They ask something of a column's state, and are no part of it. */
  readonly optionNames: readonly string[];
  /** The options, canonical: the same for every file of that meaning. `path` is the aggregate's. */
  readOptions(
    properties: ReadonlyMap<string, unknown>,
    path: string,
    problems: ProblemList,
  ): Options;
  /** As a file would have it: what `readOptions` reads as these options again. */
  toJson(field: FieldText, options: Options): object;
  /** An empty column; it has no slots until `grow`. Its `add` gets a number, or whatever is there where the use is `counted`. */
  createColumn(): Column;
  result(column: Column, slot: number, options: Options): AggregateResult;
  /**
   * What rows can be ordered by: null is the value itself, a text the part of that name of the value. Each is a number or
   * null in every result. Empty where the values have no order.
   */
  orders(options: Options): readonly (string | null)[];
}

/** Of a kind that has none. */
export interface NoOptions {
  readonly [name: string]: never;
}

export const NO_OPTIONS: NoOptions = {};
