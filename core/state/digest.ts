/**
 * An order-independent digest of the Kinesis records that a fold consumed: the sum modulo 2^64 of a hash of (shard, sequence
 * number), with their count. Each counts once, however many records are inside it, so that an archive of the stream's
 * records as they are has the same digest. Two folds consumed the same records if both agree (but for 2^-64).
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { hashText, hashWords } from '../hash.ts';
import { SEQUENCE_NUMBER_DIGITS_MAX } from '../limits.ts';

export interface DigestValue {
  readonly count: number;
  /** 16 hex digits. */
  readonly sum: string;
}

export class Digest {
  count: number;
  #low: number;
  #high: number;

  constructor(count = 0, low = 0, high = 0) {
    this.count = count;
    this.#low = low;
    this.#high = high;
  }

  /** Takes in one Kinesis record of the shard that `hash` is of. */
  add(sequenceNumber: string, hash: SequenceHash): void {
    const [low, high] = hash.of(sequenceNumber) as unknown as [number, number];
    this.#addWords(low, high);
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

const DIGITS_A_WORD = 8;
const SHARD_WORDS = 4;
const NUMBER_WORDS = SEQUENCE_NUMBER_DIGITS_MAX / DIGITS_A_WORD;
const BYTE_LENGTH = (SHARD_WORDS + NUMBER_WORDS) * 4;
const ZERO = '0'.charCodeAt(0);

/**
 * The hash of a shard's sequence numbers: of the hash of the shard's name (16 bytes) and the number as 56 decimal digits, two
 * a byte (28 bytes).
 */
export class SequenceHash {
  /** The last word is of no byte. */
  readonly #words = new Uint32Array(SHARD_WORDS + NUMBER_WORDS + 1);
  readonly #hash = new Uint32Array(4);

  constructor(shardId: string) {
    hashText(shardId, this.#words);
  }

  /** The words 0 (low) and 1 (high) are what a digest sums: valid until the next call. */
  of(sequenceNumber: string): Uint32Array {
    const words = this.#words;
    let end = sequenceNumber.length;
    for (let index = SHARD_WORDS + NUMBER_WORDS - 1; index >= SHARD_WORDS; index--) {
      words[index] = packedDigits(sequenceNumber, end);
      end -= DIGITS_A_WORD;
    }
    hashWords(words, BYTE_LENGTH, this.#hash);
    return this.#hash;
  }
}

/** The eight digits before `end`, zeros where there are none: two a byte, the first byte lowest, its first digit in the high half. */
function packedDigits(text: string, end: number): number {
  let word = 0;
  for (let at = end - 2, shift = 24; shift >= 0; at -= 2, shift -= 8) {
    const high = at >= 0 ? text.charCodeAt(at) - ZERO : 0;
    const low = at >= -1 ? text.charCodeAt(at + 1) - ZERO : 0;
    word |= ((high << 4) | low) << shift;
  }
  return word;
}
