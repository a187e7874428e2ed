/**
 * The group keys of one window of one view → slots, in the order in which they came.
 *
 *   places   open addressing, linear probing: ordinal + 1, or 0      hash → place
 *   ends     end of the key in the arena, by ordinal                 ordinal → bytes
 *   arena    the keys' canonical bytes, one behind the other
 *
 * Keys are never removed one by one: a window leaves as a whole.
 */
const PLACES_MIN = 8;
const KEY_BYTES_GUESS = 12;

export class KeyTable {
  #arena = new Uint8Array((PLACES_MIN / 2) * KEY_BYTES_GUESS);
  #ends = new Uint32Array(PLACES_MIN / 2);
  #hashes = new Int32Array(PLACES_MIN / 2);
  #slots = new Uint32Array(PLACES_MIN / 2);
  #places = new Uint32Array(PLACES_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The slot of the key that is the first `length` bytes, or −1. `hash` is `hashKey` of it. */
  find(bytes: Uint8Array, length: number, hash: number): number {
    const mask = this.#places.length - 1;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const found = this.#places[place] as number;
      if (found === 0) return -1;
      if (this.#hashes[found - 1] === hash && this.#isAt(found - 1, bytes, length)) {
        return this.#slots[found - 1] as number;
      }
    }
  }

  /** Adds a key that is not there. */
  add(bytes: Uint8Array, length: number, hash: number, slot: number): void {
    const ordinal = this.#size++;
    if (ordinal === this.#ends.length) this.#grow();
    const start = this.#startOf(ordinal);
    this.#reserve(start + length);
    for (let index = 0; index < length; index++) {
      this.#arena[start + index] = bytes[index] as number;
    }
    this.#ends[ordinal] = start + length;
    this.#hashes[ordinal] = hash;
    this.#slots[ordinal] = slot;
    this.#place(ordinal, hash);
  }

  /** The key of an ordinal below `size`: a view of the arena, to be copied where it is kept. */
  keyAt(ordinal: number): Uint8Array {
    return this.#arena.subarray(this.#startOf(ordinal), this.#ends[ordinal]);
  }

  slotAt(ordinal: number): number {
    return this.#slots[ordinal] as number;
  }

  /** Bytes of memory that the table holds, about. */
  heapBytes(): number {
    return this.#arena.length + this.#ends.length * 12 + this.#places.length * 4;
  }

  #startOf(ordinal: number): number {
    return ordinal === 0 ? 0 : (this.#ends[ordinal - 1] as number);
  }

  #isAt(ordinal: number, bytes: Uint8Array, length: number): boolean {
    const start = this.#startOf(ordinal);
    if ((this.#ends[ordinal] as number) - start !== length) return false;
    for (let index = 0; index < length; index++) {
      if (this.#arena[start + index] !== bytes[index]) return false;
    }
    return true;
  }

  #place(ordinal: number, hash: number): void {
    const mask = this.#places.length - 1;
    let place = hash & mask;
    while (this.#places[place] !== 0) place = (place + 1) & mask;
    this.#places[place] = ordinal + 1;
  }

  #reserve(byteLength: number): void {
    if (byteLength <= this.#arena.length) return;
    const grown = new Uint8Array(Math.max(byteLength, this.#arena.length * 2));
    grown.set(this.#arena);
    this.#arena = grown;
  }

  /** Twice the keys, at most half of the places taken. */
  #grow(): void {
    const capacity = this.#ends.length * 2;
    const [ends, hashes, slots] = [this.#ends, this.#hashes, this.#slots];
    this.#ends = new Uint32Array(capacity);
    this.#ends.set(ends);
    this.#hashes = new Int32Array(capacity);
    this.#hashes.set(hashes);
    this.#slots = new Uint32Array(capacity);
    this.#slots.set(slots);
    this.#places = new Uint32Array(capacity * 2);
    for (let ordinal = 0; ordinal < hashes.length; ordinal++) {
      this.#place(ordinal, hashes[ordinal] as number);
    }
  }
}

/** A 32-bit hash of the first `length` bytes: FNV-1a, mixed once more, since places are taken by its low bits. */
export function hashKey(bytes: Uint8Array, length = bytes.length): number {
  let hash = 0x811c9dc5 | 0;
  for (let index = 0; index < length; index++) {
    hash = Math.imul(hash ^ (bytes[index] as number), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
