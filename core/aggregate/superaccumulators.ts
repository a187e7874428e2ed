/**
 * Exact sums of doubles as long fixed-point numbers, after Neal's small superaccumulator: a row of
 * 32-bit limbs that reaches from the lowest bit of the smallest double to beyond 2^53 times the
 * largest.
 *
 * Limbs are kept in doubles and signed, so that an addition touches three of them and carries
 * nothing; before they could lose a bit, carries are propagated. Rows lie in one array: most slots
 * never need one.
 */
import { assert } from '../assert.ts';
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import { grownFloats } from './grown.ts';

const LIMB_BITS = 32;
const LIMB_BASE = 2 ** LIMB_BITS;
/** 2,098 bits of doubles and 53 of carries. */
const LIMBS = 68;
/** What 2^53 of the largest doubles leave in the last limb. */
const LAST_LIMB_MAX = 2 ** 7 - 1;
/**
 * Each addition adds less than 2^32 to a limb, which holds 2^53: rows with this many each may still
 * be added.
 */
const ADDITIONS_BETWEEN_CARRIES_MAX = 2 ** 20;
/** Where the limb of the unit bit (2^0) is, and how many bits of it are fractions. */
const UNIT_LIMB = 33;
const UNIT_LIMB_FRACTION = 2 ** 18;

/** What one in each limb stands for; Infinity in the last two, which only overflown sums use. */
const LIMB_VALUES = new Float64Array(LIMBS);
LIMB_VALUES[0] = Number.MIN_VALUE;
for (let index = 1; index < LIMBS; index++) {
  LIMB_VALUES[index] = (LIMB_VALUES[index - 1] as number) * LIMB_BASE;
}

/** Magnitude of the row that was normalised last, lowest limb first: for use within one call. */
const digits = new Uint32Array(LIMBS);
const bits = new DataView(new ArrayBuffer(8));

export class Superaccumulators {
  #limbs = new Float64Array(0);
  /** By row: no limb is larger than this many times 2^32. */
  #additions = new Uint32Array(0);
  readonly #freeRows: number[] = [];

