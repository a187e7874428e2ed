/**
 * Hash keys and the ranges of shards. A hash key is a 128-bit number, kept as 32 hex digits: these sort as the numbers do.
 * The ranges of a stream's open shards tile [0, 2^128 − 1], cut as Kinesis cuts them.
 */
import { hash } from 'node:crypto';
import { assert } from '../../../core/assert.ts';

const HASH_KEY_BITS = 128n;
const HASH_KEY_COUNT = 1n << HASH_KEY_BITS;
const HEX_DIGITS = 32;

/** Both ends belong to the range; 32 lower-case hex digits each. */
export interface HashRange {
  readonly start: string;
  readonly end: string;
}

/** `count` ranges of equal width; the last one takes what the division leaves over. */
export function cutHashRanges(count: number): HashRange[] {
  assert(Number.isSafeInteger(count) && count > 0, 'range-count-is-positive');
  const width = HASH_KEY_COUNT / BigInt(count);
  return Array.from({ length: count }, (_, index) => {
    const start = BigInt(index) * width;
    const end = index === count - 1 ? HASH_KEY_COUNT : start + width;
    return { start: hexOf(start), end: hexOf(end - 1n) };
  });
}

/** The hash key that Kinesis gives a partition key: MD5 of its UTF-8. */
export function hashKeyOfPartition(partitionKey: string): string {
  return hash('md5', partitionKey, 'hex');
}

/** The hash key of a decimal number, or null if it is not in [0, 2^128 − 1]. */
export function hashKeyOfDecimal(decimal: string): string | null {
  if (!/^(?:0|[1-9][0-9]{0,38})$/.test(decimal)) return null;
  const value = BigInt(decimal);
  return value < HASH_KEY_COUNT ? hexOf(value) : null;
}

/** The decimal form of a hash key, as Kinesis writes it. */
export function decimalOfHashKey(hashKey: string): string {
  return BigInt(`0x${hashKey}`).toString();
}

/** The index of the range that holds `hashKey`. `ends` are the ends of ranges that tile the whole, ascending. */
export function findRange(ends: readonly string[], hashKey: string): number {
  let low = 0;
  let high = ends.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (hashKey <= (ends[middle] as string)) high = middle;
    else low = middle + 1;
  }
  assert(hashKey <= (ends[low] ?? ''), 'ranges-tile-all-hash-keys', () => hashKey);
  return low;
}

function hexOf(value: bigint): string {
  return value.toString(16).padStart(HEX_DIGITS, '0');
}
