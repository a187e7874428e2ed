/**
 * What the parts of one slice hold of one window, entry by entry. The next part is read once the one before it is used up. Entries
 * that the overlay has are newer there, and passed over.
 */
import type { StoredPart } from '../checkpoint/overlay.ts';
import { hashKey, type WindowEntries } from '../state/key-table.ts';
import type { PartIndex } from '../state/part-index.ts';
import type { Lane } from './part-lanes.ts';
import type { RowBefore, RowCursor } from './row-cursor.ts';
import type { KeyRange } from './row-filter.ts';

export interface PartReading {
  /** Null: the part cannot be read, and that is noted. */
  readonly open: (part: StoredPart) => Promise<PartIndex | null>;
  /** Accumulators as the view has them. */
  readonly own: (part: StoredPart, accumulators: Uint8Array) => Uint8Array;
  /** The overlay's entries of the window. */
  readonly overlay: WindowEntries;
}

const NO_BYTES: Uint8Array = new Uint8Array();

export class PartCursor implements RowCursor {
  bytes = NO_BYTES;
  start = 0;
  end = 0;
  readonly windowStartMs: number;
  readonly table = null;
  readonly slot = 0;
  readonly #reading: PartReading;
  readonly #range: KeyRange;
  /** Keys up to it were shown; null: none. */
  readonly #shown: Uint8Array | null;
  readonly #parts: readonly StoredPart[];
  #nextPart = 0;
  #part: StoredPart | null = null;
  #index: PartIndex | null = null;
  #at = 0;
  #endAt = 0;

  /** Those of a lane with keys in a range, behind a row. */
  constructor(
    { windowStartMs, parts }: Lane,
    range: KeyRange,
    before: RowBefore | null,
    reading: PartReading,
  ) {
    this.windowStartMs = windowStartMs;
    this.#parts = parts;
    this.#range = range;
    this.#shown = before !== null && windowStartMs <= before.windowStartMs ? before.key : null;
    this.#reading = reading;
  }

  get accumulators(): Uint8Array {
    const accumulators = (this.#index as PartIndex).accumulatorsOf(this.#at);
    return this.#reading.own(this.#part as StoredPart, accumulators);
  }

  next(): boolean {
    const index = this.#index;
    const { overlay } = this.#reading;
    while (index !== null && ++this.#at < this.#endAt) {
      const [start, end] = [index.startOf(this.#at), index.endOf(this.#at)];
      if (overlay.size > 0) {
        const key = index.bytes.subarray(start, end);
        if (overlay.find(key, key.length, hashKey(key)) >= 0) continue;
      }
      this.bytes = index.bytes;
      this.start = start;
      this.end = end;
      return true;
    }
    return false;
  }

  async load(): Promise<boolean> {
    while (this.#nextPart < this.#parts.length) {
      const part = this.#parts[this.#nextPart++] as StoredPart;
      const index = await this.#reading.open(part);
      if (index === null) continue;
      this.#enter(part, index);
      if (this.next()) return true;
    }
    return false;
  }

  /** Stands before the first wanted entry of a part. */
  #enter(part: StoredPart, index: PartIndex): void {
    const window = index.windows.find(({ startMs }) => startMs === this.windowStartMs);
    this.#part = part;
    this.#index = index;
    this.#at = -1;
    this.#endAt = 0;
    if (window === undefined) return;
    const { from, to } = this.#range;
    let first = from === null ? window.first : index.seek(window, from);
    if (part.from !== null && part.from.windowStartMs >= this.windowStartMs) {
      // Bytes before the part's range are of another part.
      const isLater = part.from.windowStartMs > this.windowStartMs;
      first = Math.max(first, isLater ? window.end : index.seek(window, part.from.key));
    }
    if (this.#shown !== null) first = Math.max(first, index.seekAfter(window, this.#shown));
    this.#at = first - 1;
    this.#endAt = to === null ? window.end : index.seek(window, to);
  }
}
