/**
 * What one source holds of a view, entry by entry in the order of (key, window): the table of a slice, with open and closing
 * entries, its late partials that no run holds, and runs. An entry is read where it lies: nothing is copied or decoded until it is shown.
 */
import { compareSpans } from '../bytes.ts';
import type { ClosedEntry } from '../state/closed-entries.ts';
import type { EntryBound } from '../state/entry-bound.ts';
import type { SortedKeys, SortedWindow } from '../state/sorted-keys.ts';
import type { ViewTable } from '../state/view-table.ts';
import type { RowPosition } from './snapshot-token.ts';

/** A group key and a window: the key is the bytes [start, end) of an array that may be used again. */
export interface RowKey {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly windowStartMs: number;
}

/** Stands at an entry, once `next` has returned true. */
export interface RowCursor extends RowKey {
  /** Where the accumulators are: in a slot of a table, or as bytes. */
  readonly table: ViewTable | null;
  readonly slot: number;
  readonly accumulators: Uint8Array | null;
  /** Moves to the next entry; false at the end of what is in memory. */
  next(): boolean;
  /** Brings more into memory; false if there is none. */
  load(): Promise<boolean>;
}

/** A row, as answers and tokens know it. */
export type RowBefore = Pick<RowPosition, 'key' | 'windowStartMs'>;

export function compareRowKeys(a: RowKey, b: RowKey): number {
  const byKey = compareSpans(a.bytes, a.start, a.end, b.bytes, b.start, b.end);
  return byKey === 0 ? a.windowStartMs - b.windowStartMs : byKey;
}

const NO_BYTES: Uint8Array = new Uint8Array();

/** Entries that are looked up together: the processor waits for memory once rather than for each. */
const BATCH = 256;

export class TableCursor implements RowCursor {
  bytes = NO_BYTES;
  start = 0;
  end = 0;
  windowStartMs = 0;
  readonly table: ViewTable;
  slot = 0;
  readonly accumulators = null;
  readonly #keys: SortedKeys;
  readonly #filter: TableFilter;
  /** The window of the index that the drained bound lies in; −1: none. */
  readonly #cutWindow: number;
  #place: number;
  readonly #endPlace: number;
  readonly #batch: Batch;
  #at = 0;
  #count = 0;

  /** The entries at the places [from, to) of an index of the table that are wanted. */
  constructor(table: ViewTable, keys: SortedKeys, filter: TableFilter, from: number, to: number) {
    this.table = table;
    this.#keys = keys;
    this.#filter = filter;
    const cutMs = filter.drained?.windowStartMs;
    this.#cutWindow = keys.windows.findIndex(({ startMs }) => startMs === cutMs);
    this.#place = from;
    this.#endPlace = to;
    const size = Math.min(BATCH, Math.max(0, to - from));
    this.#batch = {
      windows: new Uint32Array(size),
      starts: new Uint32Array(size),
      ends: new Uint32Array(size),
      slots: new Uint32Array(size),
    };
  }

  next(): boolean {
    if (this.#at === this.#count && !this.#fill()) return false;
    const { windows, starts, ends, slots } = this.#batch;
    const at = this.#at++;
    const { startMs, keys } = this.#keys.windows[windows[at] as number] as SortedWindow;
    this.bytes = keys.arena;
    this.start = starts[at] as number;
    this.end = ends[at] as number;
    this.slot = slots[at] as number;
    this.windowStartMs = startMs;
    return true;
  }

  async load(): Promise<boolean> {
    return false;
  }

  #isDrained(keys: SortedWindow['keys'], ordinal: number): boolean {
    const { key } = this.#filter.drained as EntryBound;
    const [start, end] = [keys.startOf(ordinal), keys.endOf(ordinal)];
    return compareSpans(keys.arena, start, end, key, 0, key.length) < 0;
  }

  #fill(): boolean {
    const { windowOf, ordinals, windows } = this.#keys;
    const { selected } = this.#filter;
    const batch = this.#batch;
    let count = 0;
    let place = this.#place;
    for (; place < this.#endPlace && count < batch.slots.length; place++) {
      const window = windowOf[place] as number;
      if (!selected[window]) continue;
      const { keys } = windows[window] as SortedWindow;
      const ordinal = ordinals[place] as number;
      if (window === this.#cutWindow && this.#isDrained(keys, ordinal)) continue;
      batch.windows[count] = window;
      batch.starts[count] = keys.startOf(ordinal);
      batch.ends[count] = keys.endOf(ordinal);
      batch.slots[count++] = keys.slotAt(ordinal);
    }
    this.#place = place;
    this.#at = 0;
    this.#count = count;
    return count > 0;
  }
}

/** Which entries of a table are wanted. */
export interface TableFilter {
  /** By window of the index. */
  readonly selected: readonly boolean[];
  /** Those before it are in runs; null: none is. */
  readonly drained: EntryBound | null;
}

interface Batch {
  readonly windows: Uint32Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly slots: Uint32Array;
}

export class EntryCursor implements RowCursor {
  bytes = NO_BYTES;
  readonly start = 0;
  end = 0;
  windowStartMs = 0;
  readonly table = null;
  readonly slot = 0;
  accumulators = NO_BYTES;
  #entries: readonly ClosedEntry[];
  #at: number;
  #endAt: number;
  readonly #selects: (entry: ClosedEntry) => boolean;
  readonly #more: MoreEntries | null;

  /** Those in [from, to) of sorted entries, and of what comes when these are used up, that are selected. */
  constructor(
    entries: readonly ClosedEntry[],
    from: number,
    to: number,
    selects: (entry: ClosedEntry) => boolean,
    more: MoreEntries | null,
  ) {
    this.#entries = entries;
    this.#at = from - 1;
    this.#endAt = to;
    this.#selects = selects;
    this.#more = more;
  }

  next(): boolean {
    while (++this.#at < this.#endAt) {
      const entry = this.#entries[this.#at] as ClosedEntry;
      if (!this.#selects(entry)) continue;
      this.bytes = entry.key;
      this.end = entry.key.length;
      this.windowStartMs = entry.windowStartMs;
      this.accumulators = entry.accumulators;
      return true;
    }
    return false;
  }

  async load(): Promise<boolean> {
    while (this.#more !== null) {
      const entries = await this.#more();
      if (entries === null) return false;
      this.#entries = entries;
      this.#at = -1;
      this.#endAt = entries.length;
      if (this.next()) return true;
    }
    return false;
  }
}

/** The next sorted entries, perhaps none; null at the end. */
type MoreEntries = () => Promise<readonly ClosedEntry[] | null>;

/** The first index of sorted entries with this key and window, or with what comes after them. */
export function seekEntry(
  entries: readonly ClosedEntry[],
  key: Uint8Array,
  windowStartMs: number,
): number {
  const sought = rowKeyOf({ key, windowStartMs });
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = entries[middle] as ClosedEntry;
    if (compareRowKeys(rowKeyOf(entry), sought) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function rowKeyOf({ key, windowStartMs }: RowBefore): RowKey {
  return { bytes: key, start: 0, end: key.length, windowStartMs };
}
