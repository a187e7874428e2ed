/**
 * Rows out of sorted sources: what several of them hold of the same key and window is one row. Keeps one entry of each source
 * at a time, however many rows there are.
 */
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
  /** A heap: the source with the least entry first. */
  readonly #cursors: RowCursor[] = [];
  /** The first of them has nothing more in memory. */
  #isDry = false;
  #isOpen = false;

  /** Sources that have been loaded, and have an entry. */
  constructor(cursors: readonly RowCursor[]) {
    for (const cursor of cursors) {
      this.#cursors.push(cursor);
      this.#rise();
    }
  }

  /** Moves to the next row; where it says `load`, it goes on after `load`. */
  next(): 'row' | 'load' | 'end' {
    if (this.#isDry) return 'load';
    if (!this.#isOpen) {
      const first = this.#cursors[0];
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
      const first = this.#cursors[0];
      if (first === undefined || compareRowKeys(first, this) !== 0) break;
      this.#take(first);
    }
    this.#isOpen = false;
    return 'row';
  }

  /** Brings more of a source into memory. */
  async load(): Promise<void> {
    const [first] = this.#cursors as [RowCursor];
    if (await first.load()) this.#sink();
    else this.#drop();
    this.#isDry = false;
  }

  #take(cursor: RowCursor): void {
    const { table, slot, accumulators } = cursor;
    this.parts.push({ table, slot, accumulators });
    if (cursor.next()) this.#sink();
    else this.#isDry = true;
  }

  #drop(): void {
    const last = this.#cursors.pop() as RowCursor;
    if (this.#cursors.length === 0) return;
    this.#cursors[0] = last;
    this.#sink();
  }

  #rise(): void {
    const cursors = this.#cursors;
    let at = cursors.length - 1;
    const cursor = cursors[at] as RowCursor;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const other = cursors[above] as RowCursor;
      if (compareRowKeys(other, cursor) <= 0) break;
      cursors[at] = other;
      at = above;
    }
    cursors[at] = cursor;
  }

  #sink(): void {
    const cursors = this.#cursors;
    const cursor = cursors[0] as RowCursor;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= cursors.length) break;
      const left = cursors[below] as RowCursor;
      const right = cursors[below + 1];
      if (right !== undefined && compareRowKeys(right, left) < 0) below++;
      const least = cursors[below] as RowCursor;
      if (compareRowKeys(cursor, least) <= 0) break;
      cursors[at] = least;
      at = below;
    }
    cursors[at] = cursor;
  }
}
