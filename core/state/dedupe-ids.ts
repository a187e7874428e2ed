/**
 * The ids of folded records that a producer may send again: a set of 128-bit hashes, each with the event time from which
 * `dedupe.within` is counted. One of `expiredMs` (watermark − within) or before is not known any more, whenever the set was
 * swept: such ids go whenever the table grows or is encoded. So another `within` holds for ids that are kept already.
 *
 * Open addressing with linear probing; an id is 24 bytes, at a load of at most one half.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';

const EMPTY = Number.NEGATIVE_INFINITY;
const CAPACITY_MIN = 16;

export class DedupeIds {
  #words = new Uint32Array(CAPACITY_MIN * 4);
  #countedFromMs = new Float64Array(CAPACITY_MIN).fill(EMPTY);
  #capacity = CAPACITY_MIN;
  #used = 0;

  /** Ids in the table, expired ones that were not swept yet included. */
  get size(): number {
    return this.#used;
  }

  /** True if the id (four words of its hash) is still kept. */
  has(id: Uint32Array, expiredMs: number): boolean {
    return (this.#countedFromMs[this.#find(id)] as number) > expiredMs;
  }

  /** Keeps the id, from the later time if it is kept already. */
  add(id: Uint32Array, countedFromMs: number, expiredMs: number): void {
    let slot = this.#find(id);
    if (this.#countedFromMs[slot] === EMPTY) {
      if ((this.#used + 1) * 2 > this.#capacity) {
        this.#rebuild(expiredMs);
        slot = this.#find(id);
      }
      this.#words.set(id, slot * 4);
      this.#used++;
    }
    if (countedFromMs > (this.#countedFromMs[slot] as number))
      this.#countedFromMs[slot] = countedFromMs;
  }

  /** Adds all ids of `other` that are still kept. */
  merge(other: DedupeIds, expiredMs: number): void {
    other.#each(expiredMs, (id, countedFromMs) => this.add(id, countedFromMs, expiredMs));
  }

  /** Forgets what is expired for good: a longer `within` does not bring it back. */
  sweep(expiredMs: number): void {
    if (this.#used > 0) this.#rebuild(expiredMs);
  }

  clear(): void {
    if (this.#used === 0) return;
    this.#allocate(CAPACITY_MIN);
  }

  /** Canonical: the kept ids of both sets, ordered by hash; how many there are. */
  static encode(sets: readonly DedupeIds[], expiredMs: number, writer: ByteWriter): number {
    const union = new DedupeIds();
    for (const set of sets) union.merge(set, expiredMs);
    const slots: number[] = [];
    for (let slot = 0; slot < union.#capacity; slot++) {
      if (union.#countedFromMs[slot] !== EMPTY) slots.push(slot);
    }
    const words = union.#words;
    slots.sort((a, b) => {
      for (let word = 0; word < 4; word++) {
        const difference = (words[a * 4 + word] as number) - (words[b * 4 + word] as number);
        if (difference !== 0) return difference;
      }
      return 0;
    });
    writer.varint(slots.length);
    for (const slot of slots) {
      for (let word = 0; word < 4; word++) writer.u32(words[slot * 4 + word] as number);
      writer.f64(union.#countedFromMs[slot] as number);
    }
    return slots.length;
  }

  /** Adds what `encode` wrote; how many ids that was. */
  decode(reader: ByteReader, expiredMs: number): number {
    const count = reader.varint();
    const id = new Uint32Array(4);
    for (let index = 0; index < count; index++) {
      for (let word = 0; word < 4; word++) id[word] = reader.u32();
      const countedFromMs = reader.f64();
      if (!Number.isFinite(countedFromMs))
        throw new CorruptStateFault('a dedupe id without a time');
      this.add(id, countedFromMs, expiredMs);
    }
    return count;
  }

  heapBytes(): number {
    return this.#capacity * 24;
  }

  /** The slot of the id, or the empty slot where it belongs. */
  #find(id: Uint32Array): number {
    const [a, b, c, d] = id as unknown as [number, number, number, number];
    const words = this.#words;
    const mask = this.#capacity - 1;
    let slot = a & mask;
    while (this.#countedFromMs[slot] !== EMPTY) {
      const at = slot * 4;
      if (words[at] === a && words[at + 1] === b && words[at + 2] === c && words[at + 3] === d)
        break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #rebuild(expiredMs: number): void {
    let kept = 0;
    for (const countedFromMs of this.#countedFromMs) if (countedFromMs > expiredMs) kept++;
    const [words, times, capacity] = [this.#words, this.#countedFromMs, this.#capacity];
    let wanted = CAPACITY_MIN;
    while (wanted < (kept + 1) * 4) wanted *= 2;
    this.#allocate(wanted);
    for (let slot = 0; slot < capacity; slot++) {
      const countedFromMs = times[slot] as number;
      if (countedFromMs <= expiredMs) continue;
      const id = words.subarray(slot * 4, slot * 4 + 4);
      const target = this.#find(id);
      this.#words.set(id, target * 4);
      this.#countedFromMs[target] = countedFromMs;
      this.#used++;
    }
  }

  #allocate(capacity: number): void {
    this.#words = new Uint32Array(capacity * 4);
    this.#countedFromMs = new Float64Array(capacity).fill(EMPTY);
    this.#capacity = capacity;
    this.#used = 0;
  }

  #each(expiredMs: number, visit: (id: Uint32Array, countedFromMs: number) => void): void {
    for (let slot = 0; slot < this.#capacity; slot++) {
      const countedFromMs = this.#countedFromMs[slot] as number;
      if (countedFromMs <= expiredMs) continue;
      visit(this.#words.subarray(slot * 4, slot * 4 + 4), countedFromMs);
    }
  }
}
