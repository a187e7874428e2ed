/**
 * What a memory has folded beyond the committed image: the entries it touched (absolute values), late partials, new
 * dedupe ids, quarantined records. Dropping it gives the image back; absorbing it makes the next image.
 */
import { DedupeIds } from './dedupe-ids.ts';
import type { SliceImage } from './slice-image.ts';
import { copyProgress, type FoldProgress, type QuarantineEntry } from './state-change.ts';
import { ViewTable } from './view-table.ts';

export class Overlay {
  /** Entries touched since the image, by index of the image's views. */
  readonly tables: readonly ViewTable[];
  /** Partials of records that came after their window had closed. */
  readonly late: readonly ViewTable[];
  readonly dedupeIds = new DedupeIds();
  readonly quarantined: QuarantineEntry[] = [];
  progress: FoldProgress;

  constructor(image: SliceImage) {
    this.tables = image.views.map((view) => new ViewTable(view));
    this.late = image.views.map((view) => new ViewTable(view));
    this.progress = copyProgress(image.progress);
  }

  /** Back to what the image says. */
  reset(image: SliceImage): void {
    for (const table of this.tables) table.clear();
    for (const table of this.late) table.clear();
    this.dedupeIds.clear();
    this.quarantined.length = 0;
    this.progress = copyProgress(image.progress);
  }

  heapBytes(): number {
    let bytes = this.dedupeIds.heapBytes();
    for (const table of this.tables) bytes += table.heapBytes();
    for (const table of this.late) bytes += table.heapBytes();
    for (const { data } of this.quarantined) bytes += data.length + 300;
    return bytes;
  }
}
