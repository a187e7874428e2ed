/**
 * Sorts entries of several windows by key, eight bytes at a time, with a radix sort behind what all keys begin with. Entries of
 * equal keys stay in the order in which they came: those that came by window end by (key, window).
 *
 * It works in portions and yields between them.
 */
import { assert } from '../assert.ts';
import { compareSpans } from '../bytes.ts';
import type { WindowEntries } from './key-table.ts';

/** The keys of a window, by ordinal. */
export type KeySource = Pick<WindowEntries, 'arena' | 'startOf' | 'endOf'>;

/** So many entries, and any whose keys begin with each other, are sorted by comparing their keys. */
const FEW = 24;
/** Entries between two yields. */
const PORTION = 32_768;
const WORD_BYTES = 8;
/** From so many entries on digits have 16 bits. */
const MANY = 65_536;

/** Sorts `ordinals` in place, and with them `windowOf`, which says by index whose ordinal each is. */
export function sortByKey(
  windows: readonly KeySource[],
  windowOf: Uint32Array,
  ordinals: Uint32Array,
): Generator<void, void, void> {
  return new KeySort(windows, windowOf, ordinals).sort(0, ordinals.length, 0);
}

/** How two keys are ordered, which begin with the same `skip` bytes. */
export function compareKeys(
  a: KeySource,
  aOrdinal: number,
  b: KeySource,
  bOrdinal: number,
  skip = 0,
): number {
  return compareSpans(
    a.arena,
    a.startOf(aOrdinal) + skip,
    a.endOf(aOrdinal),
    b.arena,
    b.startOf(bOrdinal) + skip,
    b.endOf(bOrdinal),
  );
}

/** Eight bytes of each key, by place, and where the entry was before. */
interface Words {
  readonly high: Uint32Array;
  readonly low: Uint32Array;
  readonly from: Uint32Array;
}

class KeySort {
  readonly #windows: readonly KeySource[];
  readonly #windowOf: Uint32Array;
  readonly #ordinals: Uint32Array;
  #words: Words;
  /** Where a pass puts them. */
  #others: Words;

  constructor(windows: readonly KeySource[], windowOf: Uint32Array, ordinals: Uint32Array) {
    this.#windows = windows;
    this.#windowOf = windowOf;
    this.#ordinals = ordinals;
    const count = ordinals.length > FEW ? ordinals.length : 0;
    this.#words = wordsOf(count);
    this.#others = wordsOf(count);
  }

  /** Sorts the entries in [from, to), whose keys begin with the same `skip` bytes. */
  *sort(from: number, to: number, skip: number): Generator<void, void, void> {
    if (to - from <= FEW) {
      this.#insert(from, to, skip);
      return;
    }
    const shared = yield* this.#shared(from, to, skip);
    if (shared === null) return;
    assert(shared >= skip, 'no-key-begins-with-another');
    for (let at = from; at < to; at += PORTION) {
      this.#read(at, Math.min(to, at + PORTION), shared);
      yield;
    }
    for (const half of ['low', 'high'] as const) yield* this.#sortBy(half, from, to);
    yield* this.#arrange(from, to);
    // Deeper sorts change the words of their own range only.
    const { high, low } = this.#words;
    for (let begin = from; begin < to; ) {
      let end = begin + 1;
      while (end < to && high[end] === high[begin] && low[end] === low[begin]) end++;
      if (end - begin > FEW) yield* this.sort(begin, end, shared + WORD_BYTES);
      else if (end - begin > 1) this.#insert(begin, end, shared);
      begin = end;
    }
  }

