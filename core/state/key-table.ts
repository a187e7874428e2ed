/**
 * The group keys of one window of one view → slots, in the order in which they came; and which of them were touched since the
 * last commit.
 *
 *   places   open addressing, linear probing: ordinal + 1, or 0      hash → place
 *   ends     end of the key in the arena, by ordinal                 ordinal → bytes
 *   arena    the keys' canonical bytes, one behind the other
 *   stamps   equal to the generation where the key was touched       ordinal → touched
 *
 * Keys leave with their window as a whole, or newest first, where they came since the last commit: none that stays was
 * placed behind one that leaves.
 */
import type { ByteWriter } from '../bytes.ts';

const PLACES_MIN = 8;
const KEY_BYTES_GUESS = 12;

export class KeyTable {
  #arena = new Uint8Array((PLACES_MIN / 2) * KEY_BYTES_GUESS);
  #ends = new Uint32Array(PLACES_MIN / 2);
  #hashes = new Int32Array(PLACES_MIN / 2);
  #slots = new Uint32Array(PLACES_MIN / 2);
  #stamps = new Uint32Array(PLACES_MIN / 2);
  #places = new Uint32Array(PLACES_MIN);
  #size = 0;
  /** Keys below it were there at the last commit. */
  #committedSize = 0;
  /** Since the last commit, in that order; only the first `touchedCount` are of use. */
  #touched = new Uint32Array(PLACES_MIN / 2);
  #touchedCount = 0;
  #generation = 1;

  get size(): number {
    return this.#size;
  }

  get touchedCount(): number {
    return this.#touchedCount;
  }

  /** The ordinal of the key that is the first `length` bytes, or −1. `hash` is `hashKey` of it. */
  find(bytes: Uint8Array, length: number, hash: number): number {
    const mask = this.#places.length - 1;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const found = this.#places[place] as number;
      if (found === 0) return -1;
      if (this.#hashes[found - 1] === hash && this.#isAt(found - 1, bytes, length)) {
        return found - 1;
      }
    }
  }

  /** Adds a key that is not there; its ordinal. */
  add(bytes: Uint8Array, length: number, hash: number, slot: number): number {
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
    this.#stamps[ordinal] = 0;
    this.#place(ordinal, hash);
    return ordinal;
  }

  /** Notes that the entry changes; false if it was noted since the last commit. */
  touch(ordinal: number): boolean {
    if (this.#stamps[ordinal] === this.#generation) return false;
    this.#stamps[ordinal] = this.#generation;
    if (this.#touchedCount === this.#touched.length) {
      const grown = new Uint32Array(this.#touched.length * 2);
      grown.set(this.#touched);
      this.#touched = grown;
    }
    this.#touched[this.#touchedCount++] = ordinal;
    return true;
  }

  /** True for a key that came since the last commit. */
  isNew(ordinal: number): boolean {
    return ordinal >= this.#committedSize;
  }

  /** Ordinals that were touched since the last commit, in that order: a view that is good until the next touch. */
  touched(): Uint32Array {
    return this.#touched.subarray(0, this.#touchedCount);
  }

  /** All that was touched and added is committed. */
  commit(): void {
    this.#committedSize = this.#size;
    this.#forgetTouched();
  }

  /** The keys that came since the last commit leave; `leaves` is told the slot of each. */
  undo(leaves: (slot: number) => void): void {
    const mask = this.#places.length - 1;
    while (this.#size > this.#committedSize) {
      const ordinal = --this.#size;
      let place = (this.#hashes[ordinal] as number) & mask;
      while (this.#places[place] !== ordinal + 1) place = (place + 1) & mask;
      this.#places[place] = 0;
      leaves(this.#slots[ordinal] as number);
    }
    this.#forgetTouched();
  }

  /** Length and bytes of a key. */
  writeKey(ordinal: number, writer: ByteWriter): void {
    writer.bytesOf(this.#arena, this.#startOf(ordinal), this.#ends[ordinal] as number);
  }

  /** How two keys are ordered. */
  compare(a: number, b: number): number {
    const arena = this.#arena;
    let atA = this.#startOf(a);
    let atB = this.#startOf(b);
    const endA = this.#ends[a] as number;
    const endB = this.#ends[b] as number;
    while (atA < endA && atB < endB) {
      const difference = (arena[atA++] as number) - (arena[atB++] as number);
      if (difference !== 0) return difference;
    }
    return endA - atA - (endB - atB);
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
    const perKey = this.#ends.length * 16 + this.#places.length * 4;
    return this.#arena.length + perKey + this.#touched.length * 4;
  }

  #forgetTouched(): void {
    this.#touchedCount = 0;
    this.#generation++;
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
    const [ends, hashes, slots, stamps] = [this.#ends, this.#hashes, this.#slots, this.#stamps];
    this.#ends = new Uint32Array(capacity);
    this.#ends.set(ends);
    this.#hashes = new Int32Array(capacity);
    this.#hashes.set(hashes);
    this.#slots = new Uint32Array(capacity);
    this.#slots.set(slots);
    this.#stamps = new Uint32Array(capacity);
    this.#stamps.set(stamps);
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
