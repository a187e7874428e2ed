/**
 * The least or the greatest value.
 *
 * A value of magnitude 2^53 or more may be the rounding of a longer integer (a 64-bit id, say), so
 * it is named inexact.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import type { AccumulatorColumn, AggregateResult } from './column.ts';
import { grownFloats } from './grown.ts';
import { readNumber, writeNumber } from './number-bytes.ts';

export class ExtremeColumn implements AccumulatorColumn {
  readonly #least: boolean;
  /** Where nothing was added: further out than any finite value. */
  readonly #identity: number;
  #values = new Float64Array(0);

  constructor(kind: 'min' | 'max') {
    this.#least = kind === 'min';
    this.#identity = this.#least ? Infinity : -Infinity;
  }

  grow(capacity: number): void {
    this.#values = grownFloats(this.#values, capacity, this.#identity);
  }

  reset(slot: number): void {
    this.#values[slot] = this.#identity;
  }

  add(slot: number, value: number): void {
    const current = this.#values[slot] as number;
    // Adding 0 turns −0 into 0.
    if (this.#least ? value < current : value > current) this.#values[slot] = value + 0;
  }

  merge(slot: number, other: this, otherSlot: number): void {
    this.add(slot, other.#values[otherSlot] as number);
  }

  copy(slot: number, other: this, otherSlot: number): void {
    this.#values[slot] = other.#values[otherSlot] as number;
  }

  encode(slot: number, writer: ByteWriter): void {
    writeNumber(writer, this.#valueOf(slot));
  }

  decode(slot: number, reader: ByteReader): void {
    this.#values[slot] = readNumber(reader) ?? this.#identity;
  }

  result(slot: number): AggregateResult {
    const value = this.#valueOf(slot);
    return { value, exact: value === null || Math.abs(value) <= Number.MAX_SAFE_INTEGER };
  }

  heapBytes(): number {
    return this.#values.byteLength;
  }

  #valueOf(slot: number): number | null {
    const value = this.#values[slot] as number;
    return value === this.#identity ? null : value;
  }
}
