/**
 * Writing blobs under names of their own, and reading exactly those that a reference means.
 */
import { assert } from '../assert.ts';
import { compareBytes } from '../bytes.ts';
import { crc32c } from '../crc32c.ts';
import { CorruptStateFault } from '../faults.ts';
import { DELTA_ITEM_BYTES_MAX } from '../limits.ts';
import type { BlobStore, ObjectStore } from '../ports.ts';
import {
  type BlobKind,
  type BlobName,
  type BlobPlace,
  type BlobReference,
  blobKey,
  parseBlobKey,
} from './names.ts';

/** Where a slice's blobs are kept: small deltas as items, everything else as objects. */
export interface BlobStores {
  readonly items: BlobStore;
  readonly objects: ObjectStore;
}

/** A blob is not what was written, or not there. */
export class DamagedBlob extends CorruptStateFault {
  readonly blob: BlobName;

  constructor(message: string, blob: BlobName) {
    super(message);
    this.blob = blob;
  }
}

/** The blob that a reference means is not there: it was collected, or never whole. A reader looks at HEAD again. */
export class MissingBlob extends DamagedBlob {}

/** Makes the blob durable and returns its reference. */
export async function writeBlob(
  stores: BlobStores,
  sliceId: string,
  name: BlobName,
  bytes: Uint8Array,
): Promise<BlobReference> {
  const place = placeOf(name, bytes.length);
  const key = blobKey(sliceId, name);
  const creation = await storeOf(stores, place).create(key, bytes);
  if (creation === 'exists') {
    // A nonce is used once: what is there is our own earlier attempt, whose answer was lost.
    const there = await storeOf(stores, place).read(key);
    const ours = there !== null && compareBytes(there, bytes) === 0;
    assert(ours, 'a-name-is-used-once', () => key);
  }
  return referenceOf(name, place, bytes);
}

/** The reference to a blob of these bytes. */
export function referenceOf(
  { kind, timeline, epoch, nonce }: BlobName,
  place: BlobPlace,
  bytes: Uint8Array,
): BlobReference {
  const byteLength = bytes.length;
  return { kind, timeline, epoch, nonce, place, byteLength, checksum: checksumOf(kind, bytes) };
}

/** A blob in an envelope ends with its own CRC; over bytes and their CRC it is the same for all, and would tell none apart. */
function checksumOf(kind: BlobKind, bytes: Uint8Array): number {
  return crc32c(kind === 'run' ? bytes : bytes.subarray(0, Math.max(0, bytes.length - 4)));
}

/** The whole blob, checked. */
export async function readBlob(
  stores: BlobStores,
  sliceId: string,
  reference: BlobReference,
): Promise<Uint8Array> {
  const key = blobKey(sliceId, reference);
  const bytes = await openBlob(storeOf(stores, reference.place), key, (read) => {
    const checksum = checksumOf(reference.kind, read);
    if (read.length === reference.byteLength && checksum === reference.checksum) return read;
    throw new DamagedBlob(
      `${key} is not what was written: ${read.length} bytes with checksum ${checksum}, expected ${reference.byteLength} with ${reference.checksum}`,
      reference,
    );
  });
  if (bytes === null) throw missing(key, reference);
  return bytes;
}

/** Reads of a blob before it counts as damaged. */
const READS_MAX = 3;

/**
 * What `open` makes of the bytes of a blob; null if it is not there. Bytes that are corrupt are read again: they may only have
 * come badly, while damage takes a slice back to an earlier epoch.
 */
export async function openBlob<T>(
  store: BlobStore,
  key: string,
  open: (bytes: Uint8Array) => T,
): Promise<T | null> {
  for (let reads = 1; ; reads++) {
    const bytes = await store.read(key);
    if (bytes === null) return null;
    try {
      return open(bytes);
    } catch (fault) {
      if (!(fault instanceof CorruptStateFault) || reads === READS_MAX) throw fault;
    }
  }
}

/** Bytes [from, to) of a blob; their own checksum is the caller's matter. */
export async function readBlobRange(
  stores: BlobStores,
  sliceId: string,
  reference: BlobReference,
  from: number,
  to: number,
): Promise<Uint8Array> {
  const key = blobKey(sliceId, reference);
  const bytes = await storeOf(stores, reference.place).readRange(key, from, to);
  if (bytes === null) throw missing(key, reference);
  if (bytes.length !== to - from) {
    throw new DamagedBlob(`${key} ends before byte ${to}`, reference);
  }
  return bytes;
}

const PAGE = 1000;

/** The names of a slice's blobs in one store, those of one kind or all; of those after the key `from`. */
export async function* blobNames(
  store: BlobStore,
  sliceId: string,
  kind: BlobKind | null = null,
  from: string | null = null,
): AsyncGenerator<BlobName> {
  const prefix = kind === null ? `${sliceId}/` : `${sliceId}/${kind}/`;
  let after: string | null = from;
  for (;;) {
    const page = await store.list(prefix, after, PAGE);
    for (const { key } of page) {
      const name = parseBlobKey(sliceId, key);
      if (name !== null) yield name;
    }
    if (page.length < PAGE) return;
    after = page.at(-1)?.key ?? null;
  }
}

function placeOf(name: BlobName, byteLength: number): BlobPlace {
  return name.kind === 'delta' && byteLength <= DELTA_ITEM_BYTES_MAX ? 'item' : 'object';
}

export function storeOf(stores: BlobStores, place: BlobPlace): BlobStore {
  return place === 'item' ? stores.items : stores.objects;
}

function missing(key: string, blob: BlobName): MissingBlob {
  return new MissingBlob(`${key} is not there`, blob);
}
