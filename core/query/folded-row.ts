/**
 * The accumulators of a row: where they are if one table alone has them, otherwise merged into one of its own.
 */
import type { ViewPlan } from '../definition/plan.ts';
import { ViewTable } from '../state/view-table.ts';
import type { RowPart } from './row-merge.ts';

export class FoldedRow {
  table: ViewTable;
  slot: number;
  readonly #scratch: ViewTable;
  readonly #sum: number;
  readonly #other: number;

  constructor(view: ViewPlan) {
    this.#scratch = new ViewTable(view);
    this.#sum = this.#scratch.insert(0, Uint8Array.of(0));
    this.#other = this.#scratch.insert(0, Uint8Array.of(1));
    this.table = this.#scratch;
    this.slot = this.#sum;
  }

  /** All of its accumulators; or one column alone, if it is given. */
  fold(parts: readonly RowPart[], only = -1): void {
    const [first] = parts as readonly [RowPart];
    if (parts.length === 1 && first.table !== null) {
      this.table = first.table;
      this.slot = first.slot;
      return;
    }
    this.table = this.#scratch;
    this.slot = this.#sum;
    if (first.table !== null) this.#scratch.copyFrom(this.#sum, first.table, first.slot, only);
    else this.#scratch.decode(this.#sum, first.accumulators as Uint8Array);
    for (let index = 1; index < parts.length; index++) {
      this.#merge(parts[index] as RowPart, only);
    }
  }

  /** The same, for as long as the images stay as they are. */
  kept(): RowPart {
    const { table, slot } = this;
    if (table !== this.#scratch) return { table, slot, accumulators: null };
    return { table: null, slot: 0, accumulators: table.encoded(slot) };
  }

  #merge({ table, slot, accumulators }: RowPart, only: number): void {
    if (table !== null) {
      this.#scratch.mergeFrom(this.#sum, table, slot, only);
      return;
    }
    this.#scratch.decode(this.#other, accumulators as Uint8Array);
    this.#scratch.mergeFrom(this.#sum, this.#scratch, this.#other, only);
  }
}
