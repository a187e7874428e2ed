/**
 * An order-independent digest of the records that a fold consumed: the sum modulo 2^64 of a hash of (shard, sequence
 * number, sub-sequence), with their count. Two folds consumed the same records if both agree (but for 2^-64).
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { hashText } from '../hash.ts';
import type { Position } from '../position.ts';

export interface DigestValue {
  readonly count: number;
  /** 16 hex digits. */
  readonly sum: string;
}

const words = new Uint32Array(4);

export class Digest {
  count: number;
  #low: number;
  #high: number;

  constructor(count = 0, low = 0, high = 0) {
    this.count = count;
    this.#low = low;
    this.#high = high;
  }

  /** Takes in one record; `shardSeed` is `digestSeed` of its shard. */
  add(position: Position, shardSeed: number): void {
    hashText(
      position.sequenceNumber,
      words,
      shardSeed ^ Math.imul(position.subSequence, 0x9e3779b1),
    );
    this.#addWords(words[0] as number, words[1] as number);
    this.count++;
  }

  /** Takes in what another digest has seen. */
  merge(other: Digest): void {
    this.#addWords(other.#low, other.#high);
    this.count += other.count;
  }

  copy(): Digest {
    return new Digest(this.count, this.#low, this.#high);
  }

  equals(other: Digest): boolean {
    return this.count === other.count && this.#low === other.#low && this.#high === other.#high;
  }

  value(): DigestValue {
    const hex = (word: number) => word.toString(16).padStart(8, '0');
    return { count: this.count, sum: hex(this.#high) + hex(this.#low) };
  }

  encode(writer: ByteWriter): void {
    writer.varint(this.count);
    writer.u32(this.#low);
    writer.u32(this.#high);
  }

  static decode(reader: ByteReader): Digest {
    return new Digest(reader.varint(), reader.u32(), reader.u32());
  }

  #addWords(low: number, high: number): void {
    const sum = this.#low + low;
    this.#low = sum >>> 0;
    this.#high = (this.#high + high + (sum > 0xffff_ffff ? 1 : 0)) >>> 0;
  }
}

/** What tells the records of one shard from those of another. */
export function digestSeed(shardId: string): number {
  const seed = new Uint32Array(4);
  hashText(shardId, seed);
  return seed[0] as number;
}
