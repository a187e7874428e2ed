/**
 * Retention: which blobs of a slice nobody needs any more. A floor, at least one whole base behind, becomes the limit
 * below which deltas, bases and runs that no kept base lists may go once HEAD has named it for longer than any invocation or reader lasts. Orphans go the
 * same way, when the limit passes the epoch that they were meant for.
 *
 *   base 3 ──────────── base 9 ──────────── base 17 (HEAD)
 *   floor, after the flip of 17, is 9: fallback and slow readers still find base 9 and the deltas after it
 */
import type { Floor, Head } from './head.ts';
import type { Manifest } from './manifest.ts';
import { type BlobName, sameBlob } from './names.ts';

export interface FloorDecision {
  readonly collectBelow: number;
  readonly floor: Floor;
}

/** Moves the floor when a base is written: `previousBaseEpoch` is whole and one base behind the new one. */
export function decideFloor(
  head: Pick<Head, 'collectBelow' | 'floor'>,
  previousBaseEpoch: number,
  nowMs: number,
  graceMs: number,
): FloorDecision {
  const { collectBelow, floor } = head;
  const pending = floor.epoch > collectBelow;
  if (!pending) return { collectBelow, floor: { epoch: previousBaseEpoch, sinceMs: nowMs } };
  if (nowMs - floor.sinceMs < graceMs) return { collectBelow, floor };
  return { collectBelow: floor.epoch, floor: { epoch: previousBaseEpoch, sinceMs: nowMs } };
}

/** True if no reader, restore or fallback can reach the blob. `manifest` is that of HEAD's base. */
export function isCollectable(name: BlobName, collectBelow: number, manifest: Manifest): boolean {
  if (name.epoch >= collectBelow) return false;
  if (name.kind !== 'run') return true;
  if (manifest.runs.some((run) => sameBlob(run, name))) return false;
  return !manifest.absorbed.some(({ run, epoch }) => sameBlob(run, name) && epoch > collectBelow);
}
