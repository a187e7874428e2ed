/**
 * The first few of many rows in the order of a value: groups without one last, whichever way it goes; those of equal values by
 * key and window. Keeps no more rows than are wanted.
 */
import { compareRowKeys, type RowKey } from './row-cursor.ts';

export interface ValuedRow {
  readonly value: number | null;
  readonly row: RowKey;
}

export class RowHeap<T extends ValuedRow> {
  readonly #count: number;
  readonly #descending: boolean;
  /** A heap: the last of them first. */
  readonly #rows: T[] = [];

  constructor(count: number, descending: boolean) {
    this.#count = count;
    this.#descending = descending;
  }

  /** Whether a row is among the first as far as they are known. */
  takes(value: number | null, row: RowKey): boolean {
    if (this.#rows.length < this.#count) return true;
    const last = this.#rows[0];
    return last !== undefined && this.compare(value, row, last.value, last.row) < 0;
  }

  /** Adds a row that `takes` takes. */
  add(row: T): void {
    if (this.#rows.length < this.#count) {
      this.#rows.push(row);
      this.#rise();
    } else {
      this.#rows[0] = row;
      this.#sink();
    }
  }

  /** Those that were added and are among the first, in order. */
  inOrder(): T[] {
    return [...this.#rows].sort((a, b) => this.#compareRows(a, b));
  }

  compare(value: number | null, row: RowKey, otherValue: number | null, other: RowKey): number {
    if (value === otherValue) return compareRowKeys(row, other);
    if (value === null) return 1;
    if (otherValue === null) return -1;
    return value < otherValue === this.#descending ? 1 : -1;
  }

  #compareRows(a: T, b: T): number {
    return this.compare(a.value, a.row, b.value, b.row);
  }

  #rise(): void {
    const rows = this.#rows;
    let at = rows.length - 1;
    const row = rows[at] as T;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = rows[above] as T;
      if (this.#compareRows(other, row) >= 0) break;
      rows[at] = other;
      at = above;
    }
    rows[at] = row;
  }

  #sink(): void {
    const rows = this.#rows;
    const row = rows[0] as T;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= rows.length) break;
      const right = rows[below + 1];
      if (right !== undefined && this.#compareRows(right, rows[below] as T) > 0) below++;
      const last = rows[below] as T;
      if (this.#compareRows(row, last) >= 0) break;
      rows[at] = last;
      at = below;
    }
    rows[at] = row;
  }
}
