/**
 * How many values were added: exact up to 2^53, which no stream reaches.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import type { AccumulatorColumn, AggregateResult } from './column.ts';
import { grownFloats } from './grown.ts';

export class CountColumn implements AccumulatorColumn {
  #counts = new Float64Array(0);

  grow(capacity: number): void {
    this.#counts = grownFloats(this.#counts, capacity);
  }

  reset(slot: number): void {
    this.#counts[slot] = 0;
  }

  add(slot: number): void {
    (this.#counts[slot] as number)++;
  }

  merge(slot: number, other: this, otherSlot: number): void {
    (this.#counts[slot] as number) += other.#counts[otherSlot] as number;
  }

  copy(slot: number, other: this, otherSlot: number): void {
    this.#counts[slot] = other.#counts[otherSlot] as number;
  }

  encode(slot: number, writer: ByteWriter): void {
    writer.varint(this.#counts[slot] as number);
  }

  decode(slot: number, reader: ByteReader): void {
    this.#counts[slot] = reader.varint();
  }

  result(slot: number): AggregateResult {
    return { value: this.countOf(slot), exact: true };
  }

  countOf(slot: number): number {
    return this.#counts[slot] as number;
  }

  heapBytes(): number {
    return this.#counts.byteLength;
  }
}
