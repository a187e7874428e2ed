/**
 * The oracle's rows: one group of a view in one window, with every value that was added to it. What the aggregates say of
 * them is computed when it is asked for.
 */
import type { Plan, ViewPlan } from '../core/definition/plan.ts';
import type { JudgedRecord } from './recount-record.ts';
import { resultOf } from './recount-values.ts';

type RowKey = readonly (string | number | boolean | null)[];

/** One group of a view in one window, with all values that were added. */
export class RecountRow {
  readonly view: ViewPlan;
  readonly key: RowKey;
  readonly windowStartMs: number | null;
  /** Of each aggregate of the view: the numbers that it was given; of a count, a 1 for each record. */
  readonly added: readonly number[][];
  recordCount: number;
  #values: Record<string, unknown> | null = null;

  constructor(
    view: ViewPlan,
    key: RowKey,
    windowStartMs: number | null,
    added: readonly number[][] = view.aggregates.map(() => []),
    recordCount = 0,
  ) {
    this.view = view;
    this.key = key;
    this.windowStartMs = windowStartMs;
    this.added = added;
    this.recordCount = recordCount;
  }

  /** By aggregate, as the query API answers; quantiles exactly, by rank. */
  get values(): Record<string, unknown> {
    this.#values ??= Object.fromEntries(
      this.view.aggregates.map((aggregate, index) => [
        aggregate.name,
        resultOf(aggregate, this.added[index] as number[]),
      ]),
    );
    return this.#values;
  }

  add(record: JudgedRecord): void {
    this.#values = null;
    this.recordCount++;
    for (const [index, { kind, field }] of this.view.aggregates.entries()) {
      const added = this.added[index] as number[];
      const value = field === null ? 1 : record.fields[field];
      if (value === undefined || value === null) continue;
      added.push(kind === 'count' ? 1 : (value as number));
    }
  }

  addAll(other: RecountRow): void {
    this.#values = null;
    this.recordCount += other.recordCount;
    for (const [index, added] of other.added.entries()) {
      const mine = this.added[index] as number[];
      for (const value of added) mine.push(value);
    }
  }
}

/** Identifies a row within its view. */
export function rowId(key: RowKey, windowStartMs: number | null): string {
  return JSON.stringify([windowStartMs, ...key]);
}

export type Rows = Map<string, RecountRow>;

export function emptyViews(plan: Plan): Map<string, Rows> {
  return new Map(plan.views.map(({ name }) => [name, new Map()]));
}

/** The row, made if there is none. */
export function rowOf(
  rows: Rows,
  view: ViewPlan,
  key: RowKey,
  windowStartMs: number | null,
): RecountRow {
  const id = rowId(key, windowStartMs);
  const known = rows.get(id);
  if (known !== undefined) return known;
  const row = new RecountRow(view, key, windowStartMs);
  rows.set(id, row);
  return row;
}

export function groupKeyOf(view: ViewPlan, record: JudgedRecord): RowKey {
  return view.groupBy.map(({ field }) => (record.fields[field] ?? null) as RowKey[number]);
}
