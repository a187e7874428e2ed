/**
 * Accumulators as they were before a fold touched them, in the order in which they were touched.
 *
 * Invariant: put back newest first, they leave each slot as it was before the first of them was kept.
 */
import type { AccumulatorColumn } from '../aggregate/column.ts';
import { aggregateOf } from '../definition/kinds/aggregate-kinds.ts';
import type { ViewPlan } from '../definition/plan.ts';

const CAPACITY_MIN = 4;
/** Room that is kept from commit to commit. */
const KEPT = 8_192;

export class BeforeImages {
  readonly #view: ViewPlan;
  #columns: AccumulatorColumn[];
  /** Whose they are: slots. */
  readonly #slots: number[] = [];
  #capacity = 0;

  constructor(view: ViewPlan) {
    this.#view = view;
    this.#columns = emptyColumns(view);
  }

  /** Keeps what a slot of `columns` holds. */
  keep(slot: number, columns: readonly AccumulatorColumn[]): void {
    const index = this.#slots.length;
    if (index >= this.#capacity) {
      this.#capacity = Math.max(CAPACITY_MIN, this.#capacity * 2);
      for (const column of this.#columns) column.grow(this.#capacity);
    }
    this.#slots.push(slot);
    for (let at = 0; at < columns.length; at++) {
      const column = this.#columns[at] as AccumulatorColumn;
      column.copy(index, columns[at] as AccumulatorColumn, slot);
    }
  }

  /** Each slot of `columns` is as it was when it was kept. */
  putBack(columns: readonly AccumulatorColumn[]): void {
    for (let index = this.#slots.length - 1; index >= 0; index--) {
      const slot = this.#slots[index] as number;
      for (const [at, column] of columns.entries()) {
        column.copy(slot, this.#columns[at] as AccumulatorColumn, index);
      }
    }
  }

  /** They are of no more use, and what they hold out of line goes. */
  forget(): void {
    const count = this.#slots.length;
    this.#slots.length = 0;
    if (count <= KEPT && this.#capacity <= KEPT) {
      for (const column of this.#columns) {
        for (let index = 0; index < count; index++) column.reset(index);
      }
      return;
    }
    this.#columns = emptyColumns(this.#view);
    this.#capacity = 0;
  }

  /** Bytes of memory that they hold, about. */
  heapBytes(): number {
    return this.#columns.reduce((sum, column) => sum + column.heapBytes(), 0);
  }
}

function emptyColumns(view: ViewPlan): AccumulatorColumn[] {
  return view.columns.map(({ kind }) => aggregateOf(kind).createColumn());
}
