/**
 * The entries of one view: window and group key → slot, and the accumulators of each slot in columns.
 *
 *   windows: start → (group key → slot)      columns: one a kind and field, indexed by slot
 *
 * A window leaves as a whole, which frees its slots. A view without windows has the one window that starts at 0.
 *
 * A fold changes entries in place. What they were before is kept until `commit`, or is put back by `undo`. While a commit is under
 * way there are two generations of that: what is sealed, which it is to commit, and what was touched since.
 *
 *   commit ── touched ── seal ── touched ──▶     commit: the sealed one counts     undo: back to the seal     reopen: no seal
 */

import type { AccumulatorColumn } from '../aggregate/column.ts';
import { assert } from '../assert.ts';
import { ByteReader, ByteWriter } from '../bytes.ts';
import { aggregateOf } from '../definition/kinds/aggregate-kinds.ts';
import type { AggregatePlan, ViewPlan } from '../definition/plan.ts';
import { BeforeImages } from './before-images.ts';
import { grownCapacity } from './growth.ts';
import { type FirstKeys, KeyRanges } from './key-ranges.ts';
import { hashKey, KeyTable, type WindowEntries } from './key-table.ts';
import type { ColumnLayout } from './laid-column.ts';
import { WindowLoad } from './window-load.ts';

const CAPACITY_MIN = 4;
/** What V8 holds for a window besides the arrays of its keys, about: measured by `npm run bench -- windows`. */
const WINDOW_BYTES = 620;
/** What a touched entry takes besides its accumulators, about. */
const TOUCHED_KEY_BYTES = 50;
const NO_KEYS: WindowEntries = new KeyTable();

/** Windows with entries that were touched, and what those were before. */
interface Touched {
  readonly windows: { readonly startMs: number; readonly window: KeyTable }[];
  readonly before: BeforeImages;
}

export class ViewTable {
  readonly view: ViewPlan;
  readonly #columns: AccumulatorColumn[];
  readonly #windows = new Map<number, KeyTable>();
  #lastStartMs = Number.NaN;
  #lastWindow: KeyTable | undefined;
  #capacity = 0;
  #nextSlot = 0;
  #freeSlots: number[] = [];
  #entryCount = 0;
  /** Since the last commit, or since it was sealed. */
  #touched: Touched;
  /** Of a commit that is under way. */
  #sealed: Touched | null = null;
  readonly #writer = new ByteWriter(64);
  readonly #ranges = new KeyRanges();
  readonly #loadedSlot = () => this.#newSlot();

  constructor(view: ViewPlan) {
    this.view = view;
    this.#columns = view.columns.map(({ kind }) => aggregateOf(kind).createColumn());
    this.#touched = nothingTouched(view);
  }

  get entryCount(): number {
    return this.#entryCount;
  }

  /** False while a fold has touched entries and did neither commit nor undo it. */
  get isCommitted(): boolean {
    return this.#touched.windows.length === 0 && this.#sealed === null;
  }

  /** The slot of an entry, or −1. The key is the first `length` bytes, `hash` is `hashKey` of it. */
  find(
    windowStartMs: number,
    key: Uint8Array,
    length = key.length,
    hash = hashKey(key, length),
  ): number {
    const window = this.#window(windowStartMs);
    if (window === undefined) return -1;
    const ordinal = window.find(key, length, hash);
    return ordinal < 0 ? -1 : window.slotAt(ordinal);
  }

