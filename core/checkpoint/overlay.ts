/**
 * Overlays: what an epoch holds beyond its parts. A reader that shows a few rows builds one from the deltas alone, and seeks into
 * the parts for the rest; what both have of an entry, the overlay has newer.
 *
 *   overlay = where the base stands + what the deltas up to the base say beyond the parts + the deltas after it
 *   whole   = overlay + of the parts what the overlay does not have
 */
import type { Plan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';
import { addPart } from '../state/part-entries.ts';
import type { StoredView } from '../state/view-life.ts';
import { decodeBase } from './base.ts';
import type { Standing } from './base-reader.ts';
import { type BlobStores, readBlob } from './blobs.ts';
import { type ChainLink, continued, deltasOf, linksAfter } from './chain.ts';
import { decodeDelta } from './delta.ts';
import type { Head } from './head.ts';
import { chainSince, type PackedBytes } from './manifest.ts';
import { type BlobReference, blobKey, deltaOf, sameBlob } from './names.ts';
import type { OpenPart } from './open-parts.ts';
import { readPart } from './part-reader.ts';
import { READ_AHEAD, readInOrder } from './read-in-order.ts';
import {
  buildOverlay,
  byLinksOrDeltas,
  type Checkpoint,
  decodeLink,
  type EpochReference,
  emptyCheckpoint,
  finish,
  load,
  readDelta,
} from './restore.ts';

/** The overlay at `head`; the image itself where the slice has no base yet. */
export async function restoreOverlay(
  plan: Plan,
  head: Head,
  stores: BlobStores,
): Promise<Checkpoint> {
  const checkpoint = await loadOverlay(plan, head, stores);
  return head.delta === null ? checkpoint : finish(head, checkpoint);
}

/** The same at an epoch, checked against the references' checksums only. */
export async function loadOverlay(
  plan: Plan,
  { sliceId, base, delta }: EpochReference,
  stores: BlobStores,
): Promise<Checkpoint> {
  if (delta === null) return emptyCheckpoint(plan);
  if (base === null) return load(plan, { sliceId, base, delta }, stores);
  const newestBytes = await readBlob(stores, sliceId, delta);
  const { predecessors, merged } = decodeDelta(newestBytes, sliceId, delta);
  const chain = continued(predecessors, merged, delta);
  // What follows the base is needed in any case: the first of it is on its way while the manifest is.
  const coming = new Map<string, Promise<Uint8Array>>();
  for (const link of (linksAfter(chain, base.epoch) ?? []).slice(0, READ_AHEAD)) {
    if (sameBlob(link, delta)) continue;
    const bytes = readBlob(stores, sliceId, link);
    bytes.catch(() => {});
    coming.set(blobKey(sliceId, link), bytes);
  }
  const bytesOf = (link: ChainLink) => {
    if (sameBlob(link, delta)) return newestBytes;
    const key = blobKey(sliceId, link);
    const bytes = coming.get(key) ?? readBlob(stores, sliceId, link);
    coming.delete(key);
    return bytes;
  };
  const read = async (link: ChainLink) => decodeLink(await bytesOf(link), sliceId, link);
  const standing = () => standingOf(sliceId, base, chain, stores);
  return byLinksOrDeltas(sliceId, chain, stores, {
    since: async () => chainSince((await standing()).manifest),
    build: async (links) => buildOverlay(plan, await standing(), links, read),
  });
}

/** From the delta that the base was written with, since it has no parts in it; where the chain leaves that out, from the base. */
async function standingOf(
  sliceId: string,
  base: BlobReference,
  chain: readonly ChainLink[],
  stores: BlobStores,
): Promise<Standing> {
  const name = deltasOf(chain).find((delta) => sameBlob(delta, deltaOf(base)));
  if (name === undefined) return decodeBase(await readBlob(stores, sliceId, base), sliceId, base);
  const { epoch, planHash, manifest, change } = await readDelta(sliceId, name, stores);
  if (manifest === null) {
    throw new CorruptStateFault(`delta ${epoch} of ${sliceId} lacks the manifest of its base`);
  }
  return { sliceId, epoch, planHash, manifest, reference: base, state: change };
}

/** A part that has bytes. */
export interface StoredPart extends OpenPart {
  readonly bytes: PackedBytes;
  readonly stored: StoredView;
}

export function hasBytes(part: OpenPart): part is StoredPart {
  return part.bytes !== null;
}

/** The whole image. Where this throws, the overlay holds more than before, and goes on being one. */
export async function completeOverlay(
  sliceId: string,
  overlay: Checkpoint,
  stores: BlobStores,
): Promise<Checkpoint> {
  const { image, parts } = overlay;
  const stored = parts.views.flat().filter(hasBytes);
  const read = ({ bytes }: StoredPart) => readPart(sliceId, bytes, stores);
  for await (const [{ stored: layout, entryCount, from }, bytes] of readInOrder(stored, read)) {
    const found = addPart(image, layout, bytes, from);
    if (found !== entryCount) {
      throw new CorruptStateFault(
        `a part of ${sliceId} has ${found} entries, not ${entryCount} as its manifest says`,
      );
    }
  }
  image.isOverlay = false;
  return { ...overlay };
}
