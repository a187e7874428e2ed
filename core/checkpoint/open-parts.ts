/**
 * The parts of a memory's open state, and which of them deltas have touched since the epochs that they stand for: what a commit
 * writes anew follows from manifest and chain, whichever environment commits.
 */
import { compareBound, type EntryBound } from '../state/entry-bound.ts';
import { viewOfLife } from '../state/part-entries.ts';
import type { ChangedWindow } from '../state/recent-changes.ts';
import type { SliceImage } from '../state/slice-image.ts';
import { isSameLife, type StoredView, type ViewLife } from '../state/view-life.ts';
import type { LostRows, Manifest, PackedBytes } from './manifest.ts';
import { OpenIds } from './open-ids.ts';

export interface OpenPart {
  readonly from: EntryBound | null;
  readonly epoch: number;
  readonly entryCount: number;
  readonly bytes: PackedBytes | null;
  /** By which its entries are written; null where it has none. */
  readonly stored: StoredView | null;
  /** A delta after its epoch has an entry in its range. */
  isTouched: boolean;
}

/** What a delta that is being written touches. */
export type Touched = ReadonlySet<OpenPart>;

export class OpenParts {
  /** By view of the plan, each in the order of its ranges: from the view's drained bound on, they leave nothing out. */
  readonly views: OpenPart[][];
  readonly ids: OpenIds;
  /** By view of the plan. */
  readonly lost: LostRows[][];
  /** Of each view, the life whose parts these are. */
  readonly #lives: (ViewLife | null)[];

  /** Of an image that has nothing of the views at `epoch`. */
  constructor(image: SliceImage, epoch: number) {
    this.views = image.plan.views.map(() => [emptyPart(epoch)]);
    this.ids = new OpenIds(image, epoch);
    this.lost = image.plan.views.map(() => []);
    this.#lives = image.lives.slice();
  }

  /** What a base of `epoch` lists, also of what the image need not keep any more. A part that still stands for an epoch before was touched since, whatever became of its range. */
  adopt(manifest: Manifest, image: SliceImage, epoch: number): void {
    const byView: OpenPart[][] = this.views.map(() => []);
    const viewOf = manifest.layouts.map((layout) => viewOfLife(image, layout));
    for (const reference of manifest.parts) {
      const view = viewOf[reference.layout] as number;
      const stored = manifest.layouts[reference.layout] as StoredView;
      byView[view]?.push({ ...reference, stored, isTouched: reference.epoch < epoch });
    }
    for (const [view, parts] of byView.entries()) {
      if (parts.length === 0) parts.push(emptyPart(epoch));
      // What comes before the first range is in runs.
      image.forgetDrained(view, parts[0]?.from ?? null);
      this.views[view] = parts;
    }
    for (const rows of this.lost) rows.length = 0;
    for (const { layout, from, to, epoch: lostWith } of manifest.lost) {
      this.lost[viewOf[layout] as number]?.push({ from, to, epoch: lostWith });
    }
    this.ids.adopt(manifest.ids, image);
    for (const view of this.#lives.keys()) this.#lives[view] = image.lives[view] ?? null;
  }

  /** The image has followed a delta, in which a view may have begun another life: what was stored before is none of it. */
  follow(image: SliceImage, epoch: number): void {
    this.ids.follow(image, epoch);
    for (const view of this.views.keys()) {
      const life = image.lives[view] ?? null;
      const known = this.#lives[view] ?? null;
      const goesOn = life === known || (life !== null && known !== null && isSameLife(life, known));
      this.#lives[view] = life;
      if (goesOn) continue;
      this.views[view] = [{ ...emptyPart(epoch - 1), isTouched: true }];
      this.lost[view] = [];
    }
  }

  /** The part whose range an entry lies in. */
  partOf(view: number, windowStartMs: number, key: Uint8Array): OpenPart {
    const parts = this.views[view] as OpenPart[];
    return parts[indexOf(parts, windowStartMs, key)] as OpenPart;
  }

  /** A delta after the base has this entry. */
  noteEntry(view: number, windowStartMs: number, key: Uint8Array): void {
    this.partOf(view, windowStartMs, key).isTouched = true;
  }

  /** What a delta with these entries will touch. */
  touchedBy(windows: readonly ChangedWindow[]): Touched {
    const touched = new Set<OpenPart>();
    for (const { view, windowStartMs, keys, ordinals } of windows) {
      const parts = this.views[view] as OpenPart[];
      const first = indexOf(parts, windowStartMs, FIRST_KEY);
      const isCut = parts[first + 1]?.from?.windowStartMs === windowStartMs;
      if (!isCut) touched.add(parts[first] as OpenPart);
      for (const ordinal of isCut ? ordinals : []) {
        touched.add(parts[indexOf(parts, windowStartMs, keys.keyAt(ordinal))] as OpenPart);
      }
    }
    return touched;
  }

  /** The delta of this epoch is committed. */
  add(touched: Touched, image: SliceImage, epoch: number): void {
    for (const part of touched) part.isTouched = true;
    this.ids.follow(image, epoch);
  }
}

const FIRST_KEY = new Uint8Array();

function emptyPart(epoch: number): OpenPart {
  return { from: null, epoch, entryCount: 0, bytes: null, stored: null, isTouched: false };
}

/** The last part that begins at or before the entry. */
function indexOf(parts: readonly OpenPart[], windowStartMs: number, key: Uint8Array): number {
  let [low, high] = [0, parts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    const { from } = parts[middle] as OpenPart;
    if (from !== null && compareBound(from, windowStartMs, key) > 0) high = middle - 1;
    else low = middle;
  }
  return low;
}