  /** How many bytes all keys in [from, to) begin with; null if nothing is left to sort. */
  *#shared(from: number, to: number, skip: number): Generator<void, number | null, void> {
    const first = this.#keys(from);
    const firstOrdinal = this.#ordinals[from] as number;
    const firstStart = first.startOf(firstOrdinal);
    const firstLength = first.endOf(firstOrdinal) - firstStart;
    let shared = firstLength;
    let isOne = true;
    for (let begin = from; begin < to; begin += PORTION) {
      const end = Math.min(to, begin + PORTION);
      for (let place = begin; place < end; place++) {
        const keys = this.#keys(place);
        const ordinal = this.#ordinals[place] as number;
        const start = keys.startOf(ordinal);
        const length = keys.endOf(ordinal) - start;
        if (length !== firstLength) isOne = false;
        const most = Math.min(shared, length);
        let at = Math.min(skip, most);
        while (at < most && keys.arena[start + at] === first.arena[firstStart + at]) at++;
        shared = at;
      }
      yield;
    }
    return isOne && shared === firstLength ? null : shared;
  }

  #read(from: number, to: number, skip: number): void {
    const { high, low, from: places } = this.#words;
    for (let place = from; place < to; place++) {
      const keys = this.#keys(place);
      const ordinal = this.#ordinals[place] as number;
      const at = keys.startOf(ordinal) + skip;
      const end = keys.endOf(ordinal);
      high[place] = wordAt(keys.arena, at, end);
      low[place] = wordAt(keys.arena, at + 4, end);
      places[place] = place;
    }
  }

  *#sortBy(half: 'high' | 'low', from: number, to: number): Generator<void, void, void> {
    const bits = to - from >= MANY ? 16 : 8;
    for (let shift = 0; shift < 32; shift += bits) {
      const mask = 2 ** bits - 1;
      const counts = new Uint32Array(mask + 1);
      const word = this.#words[half];
      for (let begin = from; begin < to; begin += PORTION) {
        count(word, shift, counts, begin, Math.min(to, begin + PORTION));
        yield;
      }
      if (counts[((word[from] as number) >>> shift) & mask] === to - from) continue;
      let next = from;
      for (let digit = 0; digit <= mask; digit++) {
        const digitCount = counts[digit] as number;
        counts[digit] = next;
        next += digitCount;
      }
      for (let begin = from; begin < to; begin += PORTION) {
        scatter(
          this.#words,
          this.#others,
          word,
          shift,
          counts,
          begin,
          Math.min(to, begin + PORTION),
        );
        yield;
      }
      [this.#words, this.#others] = [this.#others, this.#words];
    }
  }

  /** Brings the entries to where their words are. */
  *#arrange(from: number, to: number): Generator<void, void, void> {
    const places = this.#words.from;
    for (const values of [this.#windowOf, this.#ordinals]) {
      const before = values.slice(from, to);
      for (let begin = from; begin < to; begin += PORTION) {
        const end = Math.min(to, begin + PORTION);
        for (let place = begin; place < end; place++) {
          values[place] = before[(places[place] as number) - from] as number;
        }
        yield;
      }
    }
  }

  #insert(from: number, to: number, skip: number): void {
    const [windowOf, ordinals] = [this.#windowOf, this.#ordinals];
    for (let place = from + 1; place < to; place++) {
      const window = windowOf[place] as number;
      const ordinal = ordinals[place] as number;
      const keys = this.#keys(place);
      let at = place;
      for (; at > from; at--) {
        const before = ordinals[at - 1] as number;
        if (compareKeys(this.#keys(at - 1), before, keys, ordinal, skip) <= 0) break;
        windowOf[at] = windowOf[at - 1] as number;
        ordinals[at] = before;
      }
      windowOf[at] = window;
      ordinals[at] = ordinal;
    }
  }

  #keys(place: number): KeySource {
    return this.#windows[this.#windowOf[place] as number] as KeySource;
  }
}

function wordsOf(count: number): Words {
  return {
    high: new Uint32Array(count),
    low: new Uint32Array(count),
    from: new Uint32Array(count),
  };
}

function count(
  word: Uint32Array,
  shift: number,
  counts: Uint32Array,
  begin: number,
  end: number,
): void {
  const mask = counts.length - 1;
  for (let place = begin; place < end; place++) {
    (counts[((word[place] as number) >>> shift) & mask] as number)++;
  }
}

function scatter(
  { high, low, from: places }: Words,
  to: Words,
  word: Uint32Array,
  shift: number,
  next: Uint32Array,
  begin: number,
  end: number,
): void {
  const mask = next.length - 1;
  for (let place = begin; place < end; place++) {
    const digit = ((word[place] as number) >>> shift) & mask;
    const at = next[digit] as number;
    next[digit] = at + 1;
    to.high[at] = high[place] as number;
    to.low[at] = low[place] as number;
    to.from[at] = places[place] as number;
  }
}

/** Four bytes as a number that is ordered as they are; 0 stands for those that are not there. */
function wordAt(bytes: Uint8Array, at: number, end: number): number {
  let word = 0;
  for (let index = at; index < at + 4; index++) {
    word = word * 256 + (index < end ? (bytes[index] as number) : 0);
  }
  return word;
}
