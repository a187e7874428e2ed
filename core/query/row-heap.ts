/**
 * The first few of many rows in the order of a value: groups without one last, whichever way it goes; those of equal values by
 * key and window. Keeps no more rows than are wanted.
 */
import { Heap } from '../heap.ts';
import { compareRowKeys, type RowKey } from './row-cursor.ts';

export interface ValuedRow {
  readonly value: number | null;
  readonly row: RowKey;
}

export class RowHeap<T extends ValuedRow> {
  readonly #count: number;
  readonly #descending: boolean;
  /** The last of them first. */
  readonly #rows = new Heap<T>((a, b) => this.compare(b, a));

  constructor(count: number, descending: boolean) {
    this.#count = count;
    this.#descending = descending;
  }

  /** False if no row of this value is among the first. */
  mayTake(value: number | null): boolean {
    const last = this.#rows.first;
    return (
      last === undefined ||
      this.#rows.size < this.#count ||
      this.#compareValues(value, last.value) <= 0
    );
  }

  /** Whether a row is among the first as far as they are known. */
  takes(row: ValuedRow): boolean {
    const last = this.#rows.first;
    return last === undefined || this.#rows.size < this.#count || this.compare(row, last) < 0;
  }

  /** Adds a row that `takes` takes. */
  add(row: T): void {
    if (this.#rows.size < this.#count) this.#rows.add(row);
    else this.#rows.replaceFirst(row);
  }

  /** Those that were added and are among the first, in order. */
  inOrder(): T[] {
    return [...this.#rows.items].sort((a, b) => this.compare(a, b));
  }

  compare(a: ValuedRow, b: ValuedRow): number {
    return this.#compareValues(a.value, b.value) || compareRowKeys(a.row, b.row);
  }

  #compareValues(a: number | null, b: number | null): number {
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    return a < b === this.#descending ? 1 : -1;
  }
}
