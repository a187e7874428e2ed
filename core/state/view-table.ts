/**
 * The entries of one view: window and group key → slot, and the accumulators of each slot in columns.
 *
 *   windows: start → (group key → slot)      columns: one a kind and field, indexed by slot
 *
 * A window leaves as a whole, which frees its slots. A view without windows has the one window that starts at 0.
 */
import type { AccumulatorColumn } from '../aggregate/column.ts';
import { createColumn } from '../aggregate/columns.ts';
import { ByteReader, type ByteWriter } from '../bytes.ts';
import type { AggregatePlan, ViewPlan } from '../definition/plan.ts';
import { hashKey, KeyTable } from './key-table.ts';

const CAPACITY_MIN = 4;
/** What V8 holds for a window besides its keys, about. */
const WINDOW_BYTES = 700;
const NO_KEYS: WindowEntries = new KeyTable();

/** Where an accumulator goes that another plan laid out. */
export type LaidColumn =
  | { readonly target: number; readonly skipped: null }
  /** `skipped` reads over it. */
  | { readonly target: null; readonly skipped: AccumulatorColumn };

/** In the order of the accumulators. */
export type ColumnLayout = readonly LaidColumn[];

/** By ordinal, in the order in which they came. */
export type WindowEntries = Pick<KeyTable, 'size' | 'keyAt' | 'slotAt'>;

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

  constructor(view: ViewPlan) {
    this.view = view;
    this.#columns = view.columns.map(({ kind }) => createColumn(kind));
  }

  get entryCount(): number {
    return this.#entryCount;
  }

  /** The slot of an entry, or −1. The key is the first `length` bytes, `hash` is `hashKey` of it. */
  find(
    windowStartMs: number,
    key: Uint8Array,
    length = key.length,
    hash = hashKey(key, length),
  ): number {
    return this.#window(windowStartMs)?.find(key, length, hash) ?? -1;
  }

  /** A new slot, holding the identity, for an entry that has none. */
  insert(
    windowStartMs: number,
    key: Uint8Array,
    length = key.length,
    hash = hashKey(key, length),
  ): number {
    let window = this.#window(windowStartMs);
    if (window === undefined) {
      window = new KeyTable();
      this.#windows.set(windowStartMs, window);
      this.#lastStartMs = windowStartMs;
      this.#lastWindow = window;
    }
    const slot = this.#freeSlots.pop() ?? this.#nextSlot++;
    if (slot >= this.#capacity) this.#grow();
    window.add(key, length, hash, slot);
    this.#entryCount++;
    return slot;
  }

  /** Folds one value into the `column`-th accumulator of a slot. */
  add(slot: number, column: number, value: number): void {
    (this.#columns[column] as AccumulatorColumn).add(slot, value);
  }

  /** slot ← a copy of `otherSlot` of `other`, a table of the same view. */
  copyFrom(slot: number, other: ViewTable, otherSlot: number): void {
    for (let index = 0; index < this.#columns.length; index++) {
      const column = this.#columns[index] as AccumulatorColumn;
      column.copy(slot, other.#columns[index] as AccumulatorColumn, otherSlot);
    }
  }

  /** slot ← slot ⊕ `otherSlot` of `other`, a table of the same view. */
  mergeFrom(slot: number, other: ViewTable, otherSlot: number): void {
    for (let index = 0; index < this.#columns.length; index++) {
      const column = this.#columns[index] as AccumulatorColumn;
      column.merge(slot, other.#columns[index] as AccumulatorColumn, otherSlot);
    }
  }

  /** Canonical bytes of a slot's accumulators. */
  encode(slot: number, writer: ByteWriter): void {
    for (const column of this.#columns) column.encode(slot, writer);
  }

  /** Replaces a slot by what `encode` wrote. */
  decode(slot: number, accumulators: Uint8Array): void {
    const reader = new ByteReader(accumulators);
    for (const column of this.#columns) column.decode(slot, reader);
    reader.end();
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
    const { column, at } = this.view.aggregates[aggregate] as AggregatePlan;
    return (this.#columns[column] as AccumulatorColumn).result(slot, at);
  }

  /** Starts of the windows that have entries, ascending. */
  windowStarts(): number[] {
    return [...this.#windows.keys()].sort((a, b) => a - b);
  }

  window(windowStartMs: number): WindowEntries {
    return this.#windows.get(windowStartMs) ?? NO_KEYS;
  }

  /** Removes a window with all of its entries and says how many there were. */
  removeWindow(windowStartMs: number): number {
    const window = this.#windows.get(windowStartMs);
    if (window === undefined) return 0;
    for (let ordinal = 0; ordinal < window.size; ordinal++) {
      const slot = window.slotAt(ordinal);
      for (const column of this.#columns) column.reset(slot);
      this.#freeSlots.push(slot);
    }
    this.#windows.delete(windowStartMs);
    this.#lastStartMs = Number.NaN;
    this.#lastWindow = undefined;
    this.#entryCount -= window.size;
    return window.size;
  }

  /** Removes every entry; the room stays. */
  clear(): void {
    if (this.#entryCount === 0) return;
    for (let slot = 0; slot < this.#nextSlot; slot++) {
      for (const column of this.#columns) column.reset(slot);
    }
    this.#windows.clear();
    this.#lastStartMs = Number.NaN;
    this.#lastWindow = undefined;
    this.#freeSlots = [];
    this.#nextSlot = 0;
    this.#entryCount = 0;
  }

  /** Bytes of memory that the table holds, about. */
  heapBytes(): number {
    let bytes = this.#freeSlots.length * 8;
    for (const column of this.#columns) bytes += column.heapBytes();
    for (const window of this.#windows.values()) bytes += window.heapBytes() + WINDOW_BYTES;
    return bytes;
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
    this.#capacity = Math.max(CAPACITY_MIN, this.#capacity * 2);
    for (const column of this.#columns) column.grow(this.#capacity);
  }
}
