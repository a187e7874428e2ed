/**
 * Counts by bin of a quantile sketch.
 *
 * At most `BINS_KEPT_MAX` bins are kept: the highest one that was ever counted and those next below
 * it. What lies lower is counted in the lowest of these. A store is thereby a function of the
 * multiset of bins that were counted: as the highest bin rises, more is counted lower, but never
 * anything that an earlier, lower limit had not let in.
 *
 * Few counts are pairs in ascending order; where bins lie close together they become a window of
 * counts.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import { BIN_MAX, BIN_MIN } from './sketch-bins.ts';

/** 58 octaves: values that differ by a factor of 4 × 10^17. */
export const BINS_KEPT_MAX = 2048;
/** A window is used once it is this many times longer than the number of its counts, or shorter. */
const WINDOW_CELLS_PER_COUNT = 4;
/** Fewer counts than this stay pairs. */
const WINDOW_COUNTS_MIN = 16;
/** Room that a window gets on either side. */
const WINDOW_MARGIN = 16;
/** What V8 takes for a store with its array, besides the array's elements: measured. */
const PAIRS_OVERHEAD_BYTES = 96;
const WINDOW_OVERHEAD_BYTES = 296;

export class BinStore {
  /** Bin and count by turns, ascending; empty once there is a window. */
  #pairs: number[] = [];
  /**
   * Counts from `#first` on. A window of full length ends at the highest bin counted, so all its
   * bins are kept.
   */
  #window: Float64Array | null = null;
  #first = 0;

