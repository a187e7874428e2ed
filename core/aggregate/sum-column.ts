/**
 * Exact sums. Whatever was added, in whatever order, a slot stands for the exact total; only
 * `result` rounds, once.
 *
 * A slot has one of three forms in memory, from cheap to dear:
 *   integers  `high` is the total and `low` Σ|x|, while every value is an integer and Σ|x| is below
 *             2^53
 *   pair      `high` is the total rounded to a double and `low` what that leaves, while two doubles
 *             can hold the total
 *   wide      `low` is the row of a superaccumulator
 * Which of the last two it is depends on the order of additions, so the bytes do not show it. They
 * do show the first, which a slot leaves once a value is a fraction or of magnitude 2^53 or more, or
 * Σ|x| reaches 2^53, in whatever order.
 *
 * −0 is the identity of IEEE addition, so a total of −0 in the first form says that nothing was
 * added.
 */
import { assert } from '../assert.ts';
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import type { AccumulatorColumn, AggregateResult } from './column.ts';
import { grownBytes, grownFloats } from './grown.ts';
import { powerOfTwo } from './power-of-two.ts';
import { nearestDouble, unitsOf } from './rounding.ts';
import { Superaccumulators } from './superaccumulators.ts';

const INTEGERS = 0;
/** Bits of the other two forms. */
const PROMOTED = 1;
/** A value was no integer. */
const FRACTION = 2;
/**
 * An integer of magnitude 2^53 or more was added: its literal may have had more digits than a
 * double keeps.
 */
const UNSAFE = 4;
const WIDE = 8;
const FLAGS = FRACTION | UNSAFE;

/**
 * First byte of an encoded slot; `PROMOTED_TAG` is followed by one for each combination of the two
 * flags.
 */
const EMPTY_TAG = 0;
const INTEGERS_TAG = 1;
const PROMOTED_TAG = 2;
const TAG_MAX = PROMOTED_TAG + FLAGS / FRACTION;

/** Far enough from overflow for the steps of an exact addition. */
const PAIR_MAX = powerOfTwo(1020);

export class SumColumn implements AccumulatorColumn {
  #high = new Float64Array(0);
  #low = new Float64Array(0);
  #form = new Uint8Array(0);
  readonly #wide = new Superaccumulators();
  /** A row for the passage from doubles to bytes and back. */
  readonly #scratch = this.#wide.take();

  grow(capacity: number): void {
    this.#high = grownFloats(this.#high, capacity, -0);
    this.#low = grownFloats(this.#low, capacity);
    this.#form = grownBytes(this.#form, capacity);
  }

  reset(slot: number): void {
    this.#releaseRow(slot);
    this.#form[slot] = INTEGERS;
    this.#high[slot] = -0;
    this.#low[slot] = 0;
  }

