/**
 * Ranges of a window's keys, in order. Of windows that are asked for in parts the keys are kept sorted in chunks, in the order of
 * arrival, 4 bytes for each key, so that a range costs what is in it, and no call sorts more than is new to it. Those that came
 * after the last chunk are looked through.
 *
 *   ordinals   0 ──────────── 16,384 ──────────── 32,768 ─────── 40,000
 *              sorted by key  │   sorted by key    │  looked through
 *
 * What is kept is committed: ordinals that an undo takes away are never in it.
 */
import { compareBytes } from '../bytes.ts';
import { sortByKey } from './key-sort.ts';
import type { WindowEntries } from './key-table.ts';

/** Keys of a chunk. */
const CHUNK = 16_384;
/** All keys of a window of fewer are sorted when they are asked for. */
const SORTED_AT_ONCE_MAX = 65_536;

type Ordinals = Uint32Array<ArrayBuffer>;

export interface FirstKeys {
  readonly ordinals: Ordinals;
  readonly to: Uint8Array | null;
}

export class KeyRanges {
  readonly #chunks = new Map<WindowEntries, Ordinals[]>();

  /** Ordinals of the keys in [from, to), by key; null: without a bound. */
  between(keys: WindowEntries, from: Uint8Array | null, to: Uint8Array | null): Ordinals {
    const isAll = from === null && to === null;
    const chunks = isAll && keys.size < SORTED_AT_ONCE_MAX ? [] : this.#chunksOf(keys);
    const found = chunks.map((chunk) => {
      const first = from === null ? 0 : placeOf(keys, chunk, from);
      const end = to === null ? chunk.length : placeOf(keys, chunk, to);
      return chunk.subarray(first, end);
    });
    const later: number[] = [];
    for (let ordinal = chunks.length * CHUNK; ordinal < keys.size; ordinal++) {
      if (isAll || isWithin(keys.keyAt(ordinal), from, to)) later.push(ordinal);
    }
    const some = [...found, later].filter(({ length }) => length > 0);
    const ordinals = new Uint32Array(some.reduce((sum, { length }) => sum + length, 0));
    let end = 0;
    for (const each of some) {
      ordinals.set(each, end);
      end += each.length;
    }
    return some.length === 1 && later.length === 0 ? ordinals : sorted(keys, ordinals);
  }

  /**
   * Ordinals of about so many keys from `from` on, by key: of one at least, if there is one. `to`: the keys behind them begin
   * there; null: there are none.
   */
  first(keys: WindowEntries, from: Uint8Array | null, count: number): FirstKeys {
    const to = this.#pivot(keys, from, count);
    return { ordinals: this.between(keys, from, to), to };
  }

  /** How many keys come before one. */
  countBefore(keys: WindowEntries, key: Uint8Array): number {
    const chunks = this.#chunksOf(keys);
    let count = 0;
    for (const chunk of chunks) count += placeOf(keys, chunk, key);
    for (let ordinal = chunks.length * CHUNK; ordinal < keys.size; ordinal++) {
      if (compareBytes(keys.keyAt(ordinal), key) < 0) count++;
    }
    return count;
  }

  /** A key that about so many of a window's chunks lie before, from `from` on; null: all that there are. */
  #pivot(keys: WindowEntries, from: Uint8Array | null, count: number): Uint8Array | null {
    const chunks = this.#chunksOf(keys);
    const firsts = chunks.map((chunk) => (from === null ? 0 : placeOf(keys, chunk, from)));
    const lengthOf = (index: number) => CHUNK - (firsts[index] as number);
    const total = chunks.reduce((sum, _, index) => sum + lengthOf(index), 0);
    if (total <= count) return null;
    const [longest] = [...chunks.keys()].sort((a, b) => lengthOf(b) - lengthOf(a)) as [number];
    const chunk = chunks[longest] as Ordinals;
    const countTo = (to: Uint8Array) =>
      chunks.reduce(
        (sum, each, index) => sum + placeOf(keys, each, to) - (firsts[index] as number),
        0,
      );
    let [low, high] = [(firsts[longest] as number) + 1, CHUNK];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (countTo(keys.keyAt(chunk[middle] as number)) < count) low = middle + 1;
      else high = middle;
    }
    return low < CHUNK ? keys.keyAt(chunk[low] as number).slice() : null;
  }

  /** The window is gone. */
  forget(keys: WindowEntries): void {
    this.#chunks.delete(keys);
  }

  clear(): void {
    this.#chunks.clear();
  }

  heapBytes(): number {
    let bytes = 0;
    for (const chunks of this.#chunks.values()) bytes += chunks.length * CHUNK * 4;
    return bytes;
  }

  #chunksOf(keys: WindowEntries): readonly Ordinals[] {
    const chunks = this.#chunks.get(keys) ?? [];
    for (let from = chunks.length * CHUNK; from + CHUNK <= keys.committedSize; from += CHUNK) {
      const ordinals = Uint32Array.from({ length: CHUNK }, (_, index) => from + index);
      chunks.push(sorted(keys, ordinals));
    }
    if (chunks.length > 0) this.#chunks.set(keys, chunks);
    return chunks;
  }
}

/** Sorts ordinals in place. */
function sorted(keys: WindowEntries, ordinals: Ordinals): Ordinals {
  const steps = sortByKey([keys], new Uint32Array(ordinals.length), ordinals);
  while (steps.next().done !== true);
  return ordinals;
}

/** The place of the first key of a chunk that does not come before `key`. */
function placeOf(keys: WindowEntries, chunk: Ordinals, key: Uint8Array): number {
  let [low, high] = [0, chunk.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBytes(keys.keyAt(chunk[middle] as number), key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isWithin(key: Uint8Array, from: Uint8Array | null, to: Uint8Array | null): boolean {
  return (
    (from === null || compareBytes(key, from) >= 0) && (to === null || compareBytes(key, to) < 0)
  );
}
