/**
 * What HEAD promises to keep, held against the bases that its epochs really have: going back must be possible to each of them
 * that is not below the floor, and to where a rollback goes on from, whether or not anybody ever goes back.
 */
import { type BlobStores, storeOf } from '../core/checkpoint/blobs.ts';
import type { Head } from '../core/checkpoint/head.ts';
import type { Manifest } from '../core/checkpoint/manifest.ts';
import { type BlobReference, blobKey } from '../core/checkpoint/names.ts';
import { comparePositions, type Position, START } from '../core/position.ts';

/** A base of an epoch, or of one that the epoch goes on from. */
export interface KeptBase {
  readonly base: BlobReference;
  readonly manifest: Manifest;
  readonly cursor: Position;
}

/** The promise that is broken; null if none. `bases`: those of HEAD's epoch, the oldest first. */
export async function brokenRetention(
  head: Head,
  bases: readonly KeptBase[],
  blobs: BlobStores,
): Promise<string | null> {
  const { collectBelow, replayFrom, floor, previous } = head;
  for (const epoch of [collectBelow, floor.epoch]) {
    if (epoch === 0 || bases.some(({ base }) => base.epoch === epoch)) continue;
    return `a floor at epoch ${epoch}, which HEAD's epoch does not go on from`;
  }
  const oldest = bases.find(({ base }) => base.epoch === collectBelow);
  if (comparePositions(replayFrom, oldest?.cursor ?? START) > 0) {
    return `the stream may be trimmed up to ${replayFrom.sequenceNumber}, beyond the base of epoch ${collectBelow}`;
  }
  if (previous !== null && (previous.base?.epoch ?? 0) < collectBelow) {
    return `a rollback goes on from a base of epoch ${previous.base?.epoch ?? 0}, below the floor`;
  }
  for (const { base, manifest } of bases) {
    if (base.epoch < collectBelow) continue;
    for (const blob of [base, ...manifest.runs]) {
      const key = blobKey(head.sliceId, blob);
      if ((await storeOf(blobs, blob.place).readRange(key, 0, 1)) === null)
        return `${key} of the kept base ${base.epoch} is gone`;
    }
  }
  return null;
}
