/**
 * The entries of one part as a reader seeks in them: where each key lies, by window, then by key. Made in one pass over the bytes,
 * which stay as they are.
 */
import { assert } from '../assert.ts';
import { ByteReader, compareSpans } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';

/** Entries of one window: those from the ordinal `first` on, up to `end`. */
export interface PartWindow {
  readonly startMs: number;
  readonly first: number;
  readonly end: number;
}

const WINDOW_BYTES = 64;

export class PartIndex {
  readonly bytes: Uint8Array;
  /** Ascending. */
  readonly windows: readonly PartWindow[];
  /** Of each entry: where its key begins and ends. */
  readonly #spans: Uint32Array;

  /** `entryCount` as the manifest says. */
  constructor(bytes: Uint8Array, entryCount: number) {
    this.bytes = bytes;
    this.#spans = new Uint32Array(2 * entryCount);
    this.windows = this.#read(new ByteReader(bytes), entryCount);
  }

  /** Bytes of memory that it holds, about. */
  get heapBytes(): number {
    return this.bytes.length + this.#spans.byteLength + this.windows.length * WINDOW_BYTES;
  }

  startOf(ordinal: number): number {
    return this.#spans[2 * ordinal] as number;
  }

  endOf(ordinal: number): number {
    return this.#spans[2 * ordinal + 1] as number;
  }

  accumulatorsOf(ordinal: number): Uint8Array {
    return new ByteReader(this.bytes.subarray(this.endOf(ordinal))).bytes();
  }

  /** The first ordinal of a window whose key is this one, or comes after it. */
  seek({ first, end }: PartWindow, key: Uint8Array): number {
    let [low, high] = [first, end];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(middle, key, 0, key.length) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first whose key comes after this one. */
  seekAfter(window: PartWindow, key: Uint8Array): number {
    const at = this.seek(window, key);
    return at < window.end && this.#compare(at, key, 0, key.length) === 0 ? at + 1 : at;
  }

  #compare(ordinal: number, bytes: Uint8Array, start: number, end: number): number {
    return compareSpans(this.bytes, this.startOf(ordinal), this.endOf(ordinal), bytes, start, end);
  }

  #read(reader: ByteReader, entryCount: number): PartWindow[] {
    const windows: PartWindow[] = [];
    let ordinal = 0;
    for (let left = reader.varint(); left > 0; left--) {
      const startMs = reader.signedVarint();
      const first = ordinal;
      const end = first + reader.varint();
      if (end > entryCount) break;
      for (; ordinal < end; ordinal++) {
        this.#spans[2 * ordinal] = reader.passBytes();
        this.#spans[2 * ordinal + 1] = reader.offset;
        reader.passBytes();
        const [keyStart, keyEnd] = [this.startOf(ordinal), this.endOf(ordinal)];
        const isSorted =
          ordinal === first || this.#compare(ordinal - 1, this.bytes, keyStart, keyEnd) < 0;
        assert(isSorted, 'a-part-is-in-order');
      }
      assert((windows.at(-1)?.startMs ?? Number.NEGATIVE_INFINITY) < startMs, 'a-part-is-in-order');
      windows.push({ startMs, first, end });
    }
    if (ordinal !== entryCount || reader.remaining !== 0) {
      throw new CorruptStateFault(`a part does not have the ${entryCount} entries of its manifest`);
    }
    return windows;
  }
}
