/**
 * Where ids lie, found by the first word of their hash: linear hashing over small open-addressing buckets. The index grows by
 * splitting one bucket at a time, so that no insertion takes longer the more ids there are.
 *
 *   bucket: low bits of the word → slot: (word, place + 1), 0: empty
 */
import { assert } from '../assert.ts';

/** Larger places do not fit into a slot. */
export const PLACES_MAX = 2 ** 32 - 1;
const CAPACITY_MIN = 8;
const SPREAD = 0x9e37_79b1;

interface Bucket {
  /** Two words a slot. */
  slots: Uint32Array;
  count: number;
}

export class IdIndex {
  readonly #bucketIds: number;
  readonly #buckets: Bucket[] = [newBucket(CAPACITY_MIN)];
  /** The largest power of two that is not above the number of buckets. */
  #level = 1;
  #count = 0;
  #slotCount = CAPACITY_MIN;
  /** Of the search that is going on. */
  #word = 0;
  #bucket: Bucket = this.#buckets[0] as Bucket;
  #next = 0;
  #at = 0;

  /** `bucketIds`: so many ids a bucket has on average, at most. */
  constructor(bucketIds: number) {
    this.#bucketIds = bucketIds;
  }

  get count(): number {
    return this.#count;
  }

  heapBytes(): number {
    return this.#slotCount * 8 + this.#buckets.length * 16;
  }

  /** Begins a search for ids whose hash begins with the word. */
  seek(word: number): void {
    this.#word = word;
    this.#bucket = this.#bucketOf(word);
    this.#next = homeOf(word, this.#bucket.slots.length);
  }

  /** The place of the next id that may be meant; −1: there is none. */
  next(): number {
    const { slots } = this.#bucket;
    const last = slots.length - 2;
    let at = this.#next;
    for (;;) {
      const stored = slots[at + 1] as number;
      this.#at = at;
      if (stored === 0) return -1;
      at = at === last ? 0 : at + 2;
      if (slots[this.#at] === this.#word) {
        this.#next = at;
        return stored - 1;
      }
    }
  }

  /** Adds what a search has not found. */
  add(place: number): void {
    assert(place < PLACES_MAX, 'a-place-fits-into-the-index');
    const bucket = this.#bucket;
    bucket.slots[this.#at] = this.#word;
    bucket.slots[this.#at + 1] = place + 1;
    bucket.count++;
    this.#count++;
    if (bucket.count * 20 > bucket.slots.length * 7) this.#resize(bucket, bucket.slots.length);
    if (this.#count > this.#buckets.length * this.#bucketIds) this.#split();
  }

  /** The id that the search found last lies elsewhere from now on. */
  replace(place: number): void {
    assert(place < PLACES_MAX, 'a-place-fits-into-the-index');
    this.#bucket.slots[this.#at + 1] = place + 1;
  }

  /** Takes the id at `place` out, if it is still looked for there. */
  remove(word: number, place: number): void {
    const bucket = this.#bucketOf(word);
    const { slots } = bucket;
    const size = slots.length;
    let at = homeOf(word, size);
    while (slots[at + 1] !== place + 1) {
      if (slots[at + 1] === 0) return;
      at = (at + 2) & (size - 1);
    }
    // What stands behind moves up, unless it would come to stand before its home.
    for (let from = (at + 2) & (size - 1); slots[from + 1] !== 0; from = (from + 2) & (size - 1)) {
      const home = homeOf(slots[from] as number, size);
      if (((from - home) & (size - 1)) < ((from - at) & (size - 1))) continue;
      slots[at] = slots[from] as number;
      slots[at + 1] = slots[from + 1] as number;
      at = from;
    }
    slots[at + 1] = 0;
    bucket.count--;
    this.#count--;
    if (bucket.count * 16 < size && size > 2 * CAPACITY_MIN) this.#resize(bucket, size / 4);
  }

  clear(): void {
    this.#buckets.length = 0;
    this.#buckets.push(newBucket(CAPACITY_MIN));
    this.#level = 1;
    this.#count = 0;
    this.#slotCount = CAPACITY_MIN;
  }

  #bucketOf(word: number): Bucket {
    const buckets = this.#buckets;
    const at = word & (this.#level * 2 - 1);
    return buckets[at < buckets.length ? at : at - this.#level] as Bucket;
  }

  /** The bucket whose turn it is gives up what belongs into a new one. */
  #split(): void {
    const from = this.#buckets.length - this.#level;
    const both = this.#buckets[from] as Bucket;
    const { slots } = both;
    const capacity = slots.length >> 1;
    const half = Math.max(CAPACITY_MIN, capacity >> 1);
    const [kept, moved] = [newBucket(half), newBucket(half)];
    this.#slotCount += half * 2 - capacity;
    this.#buckets[from] = kept;
    this.#buckets.push(moved);
    for (let at = 0; at < slots.length; at += 2) {
      if (slots[at + 1] === 0) continue;
      const into = ((slots[at] as number) & this.#level) === 0 ? kept : moved;
      put(into.slots, slots[at] as number, slots[at + 1] as number);
      into.count++;
      if (into.count * 20 > into.slots.length * 7) this.#resize(into, into.slots.length);
    }
    if (this.#buckets.length === this.#level * 2) this.#level *= 2;
  }

  #resize(bucket: Bucket, capacity: number): void {
    const before = bucket.slots;
    this.#slotCount += capacity - (before.length >> 1);
    bucket.slots = new Uint32Array(capacity * 2);
    for (let at = 0; at < before.length; at += 2) {
      if (before[at + 1] === 0) continue;
      put(bucket.slots, before[at] as number, before[at + 1] as number);
    }
  }
}

function newBucket(capacity: number): Bucket {
  return { slots: new Uint32Array(capacity * 2), count: 0 };
}

/** Where in the slots the search for a word begins. The low bits are the same for all of a bucket. */
function homeOf(word: number, size: number): number {
  return (Math.imul(word, SPREAD) >>> 15) & (size - 1) & ~1;
}

/** Behind all that stands there already. */
function put(slots: Uint32Array, word: number, stored: number): void {
  let at = homeOf(word, slots.length);
  while (slots[at + 1] !== 0) at = (at + 2) & (slots.length - 1);
  slots[at] = word;
  slots[at + 1] = stored;
}
