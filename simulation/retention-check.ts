/**
 * What HEAD promises to keep, held against the bases that its epochs really have: going back must be possible to each of them
 * that is not below the floor, and to where a rollback goes on from, whether or not anybody ever goes back.
 */
import { type BlobStores, storeOf } from '../core/checkpoint/blobs.ts';
import type { Head } from '../core/checkpoint/head.ts';
import { chainSince, type Manifest, packsOf } from '../core/checkpoint/manifest.ts';
import { type BlobReference, blobKey } from '../core/checkpoint/names.ts';
import { comparePositions, type Position, START } from '../core/position.ts';

/** A base of an epoch, or of one that the epoch goes on from. */
export interface KeptBase {
  readonly base: BlobReference;
  readonly manifest: Manifest;
  readonly cursor: Position;
  /** The base's own delta, and those before it that it may need. */
  readonly deltas: readonly BlobReference[];
}

/** The promise that is broken; null if none. `bases`: those of HEAD's epoch, the oldest first. */
export async function brokenRetention(
  head: Head,
  bases: readonly KeptBase[],
  blobs: BlobStores,
): Promise<string | null> {
  const { collectBelow, replayFrom, floor, previous } = head;
  for (const { epoch, cursor } of [{ epoch: collectBelow, cursor: replayFrom }, floor]) {
    const isOne = ({ manifest, cursor: at }: KeptBase) =>
      chainSince(manifest) === epoch && comparePositions(at, cursor) === 0;
    if (epoch === 0 || bases.some(isOne)) continue;
    return `a floor at epoch ${epoch} and ${cursor.sequenceNumber}, which is that of no base`;
  }
  if (collectBelow === 0 && comparePositions(replayFrom, START) > 0) {
    return `the stream may be trimmed up to ${replayFrom.sequenceNumber}, beyond the beginning`;
  }
  if (previous !== null && previous.chainSince < collectBelow) {
    return `a rollback goes on from the deltas after epoch ${previous.chainSince}, below the floor`;
  }
  for (const kept of bases) {
    if (!isPromised(head, kept)) continue;
    const { base } = kept;
    for (const blob of [...neededBy(kept), ...kept.manifest.runs]) {
      const key = blobKey(head.sliceId, blob);
      if ((await storeOf(blobs, blob.place).readRange(key, 0, 1)) === null)
        return `${key} of the kept base ${base.epoch} is gone`;
    }
  }
  return null;
}

/** True of a base that a fallback may go to. */
function isPromised({ collectBelow, replayFrom }: Head, { manifest, cursor }: KeptBase): boolean {
  return chainSince(manifest) >= collectBelow && comparePositions(cursor, replayFrom) >= 0;
}

/** What a restore of the base's epoch reads. */
function neededBy({ base, manifest, deltas }: KeptBase): BlobReference[] {
  const since = chainSince(manifest);
  return [base, ...packsOf(manifest), ...deltas.filter(({ epoch }) => epoch > since)];
}