  add(slot: number, value: number): void {
    if (this.#form[slot] === INTEGERS) {
      const magnitude = (this.#low[slot] as number) + Math.abs(value);
      if (magnitude <= Number.MAX_SAFE_INTEGER && Number.isInteger(value)) {
        // Adding 0 turns −0 into 0, and so marks the slot as used.
        (this.#high[slot] as number) += value + 0;
        this.#low[slot] = magnitude;
        return;
      }
    }
    this.#promote(slot, flagsOf(value));
    this.#addExactly(slot, value);
  }

  merge(slot: number, other: this, otherSlot: number): void {
    const form = other.#form[otherSlot] as number;
    const high = other.#high[otherSlot] as number;
    const low = other.#low[otherSlot] as number;
    if (form === INTEGERS) {
      const magnitude = (this.#low[slot] as number) + low;
      if (this.#form[slot] === INTEGERS && magnitude <= Number.MAX_SAFE_INTEGER) {
        (this.#high[slot] as number) += high;
        this.#low[slot] = magnitude;
        return;
      }
      this.#promote(slot, 0);
      this.#addExactly(slot, high);
      return;
    }
    this.#promote(slot, form & FLAGS);
    if (form & WIDE) {
      this.#widen(slot);
      this.#wide.addRow(this.#low[slot] as number, other.#wide, low);
    } else {
      this.#addExactly(slot, high);
      this.#addExactly(slot, low);
    }
  }

  copy(slot: number, other: this, otherSlot: number): void {
    if (other === this && otherSlot === slot) return;
    this.#releaseRow(slot);
    const form = other.#form[otherSlot] as number;
    this.#form[slot] = form;
    this.#high[slot] = other.#high[otherSlot] as number;
    this.#low[slot] = other.#low[otherSlot] as number;
    if (form & WIDE) {
      const row = this.#wide.take();
      this.#wide.copyRow(row, other.#wide, other.#low[otherSlot] as number);
      this.#low[slot] = row;
    }
  }

  encode(slot: number, writer: ByteWriter): void {
    const form = this.#form[slot] as number;
    if (form === INTEGERS) {
      if (this.isEmpty(slot)) {
        writer.u8(EMPTY_TAG);
        return;
      }
      writer.u8(INTEGERS_TAG);
      writer.signedVarint(this.#high[slot] as number);
      writer.varint(this.#low[slot] as number);
      return;
    }
    writer.u8(PROMOTED_TAG + (form & FLAGS) / FRACTION);
    this.#wide.encode(this.#rowOf(slot), writer);
  }

  decode(slot: number, reader: ByteReader): void {
    this.reset(slot);
    const tag = reader.u8();
    if (tag > TAG_MAX) throw corrupt(`its tag is ${tag}, expected 0 to ${TAG_MAX}`);
    if (tag === EMPTY_TAG) return;
    if (tag === INTEGERS_TAG) {
      const total = reader.signedVarint();
      const magnitude = reader.varint();
      // Σ|x| and Σx differ by twice the negative values.
      if (Math.abs(total) > magnitude || Math.abs(total) % 2 !== magnitude % 2) {
        throw corrupt(`integers of total ${total} have no Σ|x| of ${magnitude}`);
      }
      this.#high[slot] = total;
      this.#low[slot] = magnitude;
      return;
    }
    this.#decodePromoted(slot, (tag - PROMOTED_TAG) * FRACTION, reader);
  }

  /**
   * The exact total, rounded to the nearest double (ties to even).
   *
   * Beyond the largest double it is that double, inexact. Below 2^53 the nearest double counts as
   * exact, as 0.1 + 0.2 is of doubles. From 2^53 on it is exact if no rounding took place. With a
   * value of magnitude 2^53 or more it is inexact, whatever else was added.
   */
  result(slot: number): AggregateResult {
    if (this.isEmpty(slot)) return { value: null, exact: true };
    if (this.#form[slot] === INTEGERS) return { value: this.#high[slot] as number, exact: true };
    const rounded = this.quotient(slot, 1);
    if (!Number.isFinite(rounded)) {
      return { value: Math.sign(rounded) * Number.MAX_VALUE, exact: false };
    }
    if (this.hasRoundedLiterals(slot)) return { value: rounded, exact: false };
    const isSmall = Math.abs(rounded) <= Number.MAX_SAFE_INTEGER;
    return { value: rounded, exact: isSmall || unitsOf(rounded) === this.#total(slot) };
  }

  isEmpty(slot: number): boolean {
    return this.#form[slot] === INTEGERS && Object.is(this.#high[slot], -0);
  }

  /** Whether the exact total is beyond the largest double. */
  overflows(slot: number): boolean {
    return !Number.isFinite(this.quotient(slot, 1));
  }

  /** Whether the digits of an integer that was added may have been lost before it came here. */
  hasRoundedLiterals(slot: number): boolean {
    return ((this.#form[slot] as number) & UNSAFE) !== 0;
  }

  /**
   * The double nearest to the exact total divided by `divisor`, a positive integer; ±Infinity where
   * it overflows.
   */
  quotient(slot: number, divisor: number): number {
    // Adding 0 turns the −0 of a negative underflow into 0.
    if (this.#isOneDouble(slot, divisor)) return (this.#high[slot] as number) / divisor + 0;
    return nearestDouble(this.#total(slot), BigInt(divisor)) + 0;
  }

  heapBytes(): number {
    const columns = this.#high.byteLength + this.#low.byteLength + this.#form.byteLength;
    return columns + this.#wide.heapBytes();
  }

  /**
   * Whether dividing one double, which is one rounding, does what dividing the exact total and
   * rounding it would do.
   */
  #isOneDouble(slot: number, divisor: number): boolean {
    const form = this.#form[slot] as number;
    if (form === INTEGERS) return true;
    // The first double of a pair is its total rounded.
    return (form & WIDE) === 0 && (divisor === 1 || this.#low[slot] === 0);
  }

  /** Leaves the integers' form, if the slot is in it, and adds to the flags. */
  #promote(slot: number, flags: number): void {
    if (this.#form[slot] === INTEGERS) {
      this.#low[slot] = 0;
      this.#high[slot] = (this.#high[slot] as number) + 0;
    }
    (this.#form[slot] as number) |= PROMOTED | flags;
  }

  /** Adds to a promoted slot. A sum of three doubles that leaves no third one is again a pair. */
  #addExactly(slot: number, value: number): void {
    if (((this.#form[slot] as number) & WIDE) === 0) {
      const high = this.#high[slot] as number;
      const low = this.#low[slot] as number;
      const sum = high + value;
      const error = additionError(high, value, sum);
      const tail = error + low;
      const head = sum + tail;
      // Overflow makes the errors NaN, which is not 0 either.
      if (additionError(error, low, tail) === 0 && Math.abs(head) <= PAIR_MAX) {
        this.#high[slot] = head;
        this.#low[slot] = additionError(sum, tail, head);
        return;
      }
      this.#widen(slot);
    }
    this.#wide.add(this.#low[slot] as number, value);
  }

  /** Gives a promoted slot a row of its own, if it has none. */
  #widen(slot: number): void {
    const form = this.#form[slot] as number;
    assert(form !== INTEGERS, 'only-promoted-sums-are-widened');
    if (form & WIDE) return;
    const row = this.#wide.take();
    this.#wide.add(row, this.#high[slot] as number);
    this.#wide.add(row, this.#low[slot] as number);
    this.#form[slot] = form | WIDE;
    this.#high[slot] = 0;
    this.#low[slot] = row;
  }

  #releaseRow(slot: number): void {
    if ((this.#form[slot] as number) & WIDE) this.#wide.release(this.#low[slot] as number);
  }

  /** A row that holds the total of a promoted slot: valid until the next use of the scratch row. */
  #rowOf(slot: number): number {
    if ((this.#form[slot] as number) & WIDE) return this.#low[slot] as number;
    this.#wide.clear(this.#scratch);
    this.#wide.add(this.#scratch, this.#high[slot] as number);
    this.#wide.add(this.#scratch, this.#low[slot] as number);
    return this.#scratch;
  }

  #total(slot: number): bigint {
    return this.#wide.total(this.#rowOf(slot));
  }

  #decodePromoted(slot: number, flags: number, reader: ByteReader): void {
    const scratch = this.#scratch;
    this.#wide.decode(scratch, reader);
    if ((flags & FRACTION) === 0 && !this.#wide.isInteger(scratch)) {
      throw corrupt('it is a fraction, of integers only');
    }
    this.#promote(slot, flags);
    const parts = this.#wide.doubles(scratch);
    if (parts.every(Number.isFinite)) {
      // Most totals fit a pair again; one that does not widens by itself.
      for (const part of parts) this.#addExactly(slot, part);
    } else {
      this.#widen(slot);
      this.#wide.copyRow(this.#low[slot] as number, this.#wide, scratch);
    }
  }
}

/**
 * What `sum` = a + b lost by rounding, itself a double (Knuth's two-sum); NaN where it overflowed.
 */
function additionError(a: number, b: number, sum: number): number {
  const fromB = sum - a;
  return a - (sum - fromB) + (b - fromB);
}

function flagsOf(value: number): number {
  if (!Number.isInteger(value)) return FRACTION;
  return Number.isSafeInteger(value) ? 0 : UNSAFE;
}

function corrupt(what: string): CorruptStateFault {
  return new CorruptStateFault(`a stored sum is not canonical: ${what}`);
}