  /** Counts `bin` as often as `count` says. Returns by how many bytes the store grew. */
  add(bin: number, count: number): number {
    if (this.#window !== null) {
      const offset = bin - this.#first;
      if (offset >= 0 && offset < this.#window.length) {
        (this.#window[offset] as number) += count;
        return 0;
      }
    } else {
      const at = this.#placeOf(bin);
      if (this.#pairs[at] === bin) {
        (this.#pairs[at + 1] as number) += count;
        return 0;
      }
    }
    const before = this.heapBytes();
    if (this.#window === null) this.#addPair(bin, count);
    else this.#addOutside(bin, count);
    return this.heapBytes() - before;
  }

  /** Adds all counts of `other`. Returns by how many bytes the store grew. */
  merge(other: BinStore): number {
    let grown = 0;
    // From the top, so that the limit is known before lower bins come.
    for (let at = other.#length() - 1; at >= 0; at--) {
      const count = other.#countAt(at);
      if (count > 0) grown += this.add(other.#binAt(at), count);
    }
    return grown;
  }

  /** A store of the same counts that shares nothing. */
  clone(): BinStore {
    const clone = new BinStore();
    clone.#pairs = this.#pairs.slice();
    clone.#window = this.#window === null ? null : this.#window.slice();
    clone.#first = this.#first;
    return clone;
  }

  total(): number {
    let total = 0;
    for (let at = 0; at < this.#length(); at++) total += this.#countAt(at);
    return total;
  }

  lowest(): number {
    let at = 0;
    while (this.#countAt(at) === 0) at++;
    return this.#binAt(at);
  }

  highest(): number {
    let at = this.#length() - 1;
    while (this.#countAt(at) === 0) at--;
    return this.#binAt(at);
  }

  /** True if the lowest bin that may be kept has a count: it may stand for values that lay lower. */
  mayHaveCollapsed(): boolean {
    return this.highest() - this.lowest() === BINS_KEPT_MAX - 1;
  }

  /**
   * The bin of the value of rank `rank` (below `total()`), counted from 0 at the lowest bin
   * upwards.
   */
  binAtRank(rank: number): number {
    let at = 0;
    let counted = this.#countAt(0);
    while (counted <= rank) counted += this.#countAt(++at);
    return this.#binAt(at);
  }

  /** The same, counted from the highest bin downwards. */
  binAtRankFromTop(rank: number): number {
    let at = this.#length() - 1;
    let counted = this.#countAt(at);
    while (counted <= rank) counted += this.#countAt(--at);
    return this.#binAt(at);
  }

  /**
   * How many bins have counts, the lowest of them, and each count with the distance from the bin
   * before.
   */
  encode(writer: ByteWriter): void {
    let bins = 0;
    for (let at = 0; at < this.#length(); at++) if (this.#countAt(at) > 0) bins++;
    writer.varint(bins);
    let previous = BIN_MIN;
    for (let at = 0; at < this.#length(); at++) {
      const count = this.#countAt(at);
      if (count === 0) continue;
      const bin = this.#binAt(at);
      writer.varint(bin - previous);
      writer.varint(count);
      previous = bin;
    }
  }

  /** The inverse of `encode`; null for a store of nothing. */
  static decode(reader: ByteReader): BinStore | null {
    const bins = reader.varint();
    if (bins === 0) return null;
    if (bins > BINS_KEPT_MAX) throw corrupt(`${bins} bins, at most ${BINS_KEPT_MAX} are kept`);
    const pairs = new Array<number>(2 * bins).fill(0);
    let previous = BIN_MIN;
    for (let at = 0; at < pairs.length; at += 2) {
      const distance = reader.varint();
      const count = reader.varint();
      if (count === 0 || (distance === 0 && at > 0))
        throw corrupt('a bin that has no place or count');
      previous += distance;
      pairs[at] = previous;
      pairs[at + 1] = count;
    }
    if (previous > BIN_MAX) throw corrupt(`bin ${previous}, the highest is ${BIN_MAX}`);
    if (previous - (pairs[0] as number) >= BINS_KEPT_MAX)
      throw corrupt('bins that are too far apart');
    const store = new BinStore();
    store.#pairs = pairs;
    store.#openWindowIfDense();
    return store;
  }

  heapBytes(): number {
    return this.#window === null
      ? PAIRS_OVERHEAD_BYTES + this.#pairs.length * 8
      : WINDOW_OVERHEAD_BYTES + this.#window.byteLength;
  }

  /** Counts by position, some of them zero in a window; both forms read alike. */
  #length(): number {
    return this.#window === null ? this.#pairs.length / 2 : this.#window.length;
  }

  #countAt(at: number): number {
    return (this.#window === null ? this.#pairs[2 * at + 1] : this.#window[at]) as number;
  }

  #binAt(at: number): number {
    return this.#window === null ? (this.#pairs[2 * at] as number) : this.#first + at;
  }

  /** Where among the pairs `bin` stands, or would. */
  #placeOf(bin: number): number {
    let low = 0;
    let high = this.#pairs.length / 2;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pairs[2 * middle] as number) < bin) low = middle + 1;
      else high = middle;
    }
    return 2 * low;
  }

  #addPair(bin: number, count: number): void {
    const highest = this.#pairs.at(-2) ?? bin;
    const lowest = Math.max(bin, highest) - BINS_KEPT_MAX + 1;
    if (bin < lowest) {
      this.add(lowest, count);
      return;
    }
    this.#collapsePairs(lowest);
    this.#pairs = this.#pairs.toSpliced(this.#placeOf(bin), 0, bin, count);
    this.#openWindowIfDense();
  }

  /** Counts in `lowest` what lies below it. */
  #collapsePairs(lowest: number): void {
    const end = this.#placeOf(lowest);
    if (end === 0) return;
    let collapsed = 0;
    for (let at = 0; at < end; at += 2) collapsed += this.#pairs[at + 1] as number;
    this.#pairs = this.#pairs.slice(end);
    this.#pairs =
      this.#pairs[0] === lowest
        ? this.#pairs.with(1, (this.#pairs[1] as number) + collapsed)
        : [lowest, collapsed, ...this.#pairs];
  }

  #openWindowIfDense(): void {
    const counts = this.#pairs.length / 2;
    const lowest = this.#pairs[0] as number;
    const highest = this.#pairs[this.#pairs.length - 2] as number;
    if (counts < WINDOW_COUNTS_MIN) return;
    if (highest - lowest < counts * WINDOW_CELLS_PER_COUNT) this.#moveToWindow(lowest, highest);
  }

  #addOutside(bin: number, count: number): void {
    const window = this.#window as Float64Array;
    if (bin < this.#first && window.length === BINS_KEPT_MAX) {
      (window[0] as number) += count;
      return;
    }
    const highest = Math.max(this.highest(), bin);
    const lowest = Math.max(Math.min(this.lowest(), bin), highest - BINS_KEPT_MAX + 1);
    this.#moveToWindow(lowest, highest);
    this.add(Math.max(bin, lowest), count);
  }

  /**
   * Makes a window that covers `lowest` to `highest`; what is counted below `lowest` goes into it.
   */
  #moveToWindow(lowest: number, highest: number): void {
    const length = Math.min(highest - lowest + 1 + 2 * WINDOW_MARGIN, BINS_KEPT_MAX);
    const first = length === BINS_KEPT_MAX ? highest - length + 1 : lowest - WINDOW_MARGIN;
    const window = new Float64Array(length);
    for (let at = 0; at < this.#length(); at++) {
      const count = this.#countAt(at);
      if (count > 0) (window[Math.max(this.#binAt(at), lowest) - first] as number) += count;
    }
    this.#window = window;
    this.#first = first;
    this.#pairs = [];
  }
}

function corrupt(what: string): CorruptStateFault {
  return new CorruptStateFault(`a stored quantile sketch is not canonical: ${what}`);
}
