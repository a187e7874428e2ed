/**
 * How far the closed entries of each view have been drained into runs: all entries before a view's bound, in the order of
 * (window, key), are in runs; those at or after it are in the view's table. Where a bound cuts a window, the table keeps the
 * entries before it until the window goes as a whole: none of them counts.
 *
 * Invariants: a bound only grows, and lies within closed windows: no entry comes to one, so none ever comes to be before it.
 */
import { assert } from '../assert.ts';
import { compareBound, type EntryBound } from './entry-bound.ts';
import type { WindowSource } from './state-change.ts';
import type { ViewTable } from './view-table.ts';

export class DrainedBounds {
  /** By index of the image's views; null: nothing is drained. */
  readonly #bounds: (EntryBound | null)[];
  /** Entries before the bound that the view's table still has. */
  readonly #leftCounts: number[];

  constructor(viewCount: number) {
    this.#bounds = Array.from({ length: viewCount }, () => null);
    this.#leftCounts = Array.from({ length: viewCount }, () => 0);
  }

  get(view: number): EntryBound | null {
    return this.#bounds[view] ?? null;
  }

  /** Entries of a view's table that runs have, and that do not count. */
  leftCount(view: number): number {
    return this.#leftCounts[view] as number;
  }

  /** True if runs have the entry. */
  has(view: number, windowStartMs: number, key: Uint8Array): boolean {
    const bound = this.#bounds[view] ?? null;
    return bound !== null && compareBound(bound, windowStartMs, key) > 0;
  }

  /** All before `bound` is in runs from now on: windows that are there as a whole leave the table. `watermarkMs`: the committed one. */
  move(view: number, bound: EntryBound | null, table: ViewTable, isClosed: IsClosed): void {
    const before = this.get(view);
    assert(
      before === null ||
        (bound !== null && compareBound(before, bound.windowStartMs, bound.key) <= 0),
      'a-drained-bound-only-grows',
      () => `of '${table.view.name}'`,
    );
    if (bound === null) return;
    for (const startMs of table.windowStarts((start) => start < bound.windowStartMs)) {
      assert(isClosed(startMs), 'closed-entries-only-are-drained');
      table.removeWindow(startMs);
    }
    const leftCount = table.countBefore(bound.windowStartMs, bound.key);
    assert(leftCount === 0 || isClosed(bound.windowStartMs), 'closed-entries-only-are-drained');
    this.#bounds[view] = bound;
    this.#leftCounts[view] = leftCount;
  }

  /** The view begins anew. */
  forget(view: number): void {
    this.#bounds[view] = null;
    this.#leftCounts[view] = 0;
  }

  /** The entries of a window that no run has; null if all are in runs. */
  kept(view: number, windowStartMs: number, table: ViewTable): WindowSource {
    const bound = this.get(view);
    const keys = table.window(windowStartMs);
    const isCut = bound?.windowStartMs === windowStartMs && this.leftCount(view) > 0;
    const ordinals = isCut ? table.between(windowStartMs, bound.key, null) : null;
    return { windowStartMs, table, keys, ordinals };
  }
}

type IsClosed = (windowStartMs: number) => boolean;
