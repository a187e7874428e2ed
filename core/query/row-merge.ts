/**
 * Rows out of sorted sources: what several of them hold of the same key and window is one row. Keeps one entry of each source
 * at a time, however many rows there are.
 */
import { Heap } from '../heap.ts';
import { compareRowKeys, type RowCursor, type RowKey } from './row-cursor.ts';

/** What one source holds of a row. */
export interface RowPart {
  readonly table: RowCursor['table'];
  readonly slot: number;
  readonly accumulators: Uint8Array | null;
}

export class RowMerge implements RowKey {
  bytes: Uint8Array = new Uint8Array();
  start = 0;
  end = 0;
  windowStartMs = 0;
  /** Of the row: one in most cases. */
  readonly parts: RowPart[] = [];
  /** The source with the least entry first. */
  readonly #cursors = new Heap<RowCursor>(compareRowKeys);
  /** The first of them has nothing more in memory. */
  #isDry = false;
  #isOpen = false;

  /** Sources that have been loaded, and have an entry. */
  constructor(cursors: readonly RowCursor[]) {
    for (const cursor of cursors) this.#cursors.add(cursor);
  }

  /** Moves to the next row; where it says `load`, it goes on after `load`. */
  next(): 'row' | 'load' | 'end' {
    if (this.#isDry) return 'load';
    if (!this.#isOpen) {
      const first = this.#cursors.first;
      if (first === undefined) return 'end';
      this.parts.length = 0;
      this.bytes = first.bytes;
      this.start = first.start;
      this.end = first.end;
      this.windowStartMs = first.windowStartMs;
      this.#isOpen = true;
      this.#take(first);
    }
    for (;;) {
      if (this.#isDry) return 'load';
      const first = this.#cursors.first;
      if (first === undefined || compareRowKeys(first, this) !== 0) break;
      this.#take(first);
    }
    this.#isOpen = false;
    return 'row';
  }

  /** Brings more of a source into memory. */
  async load(): Promise<void> {
    const first = this.#cursors.first as RowCursor;
    if (await first.load()) this.#cursors.replaceFirst(first);
    else this.#cursors.removeFirst();
    this.#isDry = false;
  }

  #take(cursor: RowCursor): void {
    const { table, slot, accumulators } = cursor;
    this.parts.push({ table, slot, accumulators });
    if (cursor.next()) this.#cursors.replaceFirst(cursor);
    else this.#isDry = true;
  }
}
