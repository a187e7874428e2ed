/**
 * Retention: which blobs of a slice are no longer needed. A floor, at least one whole base behind, becomes the limit
 * below which deltas, bases and runs that no kept base lists may go once HEAD has named it for longer than any invocation or reader lasts. Orphans go the
 * same way, when the limit passes the epoch that they were meant for.
 *
 *   base 3 ──────────── base 9 ──────────── base 17 (HEAD)
 *   floor, after the commit of 17, is 9: fallback and slow readers still find base 9 and the deltas after it
 */
import { beginningNow, hasSurelyPassed, sinceOrNow } from '../elapsed.ts';
import type { Position } from '../position.ts';
import type { Floor, Head, PreviousPlan } from './head.ts';
import { type Manifest, packsOf } from './manifest.ts';
import { type BlobName, sameBlob } from './names.ts';

export interface FloorDecision {
  readonly collectBelow: number;
  readonly replayFrom: Position;
  readonly floor: Floor;
}

/**
 * Moves the floor when a base is written: the base before it is whole, and one base behind the new one. What a rollback to
 * the plan before may need stays, until `previous` is forgotten.
 */
export function decideFloor(
  head: Pick<
    Head,
    'collectBelow' | 'replayFrom' | 'floor' | 'chainSince' | 'baseCursor' | 'deliveredArrivalMs'
  >,
  previous: PreviousPlan | null,
  nowMs: number,
  graceMs: number,
): FloorDecision {
  const { collectBelow, replayFrom, floor } = head;
  const beginsMs = beginningNow(nowMs, head.deliveredArrivalMs);
  const next = { epoch: head.chainSince, cursor: head.baseCursor, sinceMs: beginsMs };
  if (floor.epoch <= collectBelow) return { collectBelow, replayFrom, floor: next };
  const isNeeded = previous !== null && floor.epoch > previous.chainSince;
  if (isNeeded || !hasSurelyPassed(floor.sinceMs, graceMs, nowMs)) {
    const sinceMs = sinceOrNow(floor.sinceMs, nowMs);
    return { collectBelow, replayFrom, floor: { ...floor, sinceMs } };
  }
  return { collectBelow: floor.epoch, replayFrom: floor.cursor, floor: next };
}

/** The plan before this one, while a rollback to it may still go on from where it was left. */
export function decidePrevious(
  { previous }: Pick<Head, 'previous'>,
  nowMs: number,
  rollbackGraceMs: number,
): PreviousPlan | null {
  if (previous === null || hasSurelyPassed(previous.sinceMs, rollbackGraceMs, nowMs)) return null;
  return { ...previous, sinceMs: sinceOrNow(previous.sinceMs, nowMs) };
}

/** True if no reader, restore or fallback can reach the blob. `manifest` is that of HEAD's base. */
export function isCollectable(name: BlobName, collectBelow: number, manifest: Manifest): boolean {
  if (name.epoch >= collectBelow) return false;
  if (name.kind === 'delta') return true;
  if ([...manifest.runs, ...packsOf(manifest)].some((blob) => sameBlob(blob, name))) return false;
  return !manifest.replaced.some(({ blob, epoch }) => sameBlob(blob, name) && epoch > collectBelow);
}
