/**
 * Positions in one shard's log: (sequence number, sub-sequence). Sequence numbers are decimal strings without leading
 * zeros, so that a longer one is a larger one; they are never compared across shards, and never as numbers.
 *
 * A memory holds all of a Kinesis record or nothing of it. So whether a record is new, and how far a slice is, follows from
 * sequence numbers alone, whatever the code that folded the record before has seen inside it. The sub-sequence names one of the
 * records inside, and orders them.
 */
import { assert } from './assert.ts';
import { SEQUENCE_NUMBER_DIGITS_MAX } from './limits.ts';

/** The place of one record in its shard's log. `subSequence` counts within a KPL aggregate from 0, otherwise it is 0. */
export interface Position {
  readonly sequenceNumber: string;
  readonly subSequence: number;
}

/** Before the first record of every shard. */
export const START: Position = { sequenceNumber: '0', subSequence: 0 };

const SEQUENCE_NUMBER = /^(?:0|[1-9][0-9]*)$/;

/** True for a decimal string of at most 56 digits without leading zeros. */
export function isSequenceNumber(text: string): boolean {
  return text.length <= SEQUENCE_NUMBER_DIGITS_MAX && SEQUENCE_NUMBER.test(text);
}

/**
 * A sequence number as we keep it, without leading zeros. Kinesis writes none; an emulator may pad. Whatever enters from
 * outside (an answer, an event) comes through here, once.
 */
export function canonicalSequenceNumber(text: string): string {
  const canonical = text.startsWith('0') ? text.replace(/^0+(?=[0-9])/, '') : text;
  assert(isSequenceNumber(canonical), 'sequence-number-is-decimal', () => JSON.stringify(text));
  return canonical;
}

/** Negative, zero or positive, as `a` lies before, at or after `b`. Both must be of one shard. */
export function compareSequenceNumbers(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Orders positions of one shard, those inside one Kinesis record as one: what a memory has folded, and what is new to it. */
export function comparePositions(a: Position, b: Position): number {
  return compareSequenceNumbers(a.sequenceNumber, b.sequenceNumber);
}

/** Orders records of one shard, those inside one Kinesis record too. */
export function compareRecords(a: Position, b: Position): number {
  return comparePositions(a, b) || a.subSequence - b.subSequence;
}

/** How many of a log's records, which ascend, lie at or before `position`: all inside one Kinesis record, or none. */
export function countUpTo(log: readonly Position[], position: Position): number {
  let low = 0;
  let high = log.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePositions(log[middle] as Position, position) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

const SUB_SEQUENCE_DIGITS = 10;

/** A string that sorts as positions do, byte by byte: what a store compares in a condition. */
export function sortablePosition(position: Position): string {
  assert(isSequenceNumber(position.sequenceNumber), 'sequence-number-is-canonical', () =>
    JSON.stringify(position.sequenceNumber),
  );
  const sequence = position.sequenceNumber.padStart(SEQUENCE_NUMBER_DIGITS_MAX, '0');
  return `${sequence}.${String(position.subSequence).padStart(SUB_SEQUENCE_DIGITS, '0')}`;
}
