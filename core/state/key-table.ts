/**
 * The group keys of one window of one view → slots, in the order in which they came; and which of them were touched since the
 * last commit. Small, since there may be a window for each ten seconds of a week.
 *
 *   places   open addressing, linear probing: ordinal + 1, or 0; none while the keys are few      hash → place
 *   rows     end of the key in the arena, hash, slot, stamp                                       ordinal → row
 *   arena    the keys' canonical bytes, one behind the other
 *
 * Keys leave with their window as a whole, or newest first, where they came since the last commit: none that stays was
 * placed behind one that leaves.
 */
import { assert } from '../assert.ts';
import type { ByteWriter } from '../bytes.ts';
import { grownCapacity } from './growth.ts';

/** Keys that are looked through one by one. */
const FEW = 8;
/** A probe that takes longer is no chance at a load of one half: someone has chosen keys so. */
const PROBES_MAX = 256;
/** Typed arrays of up to 64 bytes need no memory outside V8's heap. */
const ARENA_BYTES_MIN = 48;
const ROWS_MIN = 4;

const ROW = 4;
const END = 0;
const HASH = 1;
const SLOT = 2;
/** Equal to the generation where the key was touched. */
const STAMP = 3;

/** What a commit that is under way is to commit. */
interface SealedKeys {
  /** Keys below it were there. */
  readonly size: number;
  readonly touched: number[];
}

/** By ordinal, in the order in which they came. */
export type WindowEntries = Pick<
  KeyTable,
  | 'size'
  | 'committedSize'
  | 'touchedCount'
  | 'find'
  | 'arena'
  | 'startOf'
  | 'endOf'
  | 'keyAt'
  | 'hashAt'
  | 'slotAt'
  | 'touched'
  | 'writeKey'
  | 'compare'
>;

export class KeyTable {
  #arena = new Uint8Array(ARENA_BYTES_MIN);
  #rows = new Uint32Array(ROWS_MIN * ROW);
  #places: Uint32Array | null = null;
  /** By text, where too many keys share their places: V8 hashes text with a secret of its own. */
  #crowded: Map<string, number> | null = null;
  #size = 0;
  /** Keys below it were there at the last commit. */
  #committedSize = 0;
  /** Since the last commit, or since it was sealed, in that order. */
  #touched: number[] = [];
  #generation = 1;
  #sealed: SealedKeys | null = null;

  get size(): number {
    return this.#size;
  }

  /** Keys that were there at the last commit: they have the first ordinals. */
  get committedSize(): number {
    return this.#committedSize;
  }

  get touchedCount(): number {
    return this.#touched.length;
  }

