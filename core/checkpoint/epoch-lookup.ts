/**
 * An epoch that was current once, found again by its number: out of what HEAD names, or else among the blobs that are there,
 * for as long as retention keeps them.
 *
 * Numbers are never used twice, but a commit that lost its race leaves a delta under the number that the winner took: `isMeant`
 * tells them apart.
 */
import {
  type BlobStores,
  blobNames,
  MissingBlob,
  readBlob,
  referenceOf,
  storeOf,
} from './blobs.ts';
import { deltasOf } from './chain.ts';
import { type Delta, decodeDelta } from './delta.ts';
import type { Head } from './head.ts';
import { type BlobName, type BlobReference, blobKey } from './names.ts';
import type { EpochReference } from './restore.ts';

type IsMeant = (name: BlobName) => boolean;

/** What `load` needs to build the epoch's image; null if it is not there, or no longer. */
export async function findEpoch(
  head: Head,
  epoch: number,
  isMeant: IsMeant,
  stores: BlobStores,
): Promise<EpochReference | null> {
  const { sliceId } = head;
  if (epoch === 0) return { sliceId, base: null, delta: null };
  if (head.delta?.epoch === epoch) {
    return isMeant(head.delta) ? { sliceId, base: head.base, delta: head.delta } : null;
  }
  const reference =
    (await findInChain(head, epoch, isMeant, stores)) ??
    (await findStored(sliceId, epoch, isMeant, stores));
  if (reference === null) return null;
  const delta = await readDelta(sliceId, reference, stores);
  return delta === null ? null : { sliceId, base: delta.base, delta: reference };
}

/** HEAD's delta names those of the epochs before it. */
async function findInChain(
  { sliceId, delta }: Head,
  epoch: number,
  isMeant: IsMeant,
  stores: BlobStores,
): Promise<BlobReference | null> {
  const newest = delta === null ? null : await readDelta(sliceId, delta, stores);
  return (
    deltasOf(newest?.predecessors ?? []).find((each) => each.epoch === epoch && isMeant(each)) ??
    null
  );
}

async function findStored(
  sliceId: string,
  epoch: number,
  isMeant: IsMeant,
  stores: BlobStores,
): Promise<BlobReference | null> {
  for (const place of ['item', 'object'] as const) {
    const store = storeOf(stores, place);
    for await (const name of blobNames(store, sliceId, 'delta')) {
      if (name.epoch !== epoch || !isMeant(name)) continue;
      const bytes = await store.read(blobKey(sliceId, name));
      if (bytes !== null) return referenceOf(name, place, bytes);
    }
  }
  return null;
}

async function readDelta(
  sliceId: string,
  reference: BlobReference,
  stores: BlobStores,
): Promise<Delta | null> {
  try {
    return decodeDelta(await readBlob(stores, sliceId, reference), sliceId, reference);
  } catch (fault) {
    if (fault instanceof MissingBlob) return null;
    throw fault;
  }
}
