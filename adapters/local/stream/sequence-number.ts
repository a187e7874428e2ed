/**
 * Sequence numbers of the local stream: 56 decimal digits that say where they belong, so that no index is needed.
 *
 *   49 | shard created, ms (13) | ordinal (16) | arrival, ms (13) | shard index (12)
 *
 * Within a shard the first two parts are constant and ordinals are dense, so numbers increase strictly; what follows the
 * ordinal makes them unique in the stream and, as in Kinesis, not dense. A shard made later has larger numbers.
 */
import { assert } from '../../../core/assert.ts';
import { SEQUENCE_NUMBER_DIGITS_MAX } from '../../../core/limits.ts';

const PREFIX = '49';
const MS_DIGITS = 13;
const ORDINAL_DIGITS = 16;
const SHARD_DIGITS = 12;
const CREATED_AT = PREFIX.length;
const ORDINAL_AT = CREATED_AT + MS_DIGITS;
const ARRIVAL_AT = ORDINAL_AT + ORDINAL_DIGITS;
const SHARD_AT = ARRIVAL_AT + MS_DIGITS;
const LENGTH = SHARD_AT + SHARD_DIGITS;
const SHAPE = new RegExp(`^${PREFIX}[0-9]{${LENGTH - PREFIX.length}}$`);

assert(LENGTH === SEQUENCE_NUMBER_DIGITS_MAX, 'sequence-number-has-56-digits');

/** What a sequence number consists of. Times in milliseconds since the epoch. */
export interface SequenceParts {
  readonly shardCreatedMs: number;
  /** The record's place in its shard, from 1; 0 is before the first record. */
  readonly ordinal: number;
  readonly arrivalMs: number;
  readonly shardIndex: number;
}

export function formatSequenceNumber(parts: SequenceParts): string {
  return (
    sequencePrefix(parts.shardCreatedMs) +
    ordinalDigits(parts.ordinal) +
    sequenceSuffix(parts.arrivalMs, parts.shardIndex)
  );
}

/** The digits before the ordinal: the same for all records of a shard. */
export function sequencePrefix(shardCreatedMs: number): string {
  return PREFIX + digits(shardCreatedMs, MS_DIGITS);
}

export function ordinalDigits(ordinal: number): string {
  return String(ordinal).padStart(ORDINAL_DIGITS, '0');
}

/** The digits after the ordinal: the same for all records that one append brings to a shard. */
export function sequenceSuffix(arrivalMs: number, shardIndex: number): string {
  return digits(arrivalMs, MS_DIGITS) + digits(shardIndex, SHARD_DIGITS);
}

/** Null if the text is not a sequence number that a local stream could have made. */
export function parseSequenceNumber(text: string): SequenceParts | null {
  if (!SHAPE.test(text)) return null;
  const ordinal = Number(text.slice(ORDINAL_AT, ARRIVAL_AT));
  if (!Number.isSafeInteger(ordinal)) return null;
  return {
    shardCreatedMs: Number(text.slice(CREATED_AT, ORDINAL_AT)),
    ordinal,
    arrivalMs: Number(text.slice(ARRIVAL_AT, SHARD_AT)),
    shardIndex: Number(text.slice(SHARD_AT)),
  };
}

function digits(value: number, width: number): string {
  const text = String(value).padStart(width, '0');
  assert(
    Number.isSafeInteger(value) && value >= 0 && text.length === width,
    'sequence-number-part-fits',
    () => `${value} in ${width} digits`,
  );
  return text;
}
