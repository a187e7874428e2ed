/**
 * The ids of folded records that a producer may send again: a set of 128-bit hashes, each kept until the watermark
 * reaches its `keepUntilMs`. Whether an id is known depends on the watermark only, never on when the set was swept:
 * expired ids go whenever the table grows or is encoded.
 *
 * Open addressing with linear probing; an id is 24 bytes, at a load of at most one half.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';

const EMPTY = Number.NEGATIVE_INFINITY;
const CAPACITY_MIN = 16;

export class DedupeIds {
  #words = new Uint32Array(CAPACITY_MIN * 4);
  #keepUntilMs = new Float64Array(CAPACITY_MIN).fill(EMPTY);
  #capacity = CAPACITY_MIN;
  #used = 0;

  /** Ids in the table, expired ones that were not swept yet included. */
  get size(): number {
    return this.#used;
  }

  /** True if the id (four words of its hash) is kept at this watermark. */
  has(id: Uint32Array, watermarkMs: number): boolean {
    return (this.#keepUntilMs[this.#find(id)] as number) > watermarkMs;
  }

  /** Keeps the id until the watermark reaches `keepUntilMs`, or longer if it is kept longer already. */
  add(id: Uint32Array, keepUntilMs: number, watermarkMs: number): void {
    let slot = this.#find(id);
    if (this.#keepUntilMs[slot] === EMPTY) {
      if ((this.#used + 1) * 2 > this.#capacity) {
        this.#rebuild(watermarkMs);
        slot = this.#find(id);
      }
      this.#words.set(id, slot * 4);
      this.#used++;
    }
    if (keepUntilMs > (this.#keepUntilMs[slot] as number)) this.#keepUntilMs[slot] = keepUntilMs;
  }

  /** Adds all ids of `other` that are still kept. */
  merge(other: DedupeIds, watermarkMs: number): void {
    other.#each(watermarkMs, (id, keepUntilMs) => this.add(id, keepUntilMs, watermarkMs));
  }

  clear(): void {
    if (this.#used === 0) return;
    this.#allocate(CAPACITY_MIN);
  }

  /** Canonical: the kept ids of both sets, ordered by hash. */
  static encode(sets: readonly DedupeIds[], watermarkMs: number, writer: ByteWriter): void {
    const union = new DedupeIds();
    for (const set of sets) union.merge(set, watermarkMs);
    const slots: number[] = [];
    for (let slot = 0; slot < union.#capacity; slot++) {
      if (union.#keepUntilMs[slot] !== EMPTY) slots.push(slot);
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
      writer.f64(union.#keepUntilMs[slot] as number);
    }
  }

  /** Adds what `encode` wrote. */
  decode(reader: ByteReader, watermarkMs: number): void {
    const count = reader.varint();
    const id = new Uint32Array(4);
    for (let index = 0; index < count; index++) {
      for (let word = 0; word < 4; word++) id[word] = reader.u32();
      const keepUntilMs = reader.f64();
      if (!Number.isFinite(keepUntilMs)) throw new CorruptStateFault('a dedupe id without an end');
      this.add(id, keepUntilMs, watermarkMs);
    }
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
    while (this.#keepUntilMs[slot] !== EMPTY) {
      const at = slot * 4;
      if (words[at] === a && words[at + 1] === b && words[at + 2] === c && words[at + 3] === d)
        break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #rebuild(watermarkMs: number): void {
    let kept = 0;
    for (const keepUntilMs of this.#keepUntilMs) if (keepUntilMs > watermarkMs) kept++;
    const [words, ends, capacity] = [this.#words, this.#keepUntilMs, this.#capacity];
    let wanted = CAPACITY_MIN;
    while (wanted < (kept + 1) * 4) wanted *= 2;
    this.#allocate(wanted);
    for (let slot = 0; slot < capacity; slot++) {
      const keepUntilMs = ends[slot] as number;
      if (keepUntilMs <= watermarkMs) continue;
      const id = words.subarray(slot * 4, slot * 4 + 4);
      const target = this.#find(id);
      this.#words.set(id, target * 4);
      this.#keepUntilMs[target] = keepUntilMs;
      this.#used++;
    }
  }

  #allocate(capacity: number): void {
    this.#words = new Uint32Array(capacity * 4);
    this.#keepUntilMs = new Float64Array(capacity).fill(EMPTY);
    this.#capacity = capacity;
    this.#used = 0;
  }

  #each(watermarkMs: number, visit: (id: Uint32Array, keepUntilMs: number) => void): void {
    for (let slot = 0; slot < this.#capacity; slot++) {
      const keepUntilMs = this.#keepUntilMs[slot] as number;
      if (keepUntilMs <= watermarkMs) continue;
      visit(this.#words.subarray(slot * 4, slot * 4 + 4), keepUntilMs);
    }
  }
}