  /**
   * The slot of an entry that a fold is about to change; a new one, holding the identity, where there is none. What was
   * there before comes back by `undo`.
   */
  touch(windowStartMs: number, key: Uint8Array, length: number, hash: number): number {
    const window = this.#window(windowStartMs) ?? this.#addWindow(windowStartMs);
    const known = window.find(key, length, hash);
    const ordinal = known < 0 ? window.add(key, length, hash, this.#newSlot()) : known;
    const slot = window.slotAt(ordinal);
    if (!window.touch(ordinal)) return slot;
    if (window.touchedCount === 1) this.#touched.windows.push({ startMs: windowStartMs, window });
    if (!window.isNew(ordinal)) this.#touched.before.keep(slot, this.#columns);
    return slot;
  }

  /** What was touched is about to be committed; what is touched from now on is apart from it. */
  seal(): void {
    assert(this.#sealed === null, 'one-commit-at-a-time');
    for (const { window } of this.#touched.windows) window.seal();
    this.#sealed = this.#touched;
    this.#touched = nothingTouched(this.view);
  }

  /** What was sealed is what counts from now on; where nothing is, what was touched. */
  commit(): void {
    const touched = this.#sealed ?? this.#touched;
    for (const { window } of touched.windows) window.commit();
    if (this.#sealed === null) forget(touched);
    this.#sealed = null;
  }

  /** Every entry is as it was at the last commit, or when the table was sealed. */
  undo(): void {
    const { before, windows } = this.#touched;
    before.putBack(this.#columns);
    for (const { startMs, window } of windows) {
      window.undo((slot) => this.#free(slot));
      if (window.size === 0) this.#dropWindow(startMs);
    }
    forget(this.#touched);
  }

  /** What was sealed is not committed after all; what was touched since was undone. */
  reopen(): void {
    assert(this.#touched.windows.length === 0, 'the-newest-is-undone-first');
    this.#touched = this.#sealed as Touched;
    for (const { window } of this.#touched.windows) window.reopen();
    this.#sealed = null;
  }

  /** The ordinal of an entry's key in its window; where there is none it is added, with a slot that holds the identity, as committed. */
  place(windowStartMs: number, key: Uint8Array): number {
    const hash = hashKey(key);
    const window = this.#window(windowStartMs) ?? this.#addWindow(windowStartMs);
    const known = window.find(key, key.length, hash);
    if (known >= 0) return known;
    const ordinal = window.add(key, key.length, hash, this.#newSlot());
    window.commit();
    return ordinal;
  }

  /** A new slot, holding the identity, for an entry that has none, which counts as committed. */
  insert(
    windowStartMs: number,
    key: Uint8Array,
    length = key.length,
    hash = hashKey(key, length),
  ): number {
    const window = this.#window(windowStartMs) ?? this.#addWindow(windowStartMs);
    const slot = this.#newSlot();
    window.add(key, length, hash, slot);
    window.commit();
    return slot;
  }

  /** Makes room for so many entries more, if there is less. */
  reserve(count: number): void {
    const capacity = this.#nextSlot - this.#freeSlots.length + count;
    if (capacity > this.#capacity) this.#growTo(capacity);
  }

  /** Room for so many new entries of a window: see `WindowLoad`. */
  load(windowStartMs: number, count: number, isApart: boolean): WindowLoad {
    const window = this.#window(windowStartMs) ?? this.#addWindow(windowStartMs);
    return new WindowLoad(window, this.#loadedSlot, count, isApart);
  }

  /** Folds one value into the `column`-th accumulator of a slot. */
  add(slot: number, column: number, value: number): void {
    (this.#columns[column] as AccumulatorColumn).add(slot, value);
  }

  /** slot ← a copy of `otherSlot` of `other`, a table of the same view; in one column alone, if it is given. */
  copyFrom(slot: number, other: ViewTable, otherSlot: number, only = -1): void {
    for (let index = 0; index < this.#columns.length; index++) {
      if (only >= 0 && index !== only) continue;
      const column = this.#columns[index] as AccumulatorColumn;
      column.copy(slot, other.#columns[index] as AccumulatorColumn, otherSlot);
    }
  }

  /** slot ← slot ⊕ `otherSlot` of `other`, a table of the same view; in one column alone, if it is given. */
  mergeFrom(slot: number, other: ViewTable, otherSlot: number, only = -1): void {
    for (let index = 0; index < this.#columns.length; index++) {
      if (only >= 0 && index !== only) continue;
      const column = this.#columns[index] as AccumulatorColumn;
      column.merge(slot, other.#columns[index] as AccumulatorColumn, otherSlot);
    }
  }

  /** Canonical bytes of a slot's accumulators. */
  encode(slot: number, writer: ByteWriter): void {
    for (const column of this.#columns) column.encode(slot, writer);
  }

  /** The same, as bytes of their own. */
  encoded(slot: number): Uint8Array {
    this.#writer.clear();
    this.encode(slot, this.#writer);
    return this.#writer.finish();
  }

  /** Replaces a slot by what `encode` wrote. */
  decode(slot: number, accumulators: Uint8Array): void {
    const reader = new ByteReader(accumulators);
    this.read(slot, reader);
    reader.end();
  }

  /** The same, of what comes next in a reader. */
  read(slot: number, reader: ByteReader): void {
    for (const column of this.#columns) column.decode(slot, reader);
  }

  /** As `decode`, of what a table with other columns wrote. What the layout lacks becomes the identity. */
  decodeAs(slot: number, accumulators: Uint8Array, layout: ColumnLayout): void {
    const reader = new ByteReader(accumulators);
    for (const column of this.#columns) column.reset(slot);
    for (const { target, skipped } of layout) {
      if (target === null) skipped.decode(0, reader);
      else (this.#columns[target] as AccumulatorColumn).decode(slot, reader);
    }
    reader.end();
  }

  /** Every accumulator of a column becomes the identity. */
  resetColumn(column: number): void {
    for (let slot = 0; slot < this.#nextSlot; slot++) {
      (this.#columns[column] as AccumulatorColumn).reset(slot);
    }
  }

  /** The results of a slot, by index of the view's aggregates. */
  results(slot: number): ReturnType<AccumulatorColumn['result']>[] {
    return this.view.aggregates.map((_, aggregate) => this.result(slot, aggregate));
  }

  /** The result of one aggregate of a slot. */
  result(slot: number, aggregate: number): ReturnType<AccumulatorColumn['result']> {
    const { kind, column, options } = this.view.aggregates[aggregate] as AggregatePlan;
    return aggregateOf(kind).result(this.#columns[column] as AccumulatorColumn, slot, options);
  }

  /** Starts of the windows that have entries, ascending: of those that `selects` is true of. */
  windowStarts(selects: (windowStartMs: number) => boolean = () => true): number[] {
    return [...this.#windows.keys()].filter(selects).sort((a, b) => a - b);
  }

  /** Starts of the windows with entries that were touched since the last commit, ascending. */
  touchedStarts(): number[] {
    return this.#touched.windows.map(({ startMs }) => startMs).sort((a, b) => a - b);
  }

  /** Ordinals of a window's keys in [from, to), by key; null: without a bound. */
  between(
    windowStartMs: number,
    from: Uint8Array | null,
    to: Uint8Array | null,
  ): Uint32Array<ArrayBuffer> {
    return this.#ranges.between(this.window(windowStartMs), from, to);
  }

  /** See `KeyRanges.first`. */
  firstKeys(windowStartMs: number, from: Uint8Array | null, count: number): FirstKeys {
    return this.#ranges.first(this.window(windowStartMs), from, count);
  }

  /** How many of a window's keys come before one. */
  countBefore(windowStartMs: number, key: Uint8Array): number {
    return this.#ranges.countBefore(this.window(windowStartMs), key);
  }

  window(windowStartMs: number): WindowEntries {
    return this.#window(windowStartMs) ?? NO_KEYS;
  }

  /** Removes a window with all of its entries and says how many there were. */
  removeWindow(windowStartMs: number): number {
    const window = this.#windows.get(windowStartMs);
    if (window === undefined) return 0;
    for (let ordinal = 0; ordinal < window.size; ordinal++) {
      this.#free(window.slotAt(ordinal));
    }
    this.#dropWindow(windowStartMs);
    return window.size;
  }

  /** Removes every entry; the room stays. */
  clear(): void {
    if (this.#entryCount === 0) return;
    for (let slot = 0; slot < this.#nextSlot; slot++) {
      for (const column of this.#columns) column.reset(slot);
    }
    this.#windows.clear();
    this.#ranges.clear();
    this.#lastStartMs = Number.NaN;
    this.#lastWindow = undefined;
    forget(this.#touched);
    this.#freeSlots = [];
    this.#nextSlot = 0;
    this.#entryCount = 0;
  }

  /** Bytes of memory that the table holds, about. */
  heapBytes(): number {
    let bytes = this.#freeSlots.length * 8 + this.#ranges.heapBytes();
    for (const column of this.#columns) bytes += column.heapBytes();
    bytes += this.#touched.before.heapBytes() + (this.#sealed?.before.heapBytes() ?? 0);
    for (const window of this.#windows.values()) bytes += window.heapBytes() + WINDOW_BYTES;
    return bytes;
  }

  /** Entries that were touched since the last commit, or since it was sealed. */
  get touchedCount(): number {
    let count = 0;
    for (const { window } of this.#touched.windows) count += window.touchedCount;
    return count;
  }

  /** Bytes that the touched entries would take in a table of their own, about. */
  touchedBytes(): number {
    const { touchedCount } = this;
    if (touchedCount === 0) return 0;
    let columnBytes = 0;
    for (const column of this.#columns) columnBytes += column.heapBytes();
    // Room that is not used belongs to no entry.
    return Math.ceil(touchedCount * (columnBytes / this.#capacity + TOUCHED_KEY_BYTES));
  }

  #newSlot(): number {
    const slot = this.#freeSlots.pop() ?? this.#nextSlot++;
    if (slot >= this.#capacity) this.#grow();
    this.#entryCount++;
    return slot;
  }

  #free(slot: number): void {
    for (const column of this.#columns) column.reset(slot);
    this.#freeSlots.push(slot);
    this.#entryCount--;
  }

  #addWindow(windowStartMs: number): KeyTable {
    const window = new KeyTable();
    this.#windows.set(windowStartMs, window);
    this.#lastStartMs = windowStartMs;
    this.#lastWindow = window;
    return window;
  }

  #dropWindow(windowStartMs: number): void {
    this.#ranges.forget(this.window(windowStartMs));
    this.#windows.delete(windowStartMs);
    this.#lastStartMs = Number.NaN;
    this.#lastWindow = undefined;
  }

  #window(windowStartMs: number): KeyTable | undefined {
    if (windowStartMs === this.#lastStartMs) return this.#lastWindow;
    const window = this.#windows.get(windowStartMs);
    if (window !== undefined) {
      this.#lastStartMs = windowStartMs;
      this.#lastWindow = window;
    }
    return window;
  }

  #grow(): void {
    this.#growTo(Math.max(CAPACITY_MIN, grownCapacity(this.#capacity)));
  }

  #growTo(capacity: number): void {
    this.#capacity = capacity;
    for (const column of this.#columns) column.grow(capacity);
  }
}

function nothingTouched(view: ViewPlan): Touched {
  return { windows: [], before: new BeforeImages(view) };
}

function forget({ windows, before }: Touched): void {
  windows.length = 0;
  before.forget();
}
