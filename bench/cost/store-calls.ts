/**
 * What calls of the stores are charged as: write and read units of DynamoDB, request classes of S3.
 */
import { DELTA_ITEM_BYTES_MAX, HEAD_BYTES_MAX } from '../../core/limits.ts';

export type StoreCall =
  | { readonly to: 'dynamodb'; readonly call: 'write' | 'read'; readonly byteLength: number }
  | { readonly to: 's3'; readonly call: 'put' | 'get' };

export interface Charges {
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly puts: number;
  readonly gets: number;
}

const KIB = 1024;
const WRITE_UNIT_BYTES = KIB;
/** Of a consistent read, as all of ours are. */
const READ_UNIT_BYTES = 4 * KIB;
/** Keys and names of the attributes around a blob, about: DynamoDB charges them too. */
const ITEM_FRAME_BYTES = 150;

export const itemByteLength = (blobByteLength: number): number => blobByteLength + ITEM_FRAME_BYTES;

export function chargesOf(calls: readonly StoreCall[]): Charges {
  let [writeUnits, readUnits, puts, gets] = [0, 0, 0, 0];
  for (const call of calls) {
    if (call.to === 's3') {
      if (call.call === 'get') gets++;
      else puts++;
    } else if (call.call === 'write') {
      // A delete is a write of what was there.
      writeUnits += Math.max(1, Math.ceil(call.byteLength / WRITE_UNIT_BYTES));
    } else readUnits += Math.max(1, Math.ceil(call.byteLength / READ_UNIT_BYTES));
  }
  return { writeUnits, readUnits, puts, gets };
}

/** What a checkpoint writes: a delta where its size puts it, then HEAD. */
export function checkpointCalls(deltaByteLength: number): StoreCall[] {
  const delta: StoreCall =
    deltaByteLength > DELTA_ITEM_BYTES_MAX
      ? { to: 's3', call: 'put' }
      : { to: 'dynamodb', call: 'write', byteLength: itemByteLength(deltaByteLength) };
  return [delta, { to: 'dynamodb', call: 'write', byteLength: HEAD_BYTES_MAX }];
}

const LIST_PAGE = 1_000;
/** Partitions that the items of a slice lie in: each is asked. */
const ITEM_PARTS = 4;

/** Listings of a slice's blobs. DynamoDB charges the items that it passes over, whole. */
export function listingCharges(
  listings: { readonly dynamodb: number; readonly s3: number },
  kept: { readonly itemBytes: number; readonly objectCount: number },
): { readonly readUnits: number; readonly puts: number } {
  const readUnits = Math.max(ITEM_PARTS, Math.ceil(kept.itemBytes / READ_UNIT_BYTES));
  const pages = Math.max(1, Math.ceil(kept.objectCount / LIST_PAGE));
  return { readUnits: listings.dynamodb * readUnits, puts: listings.s3 * pages };
}
