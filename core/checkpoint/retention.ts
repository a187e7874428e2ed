/**
 * Retention: which blobs of a slice are no longer needed. A floor, at least one whole base behind, becomes the limit
 * below which deltas, bases and runs that no kept base lists may go once HEAD has named it for longer than any invocation or reader lasts. Orphans go the
 * same way, when the limit passes the epoch that they were meant for.
 *
 *   base 3 ──────────── base 9 ──────────── base 17 (HEAD)
 *   floor, after the commit of 17, is what base 9 needs (9, where all of its parts were written with it): fallback and slow readers still find base 9 and the deltas after it
 */
import { beginningNow, hasSurelyPassed, sinceOrNow } from '../elapsed.ts';
import type { Position } from '../position.ts';
import type { Floor, Head, PreviousPlan } from './head.ts';
import { type Manifest, packsOf } from './manifest.ts';
import { type BlobName, blobKey } from './names.ts';

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

/** Which blobs a manifest keeps, whatever their epoch, where all below a limit may go. */
export class KeptBlobs {
  readonly #keys: ReadonlySet<string>;
  readonly #collectBelow: number;

  /** `manifest` is that of HEAD's base. */
  constructor(manifest: Manifest, collectBelow: number) {
    const replaced = manifest.replaced.filter(({ epoch }) => epoch > collectBelow);
    const kept = [...manifest.runs, ...packsOf(manifest), ...replaced.map(({ blob }) => blob)];
    this.#keys = new Set(kept.map((blob) => blobKey('', blob)));
    this.#collectBelow = collectBelow;
  }

  /** True if no reader, restore or fallback can reach the blob. */
  isCollectable(name: BlobName): boolean {
    if (name.epoch >= this.#collectBelow) return false;
    const isOfChain = name.kind === 'delta' || name.kind === 'merged';
    return isOfChain || !this.#keys.has(blobKey('', name));
  }
}
