/**
 * Quantiles within 1 % of the exact value: a DDSketch (Masson, Rim and Lee 2019) in each slot, with
 * exact extremes.
 *
 * Positive and negative values are counted by the bin of their magnitude, zeros apart. Each of the
 * two stores keeps its 2,048 highest bins, so in both it is the values nearest to zero that lose
 * their accuracy, and only where magnitudes differ by a factor of more than 10^17.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import { BINS_KEPT_MAX, BinStore } from './bin-store.ts';
import type { AccumulatorColumn, AggregateResult } from './column.ts';
import { grownFloats } from './grown.ts';
import { readNumber, writeNumber } from './number-bytes.ts';
import { binOf, middleOf } from './sketch-bins.ts';

type Stores = (BinStore | null)[];

export class QuantileColumn implements AccumulatorColumn {
  /** Infinity and −Infinity where nothing was added. */
  #least = new Float64Array(0);
  #greatest = new Float64Array(0);
  #zeros = new Float64Array(0);
  readonly #positive: Stores = [];
  readonly #negative: Stores = [];
  #storeBytes = 0;

  grow(capacity: number): void {
    this.#least = grownFloats(this.#least, capacity, Infinity);
    this.#greatest = grownFloats(this.#greatest, capacity, -Infinity);
    this.#zeros = grownFloats(this.#zeros, capacity);
    while (this.#positive.length < capacity) this.#positive.push(null);
    while (this.#negative.length < capacity) this.#negative.push(null);
  }

  reset(slot: number): void {
    this.#least[slot] = Infinity;
    this.#greatest[slot] = -Infinity;
    this.#zeros[slot] = 0;
    this.#replace(this.#positive, slot, null);
    this.#replace(this.#negative, slot, null);
  }

  add(slot: number, value: number): void {
    // Adding 0 turns −0 into 0.
    if (value < (this.#least[slot] as number)) this.#least[slot] = value + 0;
    if (value > (this.#greatest[slot] as number)) this.#greatest[slot] = value + 0;
    if (value > 0) this.#count(this.#positive, slot, binOf(value));
    else if (value < 0) this.#count(this.#negative, slot, binOf(-value));
    else (this.#zeros[slot] as number)++;
  }

  merge(slot: number, other: this, otherSlot: number): void {
    const least = other.#least[otherSlot] as number;
    const greatest = other.#greatest[otherSlot] as number;
    if (least < (this.#least[slot] as number)) this.#least[slot] = least;
    if (greatest > (this.#greatest[slot] as number)) this.#greatest[slot] = greatest;
    (this.#zeros[slot] as number) += other.#zeros[otherSlot] as number;
    this.#mergeStore(this.#positive, slot, other.#positive[otherSlot] as BinStore | null);
    this.#mergeStore(this.#negative, slot, other.#negative[otherSlot] as BinStore | null);
  }

  copy(slot: number, other: this, otherSlot: number): void {
    this.#least[slot] = other.#least[otherSlot] as number;
    this.#greatest[slot] = other.#greatest[otherSlot] as number;
    this.#zeros[slot] = other.#zeros[otherSlot] as number;
    this.#replace(this.#positive, slot, other.#positive[otherSlot]?.clone() ?? null);
    this.#replace(this.#negative, slot, other.#negative[otherSlot]?.clone() ?? null);
  }

  encode(slot: number, writer: ByteWriter): void {
    if (this.#isEmpty(slot)) {
      writeNumber(writer, null);
      return;
    }
    writeNumber(writer, this.#least[slot] as number);
    writeNumber(writer, this.#greatest[slot] as number);
    writer.varint(this.#zeros[slot] as number);
    for (const stores of [this.#positive, this.#negative]) {
      const store = stores[slot] as BinStore | null;
      if (store === null) writer.varint(0);
      else store.encode(writer);
    }
  }

  decode(slot: number, reader: ByteReader): void {
    this.reset(slot);
    const least = readNumber(reader);
    if (least === null) return;
    const greatest = readNumber(reader);
    if (greatest === null) throw corrupt('it has a least value and no greatest');
    const zeros = reader.varint();
    const positive = BinStore.decode(reader);
    const negative = BinStore.decode(reader);
    checkConsistent(least, greatest, zeros, positive, negative);
    this.#least[slot] = least;
    this.#greatest[slot] = greatest;
    this.#zeros[slot] = zeros;
    this.#replace(this.#positive, slot, positive);
    this.#replace(this.#negative, slot, negative);
  }

  /**
   * By rank q, a value within 1 % of the one at place ⌊q (n − 1)⌋ of all n in ascending order, or
   * null where there is none. The least and the greatest (ranks 0 and 1) are exact. `exact` is
   * always true: an estimate is what was asked.
   */
  result(slot: number, ranks: readonly number[] = []): AggregateResult {
    const value: Record<string, number | null> = {};
    for (const rank of ranks) {
      value[String(rank)] = this.#isEmpty(slot) ? null : this.#quantile(slot, rank);
    }
    // Beyond 58 octaves the values nearest to zero share a bin, and a quantile among them is not within 1 %.
    const stores = [this.#positive[slot], this.#negative[slot]];
    return { value, exact: !stores.some((store) => store?.mayHaveCollapsed() ?? false) };
  }

  heapBytes(): number {
    const columns = this.#least.byteLength + this.#greatest.byteLength + this.#zeros.byteLength;
    const references = (this.#positive.length + this.#negative.length) * 8;
    return columns + references + this.#storeBytes;
  }

  #isEmpty(slot: number): boolean {
    return this.#least[slot] === Infinity;
  }

  #count(stores: Stores, slot: number, bin: number): void {
    let store = stores[slot] as BinStore | null;
    if (store === null) {
      store = new BinStore();
      this.#replace(stores, slot, store);
    }
    const grown = store.add(bin, 1);
    if (grown !== 0) this.#storeBytes += grown;
  }

  #mergeStore(stores: Stores, slot: number, other: BinStore | null): void {
    if (other === null) return;
    const store = stores[slot] as BinStore | null;
    if (store === null) this.#replace(stores, slot, other.clone());
    else this.#storeBytes += store.merge(other);
  }

  #replace(stores: Stores, slot: number, store: BinStore | null): void {
    this.#storeBytes += (store?.heapBytes() ?? 0) - (stores[slot]?.heapBytes() ?? 0);
    stores[slot] = store;
  }

  #quantile(slot: number, fraction: number): number {
    const least = this.#least[slot] as number;
    const greatest = this.#greatest[slot] as number;
    const positive = this.#positive[slot] as BinStore | null;
    const negative = this.#negative[slot] as BinStore | null;
    const negatives = negative?.total() ?? 0;
    const zeros = this.#zeros[slot] as number;
    const last = negatives + zeros + (positive?.total() ?? 0) - 1;
    const rank = fraction * last;
    if (rank <= 0) return least;
    if (rank >= last) return greatest;
    let value = 0;
    if (negative !== null && rank < negatives) value = -middleOf(negative.binAtRankFromTop(rank));
    else if (positive !== null && rank >= negatives + zeros) {
      value = middleOf(positive.binAtRank(rank - negatives - zeros));
    }
    return Math.min(Math.max(value, least), greatest);
  }
}

/** What counts and extremes must have in common, whatever was added. */
function checkConsistent(
  least: number,
  greatest: number,
  zeros: number,
  positive: BinStore | null,
  negative: BinStore | null,
): void {
  const total = zeros + (positive?.total() ?? 0) + (negative?.total() ?? 0);
  if (!Number.isSafeInteger(total) || total === 0) throw corrupt(`it counts ${total} values`);
  if (least > greatest || (total === 1 && least !== greatest)) {
    throw corrupt(`${total} values from ${least} to ${greatest}`);
  }
  const leastFits =
    negative !== null
      ? least < 0 && binOf(-least) === negative.highest()
      : zeros > 0
        ? least === 0
        : isInLowestBin(least, positive as BinStore);
  const greatestFits =
    positive !== null
      ? greatest > 0 && binOf(greatest) === positive.highest()
      : zeros > 0
        ? greatest === 0
        : isInLowestBin(-greatest, negative as BinStore);
  if (!leastFits || !greatestFits) {
    throw corrupt(`no value of ${least} or of ${greatest} is counted`);
  }
}

/**
 * Whether a value of magnitude `magnitude` is, or was collapsed, in the lowest bin of the store.
 */
function isInLowestBin(magnitude: number, store: BinStore): boolean {
  if (magnitude <= 0) return false;
  const bin = binOf(magnitude);
  const lowest = store.lowest();
  const collapsed = lowest === store.highest() - BINS_KEPT_MAX + 1;
  return bin === lowest || (collapsed && bin < lowest);
}

function corrupt(what: string): CorruptStateFault {
  return new CorruptStateFault(`a stored quantile sketch is not canonical: ${what}`);
}