  /** Keys that an undo leaves. */
  get #keptSize(): number {
    return this.#sealed?.size ?? this.#committedSize;
  }

  /** The ordinal of the key that is the first `length` bytes, or −1. `hash` is `hashKey` of it. */
  find(bytes: Uint8Array, length: number, hash: number): number {
    if (this.#crowded !== null) return this.#crowded.get(textOf(bytes, 0, length)) ?? -1;
    if (this.#places === null) return this.#findAmongFew(bytes, length, hash);
    const mask = this.#places.length - 1;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const found = this.#places[place] as number;
      if (found === 0) return -1;
      if (this.#isAt(found - 1, bytes, length, hash)) return found - 1;
    }
  }

  /** Makes room for so many keys, if there is less: what is added up to then is not copied. */
  reserve(count: number): void {
    if (count * ROW > this.#rows.length) this.#growRows(count);
  }

  /** Adds a key that is not there; its ordinal. */
  add(bytes: Uint8Array, length: number, hash: number, slot: number): number {
    if (this.#size * ROW === this.#rows.length) this.#growRows(grownCapacity(this.#size));
    const ordinal = this.#append(bytes, 0, length, hash, slot);
    this.placeSince(ordinal);
    return ordinal;
  }

  /** Makes room for so many keys more, and for others after them. */
  reserveMore(count: number): void {
    const size = this.#size + count;
    if (size * ROW <= this.#rows.length) return;
    this.#growRows(Math.max(size, grownCapacity(this.#size)));
  }

  /**
   * Adds the key at [from, to) of `bytes`, which is not there, where `reserveMore` has made room. It is found once `placeSince`
   * was called: many that are placed one behind the other wait for memory together.
   */
  load(bytes: Uint8Array, from: number, to: number, slot: number): void {
    this.#append(bytes, from, to, hashSpan(bytes, from, to), slot);
  }

  /** Places the keys that were loaded, from an ordinal on. */
  placeSince(from: number): void {
    for (let ordinal = from; ordinal < this.#size; ordinal++) {
      if (this.#crowded !== null) this.#crowded.set(this.#textAt(ordinal), ordinal);
      else if (this.#places !== null) this.#place(ordinal, this.#size);
    }
  }

  /** Notes that the entry changes; false if it was noted since the last commit, or since the table was sealed. */
  touch(ordinal: number): boolean {
    const at = ordinal * ROW + STAMP;
    if (this.#rows[at] === this.#generation) return false;
    this.#rows[at] = this.#generation;
    this.#touched.push(ordinal);
    return true;
  }

  /** True for a key that came since then. */
  isNew(ordinal: number): boolean {
    return ordinal >= this.#keptSize;
  }

  /** Ordinals that were touched since then, in that order. */
  touched(): Uint32Array {
    return Uint32Array.from(this.#touched);
  }

  /** What was touched and added is about to be committed; what is from now on is apart from it. */
  seal(): void {
    assert(this.#sealed === null, 'one-commit-at-a-time');
    this.#sealed = { size: this.#size, touched: this.#touched };
    this.#touched = [];
    this.#generation++;
  }

  /** What was sealed is committed; where nothing is, all that was touched and added. */
  commit(): void {
    if (this.#sealed !== null) {
      this.#committedSize = this.#sealed.size;
      this.#sealed = null;
      return;
    }
    this.#committedSize = this.#size;
    this.#forgetTouched();
  }

  /** The keys that came since the last commit, or since the table was sealed, leave; `leaves` is told the slot of each. */
  undo(leaves: (slot: number) => void): void {
    while (this.#size > this.#keptSize) {
      const ordinal = this.#size - 1;
      if (this.#crowded !== null) this.#crowded.delete(this.#textAt(ordinal));
      else if (this.#places !== null) this.#displace(this.#places, ordinal);
      this.#size--;
      leaves(this.slotAt(ordinal));
    }
    this.#forgetTouched();
  }

  /** What was sealed is not committed after all; what came after it was undone. */
  reopen(): void {
    const { size, touched } = this.#sealed as SealedKeys;
    assert(this.#touched.length === 0 && this.#size === size, 'the-newest-is-undone-first');
    this.#touched = touched;
    for (const ordinal of touched) this.#rows[ordinal * ROW + STAMP] = this.#generation;
    this.#sealed = null;
  }

  /** Length and bytes of a key. */
  writeKey(ordinal: number, writer: ByteWriter): void {
    writer.bytesOf(this.#arena, this.startOf(ordinal), this.endOf(ordinal));
  }

  /** How two keys are ordered. */
  compare(a: number, b: number): number {
    const arena = this.#arena;
    let atA = this.startOf(a);
    let atB = this.startOf(b);
    const endA = this.endOf(a);
    const endB = this.endOf(b);
    while (atA < endA && atB < endB) {
      const difference = (arena[atA++] as number) - (arena[atB++] as number);
      if (difference !== 0) return difference;
    }
    return endA - atA - (endB - atB);
  }

  /** The key of an ordinal below `size`: a view of the arena, to be copied where it is kept. */
  keyAt(ordinal: number): Uint8Array {
    return this.#arena.subarray(this.startOf(ordinal), this.endOf(ordinal));
  }

  slotAt(ordinal: number): number {
    return this.#rows[ordinal * ROW + SLOT] as number;
  }

  /** `hashKey` of a key, as a number from 0 on. */
  hashAt(ordinal: number): number {
    return this.#rows[ordinal * ROW + HASH] as number;
  }

  /** Where keys lie, one behind the other: a key is the bytes from its `startOf` to its `endOf`. Valid until one is added. */
  get arena(): Uint8Array {
    return this.#arena;
  }

  startOf(ordinal: number): number {
    return ordinal === 0 ? 0 : this.endOf(ordinal - 1);
  }

  endOf(ordinal: number): number {
    return this.#rows[ordinal * ROW + END] as number;
  }

  /** Bytes of memory that the table's arrays hold, about. */
  heapBytes(): number {
    const places = this.#places === null ? 0 : this.#places.byteLength;
    const touchedCount = this.#touched.length + (this.#sealed?.touched.length ?? 0);
    const crowded = this.#crowded === null ? 0 : this.#size * CROWDED_BYTES + this.#arena.length;
    return this.#arena.length + this.#rows.byteLength + places + crowded + 8 * touchedCount;
  }

  /** A key that has its row and bytes, and no place yet. */
  #append(bytes: Uint8Array, from: number, to: number, hash: number, slot: number): number {
    const ordinal = this.#size++;
    const start = this.startOf(ordinal);
    const end = start + to - from;
    this.#growArena(end);
    const arena = this.#arena;
    for (let index = from, at = start; index < to; index++) arena[at++] = bytes[index] as number;
    const row = ordinal * ROW;
    this.#rows[row + END] = end;
    this.#rows[row + HASH] = hash;
    this.#rows[row + SLOT] = slot;
    this.#rows[row + STAMP] = 0;
    return ordinal;
  }

  #findAmongFew(bytes: Uint8Array, length: number, hash: number): number {
    for (let ordinal = 0; ordinal < this.#size; ordinal++) {
      if (this.#isAt(ordinal, bytes, length, hash)) return ordinal;
    }
    return -1;
  }

  #forgetTouched(): void {
    if (this.#touched.length > 0) this.#touched = [];
    this.#generation++;
  }

  #textAt(ordinal: number): string {
    return textOf(this.#arena, this.startOf(ordinal), this.endOf(ordinal));
  }

  #isAt(ordinal: number, bytes: Uint8Array, length: number, hash: number): boolean {
    if (this.#rows[ordinal * ROW + HASH] !== hash >>> 0) return false;
    const start = this.startOf(ordinal);
    if (this.endOf(ordinal) - start !== length) return false;
    for (let index = 0; index < length; index++) {
      if (this.#arena[start + index] !== bytes[index]) return false;
    }
    return true;
  }

  /** `size`: keys that there are to this one. */
  #place(ordinal: number, size: number): void {
    const places = this.#places as Uint32Array;
    const mask = places.length - 1;
    let place = (this.#rows[ordinal * ROW + HASH] as number) & mask;
    for (let probes = 0; places[place] !== 0; probes++) {
      if (probes === PROBES_MAX) {
        this.#crowd(size);
        return;
      }
      place = (place + 1) & mask;
    }
    places[place] = ordinal + 1;
  }

  #displace(places: Uint32Array, ordinal: number): void {
    const mask = places.length - 1;
    let place = (this.#rows[ordinal * ROW + HASH] as number) & mask;
    while (places[place] !== ordinal + 1) place = (place + 1) & mask;
    places[place] = 0;
  }

  /** From here on keys are found by their text. */
  #crowd(size: number): void {
    const crowded = new Map<string, number>();
    for (let ordinal = 0; ordinal < size; ordinal++) {
      crowded.set(this.#textAt(ordinal), ordinal);
    }
    this.#crowded = crowded;
    this.#places = null;
  }

  #growArena(byteLength: number): void {
    if (byteLength <= this.#arena.length) return;
    const grown = new Uint8Array(Math.max(byteLength, grownCapacity(this.#arena.length)));
    grown.set(this.#arena);
    this.#arena = grown;
  }

  #growRows(count: number): void {
    const before = this.#rows;
    this.#rows = new Uint32Array(count * ROW);
    this.#rows.set(before);
    const placeCount = placesFor(count);
    const isEnough = this.#places !== null && this.#places.length >= placeCount;
    if (count <= FEW || this.#crowded !== null || isEnough) return;
    this.#places = new Uint32Array(placeCount);
    for (let ordinal = 0; ordinal < this.#size && this.#places !== null; ordinal++) {
      this.#place(ordinal, this.#size);
    }
  }
}

/** A power of two, at least twice as many as there are keys. */
function placesFor(count: number): number {
  return 2 ** (32 - Math.clz32(2 * count - 1));
}

/** What V8 holds for an entry of a `Map` with its text, about. */
const CROWDED_BYTES = 64;

/** One character a byte. */
function textOf(bytes: Uint8Array, from: number, to: number): string {
  let text = '';
  for (let index = from; index < to; index++) text += String.fromCharCode(bytes[index] as number);
  return text;
}

/** A 32-bit hash of the first `length` bytes: FNV-1a, mixed once more, since places are taken by its low bits. */
export function hashKey(bytes: Uint8Array, length = bytes.length): number {
  return hashSpan(bytes, 0, length);
}

/** The same of the bytes [from, to). */
function hashSpan(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let index = from; index < to; index++) {
    hash = Math.imul(hash ^ (bytes[index] as number), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
