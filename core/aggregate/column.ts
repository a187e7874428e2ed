/**
 * One aggregate's accumulators, a slot an entry: the interface that keyed state folds into.
 *
 * Each kind is a commutative monoid: `reset` is the identity, `merge` the operation, and the bytes of a slot depend on
 * the multiset of values that were added to it only, never on their order or on how they were cut and merged.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';

export interface AccumulatorColumn {
  /** Makes room for slots below `capacity`; new slots hold the identity. Never shrinks. */
  grow(capacity: number): void;
  /** The slot becomes the identity. */
  reset(slot: number): void;
  /** Folds one finite value into the slot (−0 counts as 0). A count ignores it. */
  add(slot: number, value: number): void;
  /** slot ← slot ⊕ `otherSlot` of `other`, a column of the same kind. `other` stays as it is and is not shared. */
  merge(slot: number, other: this, otherSlot: number): void;
  /** slot ← `otherSlot` of `other`: a copy that shares nothing. */
  copy(slot: number, other: this, otherSlot: number): void;
  /** Canonical bytes of the slot. */
  encode(slot: number, writer: ByteWriter): void;
  /** Replaces the slot by what `encode` wrote; throws `CorruptStateFault` on bytes that no encode writes. */
  decode(slot: number, reader: ByteReader): void;
  /** What is asked of it beside the slot, the kind's descriptor in core/definition/kinds knows. */
  result(slot: number): AggregateResult;
  /** Bytes of memory that the column holds, about. */
  heapBytes(): number;
}

export interface AggregateResult {
  /** Null where no value was added (a count is 0 then). Quantiles: by rank, as text. */
  readonly value: number | null | Readonly<Record<string, number | null>>;
  /**
   * False where integers were added and the value is not their exact result, or where the values of a quantile lie too
   * far apart for its accuracy.
   */
  readonly exact: boolean;
}
