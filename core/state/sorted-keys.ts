/**
 * The entries of several windows of a table in the order of (key, window): 8 bytes for each. Immutable: where entries came and
 * windows went it is followed by another, for which only what is new is sorted.
 */
import { compareSpans } from '../bytes.ts';
import { compareKeys, sortByKey } from './key-sort.ts';
import { hashKey, type WindowEntries } from './key-table.ts';

export interface SortedWindow {
  readonly startMs: number;
  readonly keys: Pick<
    WindowEntries,
    'size' | 'arena' | 'startOf' | 'endOf' | 'find' | 'keyAt' | 'slotAt'
  >;
}

/** More new entries than this share of all are not inserted one by one. */
const INSERTED_SHARE_MAX = 0.25;
/** Entries between two yields. */
const PORTION = 32_768;
const WINDOW_BYTES = 150;

interface Entries {
  /** By place: which of the windows, and which ordinal there. */
  readonly windowOf: Uint32Array;
  readonly ordinals: Uint32Array;
}

export class SortedKeys {
  readonly windows: readonly SortedWindow[];
  readonly windowOf: Uint32Array;
  readonly ordinals: Uint32Array;
  /** By window: ordinals below are here. */
  readonly #sizes: readonly number[];

  private constructor(windows: readonly SortedWindow[], { windowOf, ordinals }: Entries) {
    this.windows = windows;
    this.windowOf = windowOf;
    this.ordinals = ordinals;
    this.#sizes = windows.map(({ keys }) => keys.size);
  }

  get size(): number {
    return this.ordinals.length;
  }

  /** All entries of windows, which come in ascending order. Yields between portions of the work. */
  static *of(windows: readonly SortedWindow[]): Generator<void, SortedKeys, void> {
    return new SortedKeys(
      windows,
      yield* sorted(
        windows,
        windows.map(() => 0),
      ),
    );
  }

  /** The entries of some keys only; keys and windows come in ascending order. */
  static ofKeys(windows: readonly SortedWindow[], keys: readonly Uint8Array[]): SortedKeys {
    const windowOf: number[] = [];
    const ordinals: number[] = [];
    for (const key of keys) {
      const hash = hashKey(key);
      for (const [window, entries] of windows.entries()) {
        const ordinal = entries.keys.find(key, key.length, hash);
        if (ordinal < 0) continue;
        windowOf.push(window);
        ordinals.push(ordinal);
      }
    }
    return new SortedKeys(windows, {
      windowOf: Uint32Array.from(windowOf),
      ordinals: Uint32Array.from(ordinals),
    });
  }

  /** The same of the windows as they are now, in ascending order. Yields between portions of the work. */
  *followed(windows: readonly SortedWindow[]): Generator<void, SortedKeys, void> {
    const known = new Map(this.windows.map(({ keys }, window) => [keys, window]));
    const before = windows.map(({ keys }) => known.get(keys) ?? -1);
    const sizes = before.map((window) => (window < 0 ? 0 : (this.#sizes[window] as number)));
    const kept = sizes.reduce((sum, size) => sum + size, 0);
    const all = windows.reduce((sum, { keys }) => sum + keys.size, 0);
    if (kept === this.size && all === kept) return this;
    if (all - kept > all * INSERTED_SHARE_MAX) return yield* SortedKeys.of(windows);
    const target = new Int32Array(this.windows.length).fill(-1);
    for (const [window, from] of before.entries()) if (from >= 0) target[from] = window;
    const fresh = yield* sorted(windows, sizes);
    return new SortedKeys(windows, yield* this.#merged(windows, target, fresh, all));
  }

  /** The first place with this key and window, or with what comes after them; −Infinity is before all windows of the key. */
  seek(key: Uint8Array, startMs: number): number {
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compareAt(middle, key, startMs) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Bytes of memory that it holds, about. */
  heapBytes(): number {
    return this.windowOf.byteLength + this.ordinals.byteLength + this.windows.length * WINDOW_BYTES;
  }

  /** What is kept, by where its window is now (−1: nowhere), with the fresh entries between. */
  *#merged(
    windows: readonly SortedWindow[],
    target: Int32Array,
    fresh: Entries,
    size: number,
  ): Generator<void, Entries, void> {
    const into = { windowOf: new Uint32Array(size), ordinals: new Uint32Array(size), size: 0 };
    let from = 0;
    for (const [index, ordinal] of fresh.ordinals.entries()) {
      const window = fresh.windowOf[index] as number;
      const to = this.#placeAfter(from, windows[window] as SortedWindow, ordinal);
      yield* this.#copy(from, to, target, into);
      from = to;
      into.windowOf[into.size] = window;
      into.ordinals[into.size++] = ordinal;
    }
    yield* this.#copy(from, this.size, target, into);
    return into;
  }

  *#copy(
    from: number,
    to: number,
    target: Int32Array,
    into: Entries & { size: number },
  ): Generator<void, void, void> {
    for (let place = from; place < to; place++) {
      if (place % PORTION === 0) yield;
      const window = target[this.windowOf[place] as number] as number;
      if (window < 0) continue;
      into.windowOf[into.size] = window;
      into.ordinals[into.size++] = this.ordinals[place] as number;
    }
  }

  /** The first place from `from` on that comes after an entry, which is likely to be near. */
  #placeAfter(from: number, window: SortedWindow, ordinal: number): number {
    let step = 1;
    let low = from;
    while (low + step < this.size && this.#compareEntry(low + step, window, ordinal) < 0) {
      low += step;
      step *= 2;
    }
    let high = Math.min(this.size, low + step);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compareEntry(middle, window, ordinal) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #compareEntry(place: number, { startMs, keys }: SortedWindow, ordinal: number): number {
    const own = this.windows[this.windowOf[place] as number] as SortedWindow;
    const byKey = compareKeys(own.keys, this.ordinals[place] as number, keys, ordinal);
    return byKey === 0 ? own.startMs - startMs : byKey;
  }

  #compareAt(place: number, key: Uint8Array, startMs: number): number {
    const own = this.windows[this.windowOf[place] as number] as SortedWindow;
    const ordinal = this.ordinals[place] as number;
    const [start, end] = [own.keys.startOf(ordinal), own.keys.endOf(ordinal)];
    const byKey = compareSpans(own.keys.arena, start, end, key, 0, key.length);
    return byKey === 0 ? own.startMs - startMs : byKey;
  }
}

/** The entries of windows from an ordinal on, by (key, window). */
function* sorted(
  windows: readonly SortedWindow[],
  from: readonly number[],
): Generator<void, Entries, void> {
  const count = windows.reduce(
    (sum, { keys }, window) => sum + keys.size - (from[window] as number),
    0,
  );
  const windowOf = new Uint32Array(count);
  const ordinals = new Uint32Array(count);
  let at = 0;
  for (const [window, { keys }] of windows.entries()) {
    for (let ordinal = from[window] as number; ordinal < keys.size; ordinal++) {
      windowOf[at] = window;
      ordinals[at++] = ordinal;
    }
  }
  yield;
  const sources = windows.map(({ keys }) => keys);
  yield* sortByKey(sources, windowOf, ordinals);
  return { windowOf, ordinals };
}
