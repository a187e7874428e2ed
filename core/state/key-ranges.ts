/**
 * Ranges of a window's keys, in order. Of windows that are asked for in parts most keys are kept sorted, 8 bytes for each, so
 * that a range costs what is in it; those that came since are looked through, until they are an eighth of all.
 *
 * What is kept is committed: ordinals that an undo takes away are never in it.
 */
import { compareBytes } from '../bytes.ts';
import { sortByKey } from './key-sort.ts';
import type { WindowEntries } from './key-table.ts';
import { SortedKeys, type SortedWindow } from './sorted-keys.ts';

/** All keys of a window of fewer are sorted when they are asked for. */
const SORTED_AT_ONCE_MAX = 65_536;
/** Few keys are looked through sooner than sorted. */
const LOOKED_THROUGH_MIN = 4_096;
const LOOKED_THROUGH_SHARE = 1 / 8;

export class KeyRanges {
  readonly #sorted = new Map<WindowEntries, SortedPart>();

  /** Ordinals of the keys in [from, to), by key; null: without a bound. `isFinal`: the window gets no more keys. */
  between(
    keys: WindowEntries,
    from: Uint8Array | null,
    to: Uint8Array | null,
    isFinal: boolean,
  ): Uint32Array<ArrayBuffer> {
    const isAll = from === null && to === null;
    const isSmall = isAll && keys.size < SORTED_AT_ONCE_MAX;
    const part = isSmall ? undefined : this.#partOf(keys, isFinal);
    const sorted = part === undefined ? NONE : part.between(from, to);
    const later: number[] = [];
    for (let ordinal = part?.size ?? 0; ordinal < keys.size; ordinal++) {
      if (isAll || isWithin(keys.keyAt(ordinal), from, to)) later.push(ordinal);
    }
    if (later.length === 0) return sorted;
    const ordinals = new Uint32Array(sorted.length + later.length);
    ordinals.set(sorted);
    ordinals.set(later, sorted.length);
    exhaust(sortByKey([keys], new Uint32Array(ordinals.length), ordinals));
    return ordinals;
  }

  /** The window is gone. */
  forget(keys: WindowEntries): void {
    this.#sorted.delete(keys);
  }

  clear(): void {
    this.#sorted.clear();
  }

  heapBytes(): number {
    let bytes = 0;
    for (const part of this.#sorted.values()) bytes += part.heapBytes();
    return bytes;
  }

  #partOf(keys: WindowEntries, isFinal: boolean): SortedPart | undefined {
    const part = this.#sorted.get(keys);
    const known = part?.size ?? 0;
    const most = Math.max(LOOKED_THROUGH_MIN, isFinal ? 0 : known * LOOKED_THROUGH_SHARE);
    if (keys.committedSize - known <= most) return part;
    const sorted = part ?? new SortedPart(keys);
    sorted.follow();
    this.#sorted.set(keys, sorted);
    return sorted;
  }
}

type Keys = SortedWindow['keys'];

const NONE = new Uint32Array();

/** The first keys of a window, sorted. */
class SortedPart {
  readonly #windows: readonly [{ readonly startMs: number; readonly keys: FirstKeys }];
  #sorted: SortedKeys | null = null;

  constructor(keys: WindowEntries) {
    this.#windows = [{ startMs: 0, keys: new FirstKeys(keys) }];
  }

  get size(): number {
    return this.#windows[0].keys.size;
  }

  follow(): void {
    this.#windows[0].keys.follow();
    this.#sorted = exhaust(this.#sorted?.followed(this.#windows) ?? SortedKeys.of(this.#windows));
  }

  between(from: Uint8Array | null, to: Uint8Array | null): Uint32Array<ArrayBuffer> {
    if (this.#sorted === null) return NONE;
    const first = from === null ? 0 : this.#sorted.seek(from, 0);
    const end = to === null ? this.#sorted.size : this.#sorted.seek(to, 0);
    return Uint32Array.from(this.#sorted.ordinals.subarray(first, end));
  }

  heapBytes(): number {
    return this.#sorted?.heapBytes() ?? 0;
  }
}

/** Those of a window's keys that were committed when it was looked at last. */
class FirstKeys implements Keys {
  readonly #keys: WindowEntries;
  size = 0;

  constructor(keys: WindowEntries) {
    this.#keys = keys;
  }

  follow(): void {
    this.size = this.#keys.committedSize;
  }

  get arena(): Uint8Array {
    return this.#keys.arena;
  }

  startOf(ordinal: number): number {
    return this.#keys.startOf(ordinal);
  }

  endOf(ordinal: number): number {
    return this.#keys.endOf(ordinal);
  }

  keyAt(ordinal: number): Uint8Array {
    return this.#keys.keyAt(ordinal);
  }

  slotAt(ordinal: number): number {
    return this.#keys.slotAt(ordinal);
  }

  find(bytes: Uint8Array, length: number, hash: number): number {
    return this.#keys.find(bytes, length, hash);
  }
}

function isWithin(key: Uint8Array, from: Uint8Array | null, to: Uint8Array | null): boolean {
  return (
    (from === null || compareBytes(key, from) >= 0) && (to === null || compareBytes(key, to) < 0)
  );
}

function exhaust<T>(steps: Generator<void, T, void>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