  /** A row that holds zero. */
  take(): number {
    if (this.#freeRows.length === 0) this.#addRows();
    const row = this.#freeRows.pop() as number;
    this.clear(row);
    return row;
  }

  /** Gives a row back. */
  release(row: number): void {
    this.#freeRows.push(row);
  }

  clear(row: number): void {
    this.#limbs.fill(0, row * LIMBS, (row + 1) * LIMBS);
    this.#additions[row] = 0;
  }

  /** Adds a finite double, exactly. */
  add(row: number, value: number): void {
    bits.setFloat64(0, value);
    const top = bits.getUint32(0);
    const exponent = (top >>> 20) & 0x7ff;
    // Subnormals share the exponent of the smallest normal numbers and lack their leading bit.
    const high = (top & 0xf_ffff) | (exponent === 0 ? 0 : 0x10_0000);
    const low = bits.getUint32(4);
    const position = exponent === 0 ? 0 : exponent - 1;
    const shift = position % LIMB_BITS;
    const sign = top >>> 31 === 1 ? -1 : 1;
    const limbs = this.#limbs;
    const at = row * LIMBS + (position >>> 5);
    // The second shift is in two steps, as a shift by 32 does nothing.
    const carried = (low >>> 1) >>> (31 - shift);
    (limbs[at] as number) += sign * ((low << shift) >>> 0);
    (limbs[at + 1] as number) += sign * (((high << shift) | carried) >>> 0);
    (limbs[at + 2] as number) += sign * ((high >>> 1) >>> (31 - shift));
    const additions = (this.#additions[row] as number) + 1;
    this.#additions[row] = additions;
    if (additions >= ADDITIONS_BETWEEN_CARRIES_MAX) this.#carry(row);
  }

  /** row ← row + `otherRow` of `other`. */
  addRow(row: number, other: Superaccumulators, otherRow: number): void {
    const from = otherRow * LIMBS;
    const to = row * LIMBS;
    for (let index = 0; index < LIMBS; index++) {
      (this.#limbs[to + index] as number) += other.#limbs[from + index] as number;
    }
    const additions = (this.#additions[row] as number) + (other.#additions[otherRow] as number);
    this.#additions[row] = additions;
    if (additions >= ADDITIONS_BETWEEN_CARRIES_MAX) this.#carry(row);
  }

  /** row ← `otherRow` of `other`. */
  copyRow(row: number, other: Superaccumulators, otherRow: number): void {
    const from = otherRow * LIMBS;
    this.#limbs.set(other.#limbs.subarray(from, from + LIMBS), row * LIMBS);
    this.#additions[row] = other.#additions[otherRow] as number;
  }

  /** The row's sum in units of 2^−1074. */
  total(row: number): bigint {
    const { negative, start, end } = this.#normalise(row);
    let units = 0n;
    for (let index = end - 1; index >= start; index--) {
      units = (units << 32n) | BigInt(digits[index] as number);
    }
    units <<= BigInt(start * LIMB_BITS);
    return negative ? -units : units;
  }

  /**
   * The row's sum as its non-zero limbs: their count with the sum's sign, the place of the lowest,
   * and the limbs.
   */
  encode(row: number, writer: ByteWriter): void {
    const { negative, start, end } = this.#normalise(row);
    writer.signedVarint(negative ? start - end : end - start);
    if (start === end) return;
    writer.varint(start);
    for (let index = start; index < end; index++) writer.u32(digits[index] as number);
  }

  /** Replaces the row by what `encode` wrote. */
  decode(row: number, reader: ByteReader): void {
    this.clear(row);
    const signedCount = reader.signedVarint();
    if (signedCount === 0) return;
    const sign = Math.sign(signedCount);
    const count = Math.abs(signedCount);
    const start = reader.varint();
    if (start + count > LIMBS) throw corrupt(`${count} limbs from ${start}, of ${LIMBS}`);
    const at = row * LIMBS + start;
    for (let index = 0; index < count; index++) {
      this.#limbs[at + index] = sign * reader.u32();
    }
    if (this.#limbs[at] === 0 || this.#limbs[at + count - 1] === 0) {
      throw corrupt('its outermost limbs are zero');
    }
    if (Math.abs(this.#limbs[row * LIMBS + LIMBS - 1] as number) > LAST_LIMB_MAX) {
      throw corrupt('it is larger than 2^53 of the largest doubles');
    }
    this.#additions[row] = 1;
  }

  /** Of a row that was just decoded: whether its sum is an integer. */
  isInteger(row: number): boolean {
    const at = row * LIMBS;
    for (let index = at; index < at + UNIT_LIMB; index++) {
      if (this.#limbs[index] !== 0) return false;
    }
    return (this.#limbs[at + UNIT_LIMB] as number) % UNIT_LIMB_FRACTION === 0;
  }

  /**
   * Of a row that was just decoded: its non-zero limbs as doubles, highest first; not finite where
   * too large.
   */
  doubles(row: number): number[] {
    const parts: number[] = [];
    for (let index = LIMBS - 1; index >= 0; index--) {
      const limb = this.#limbs[row * LIMBS + index] as number;
      if (limb !== 0) parts.push(limb * (LIMB_VALUES[index] as number));
    }
    return parts;
  }

  heapBytes(): number {
    return this.#limbs.byteLength + this.#additions.byteLength;
  }

  #addRows(): void {
    const rows = this.#additions.length;
    const wanted = Math.max(1, rows * 2);
    this.#limbs = grownFloats(this.#limbs, wanted * LIMBS);
    const additions = new Uint32Array(wanted);
    additions.set(this.#additions);
    this.#additions = additions;
    for (let row = wanted - 1; row >= rows; row--) this.#freeRows.push(row);
  }

  /**
   * Makes every limb in use a number of 32 bits, the highest of either sign and the others
   * positive. Returns the limbs in use: from `start` to before `end`.
   */
  #carry(row: number): { start: number; end: number } {
    const limbs = this.#limbs;
    const at = row * LIMBS;
    let start = 0;
    let end = LIMBS;
    while (start < end && limbs[at + start] === 0) start++;
    while (end > start && limbs[at + end - 1] === 0) end--;
    let carry = 0;
    for (let index = start; index < end; index++) {
      const limb = (limbs[at + index] as number) + carry;
      const isHighest = index === end - 1;
      carry = isHighest && Math.abs(limb) < LIMB_BASE ? 0 : Math.floor(limb / LIMB_BASE);
      limbs[at + index] = limb - carry * LIMB_BASE;
    }
    if (carry !== 0) {
      assert(end < LIMBS, 'superaccumulator-has-room');
      limbs[at + end++] = carry;
    }
    this.#additions[row] = 1;
    return { start, end };
  }

  /**
   * Writes the magnitude of the row's sum to the digits: those from `start` to before `end`, both
   * outermost non-zero.
   */
  #normalise(row: number): { negative: boolean; start: number; end: number } {
    let { start, end } = this.#carry(row);
    const at = row * LIMBS;
    const negative = end > 0 && (this.#limbs[at + end - 1] as number) < 0;
    let borrow = 0;
    for (let index = start; index < end; index++) {
      const limb = this.#limbs[at + index] as number;
      const digit = negative ? -limb - borrow : limb;
      borrow = digit < 0 ? 1 : 0;
      digits[index] = digit + borrow * LIMB_BASE;
    }
    assert(borrow === 0, 'superaccumulator-keeps-its-sign');
    while (start < end && digits[start] === 0) start++;
    while (end > start && digits[end - 1] === 0) end--;
    return { negative, start, end };
  }
}

function corrupt(what: string): CorruptStateFault {
  return new CorruptStateFault(`a stored exact sum is not canonical: ${what}`);
}
