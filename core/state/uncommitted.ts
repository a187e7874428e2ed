/**
 * What a memory has folded since its last commit, beside the entries that it touched in place: where the fold stands, late
 * partials, new dedupe ids, quarantined records.
 */
import { DedupeIds } from './dedupe-ids.ts';
import type { SliceImage } from './slice-image.ts';
import { copyProgress, type FoldProgress, type QuarantineEntry } from './state-change.ts';
import { ViewTable } from './view-table.ts';

export class Uncommitted {
  /** Partials of records that came after their window had closed, by index of the image's views. */
  readonly late: readonly ViewTable[];
  readonly dedupeIds = new DedupeIds();
  readonly quarantined: QuarantineEntry[] = [];
  progress: FoldProgress;
  /** What a commit that is under way is to commit, and this one was folded after. */
  predecessor: Uncommitted | null;
  /** The position is not the last of its Kinesis record: what follows is inside the same one, up to `lastSubSequence`. */
  isInside = false;
  lastSubSequence = 0;

  /** Of what is folded on top of the image, or of what a commit that is under way is to commit. */
  constructor(image: SliceImage, predecessor: Uncommitted | null = null) {
    this.predecessor = predecessor;
    this.late = image.views.map((view) => new ViewTable(view));
    this.progress = copyProgress((predecessor ?? image).progress);
  }

  /** True if the id (four words of its hash) came since the last commit and is still kept. */
  hasId(id: Uint32Array, expiredMs: number): boolean {
    return this.dedupeIds.has(id, expiredMs) || (this.predecessor?.hasId(id, expiredMs) ?? false);
  }

  /** Ids that came since the last commit. */
  allIds(): DedupeIds[] {
    return [...(this.predecessor?.allIds() ?? []), this.dedupeIds];
  }

  /** Nothing is uncommitted. */
  reset(image: SliceImage): void {
    for (const table of this.late) table.clear();
    this.dedupeIds.clear();
    this.quarantined.length = 0;
    this.progress = copyProgress(image.progress);
    this.isInside = false;
  }

  heapBytes(): number {
    let bytes = this.dedupeIds.heapBytes();
    for (const table of this.late) bytes += table.heapBytes();
    for (const { data } of this.quarantined) bytes += data.length + 300;
    return bytes;
  }
}
