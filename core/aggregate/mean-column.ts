/**
 * The arithmetic mean: the exact sum divided by the count, rounded once to the nearest double.
 *
 * The mean lies between the least and the greatest value, so it is finite where the sum is not.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import type { AccumulatorColumn, AggregateResult } from './column.ts';
import { CountColumn } from './count-column.ts';
import { SumColumn } from './sum-column.ts';

export class MeanColumn implements AccumulatorColumn {
  readonly #counts = new CountColumn();
  readonly #sums = new SumColumn();

  grow(capacity: number): void {
    this.#counts.grow(capacity);
    this.#sums.grow(capacity);
  }

  reset(slot: number): void {
    this.#counts.reset(slot);
    this.#sums.reset(slot);
  }

  add(slot: number, value: number): void {
    this.#counts.add(slot);
    this.#sums.add(slot, value);
  }

  merge(slot: number, other: this, otherSlot: number): void {
    this.#counts.merge(slot, other.#counts, otherSlot);
    this.#sums.merge(slot, other.#sums, otherSlot);
  }

  copy(slot: number, other: this, otherSlot: number): void {
    this.#counts.copy(slot, other.#counts, otherSlot);
    this.#sums.copy(slot, other.#sums, otherSlot);
  }

  encode(slot: number, writer: ByteWriter): void {
    this.#counts.encode(slot, writer);
    this.#sums.encode(slot, writer);
  }

  decode(slot: number, reader: ByteReader): void {
    this.#counts.decode(slot, reader);
    this.#sums.decode(slot, reader);
    const count = this.#counts.countOf(slot);
    if ((count === 0) !== this.#sums.isEmpty(slot)) {
      throw new CorruptStateFault('a stored mean has a count without a sum, or a sum without one');
    }
    if (this.#sums.overflows(slot) && !Number.isFinite(this.#sums.quotient(slot, count))) {
      throw new CorruptStateFault(`a stored mean of ${count} values is beyond the largest double`);
    }
  }

  /**
   * `exact` tells whether the mean is that of the numbers that were sent, as doubles; it may still
   * need rounding.
   */
  result(slot: number): AggregateResult {
    const count = this.#counts.countOf(slot);
    if (count === 0) return { value: null, exact: true };
    return {
      value: this.#sums.quotient(slot, count),
      exact: !this.#sums.hasRoundedLiterals(slot),
    };
  }

  heapBytes(): number {
    return this.#counts.heapBytes() + this.#sums.heapBytes();
  }
}
