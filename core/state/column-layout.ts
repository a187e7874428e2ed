/**
 * From accumulators as one plan laid them out to the columns of another: which go where, and which are passed over.
 */
import { aggregateOf } from '../definition/kinds/aggregate-kinds.ts';
import type { ViewPlan } from '../definition/plan.ts';
import { columnId } from '../definition/view-match.ts';
import type { ColumnLayout, LaidColumn } from './laid-column.ts';
import { isSameColumnLife, type StoredView, type ViewLife } from './view-life.ts';
import { ViewTable } from './view-table.ts';

/**
 * Where the stored columns go in `view`; null where entries are laid out as the view has them. A stored column counts only
 * if it is of the same life as the view's.
 */
function layoutOf(stored: StoredView, view: ViewPlan, life: ViewLife): ColumnLayout | null {
  const layout = stored.columns.map((column): LaidColumn => {
    const target = view.columns.findIndex((own, index) => {
      return columnId(own) === columnId(column) && isSameColumnLife(life.columns[index], column);
    });
    if (target >= 0) return { target, skipped: null };
    const skipped = aggregateOf(column.kind).createColumn();
    skipped.grow(1);
    return { target: null, skipped };
  });
  const isAsIs =
    layout.length === view.columns.length && layout.every(({ target }, index) => target === index);
  return isAsIs ? null : layout;
}

/** How stored entries of a view become the view's own. */
export interface StoredLayout {
  /** See `layoutOf`. */
  readonly columns: ColumnLayout | null;
  /** Accumulators as the view has them: these very bytes where that is how they are stored. */
  readonly own: (accumulators: Uint8Array) => Uint8Array;
}

export function storedLayout(stored: StoredView, view: ViewPlan, life: ViewLife): StoredLayout {
  const columns = layoutOf(stored, view, life);
  if (columns === null) return { columns, own: (accumulators) => accumulators };
  const relayout = new Relayout(view);
  return { columns, own: (accumulators) => relayout.apply(accumulators, columns) };
}

/** Rewrites accumulators one by one. */
export class Relayout {
  readonly #table: ViewTable;
  readonly #slot: number;

  constructor(view: ViewPlan) {
    this.#table = new ViewTable(view);
    this.#slot = this.#table.insert(0, new Uint8Array());
  }

  /** As `layout` has them → as the view has them. */
  apply(accumulators: Uint8Array, layout: ColumnLayout): Uint8Array {
    this.#table.decodeAs(this.#slot, accumulators, layout);
    return this.#table.encoded(this.#slot);
  }

  /** As the view has them, without what some of its columns hold. */
  without(accumulators: Uint8Array, columns: readonly number[]): Uint8Array {
    this.#table.decode(this.#slot, accumulators);
    for (const column of columns) this.#table.resetColumn(column);
    return this.#table.encoded(this.#slot);
  }
}
