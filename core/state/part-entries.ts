/**
 * Building an image at the epoch of a base: from parts, each of which stands for an epoch at or before it, and from the deltas
 * between. Nothing here moves the image's progress, which is the base's, nor its drained bounds: what lies before them is left
 * out, whenever it comes.
 *
 *   part (epoch 3) ── delta 4 ── delta 5 ── delta 6 = base        of each entry, the newest of these counts
 *   part (epoch 5) ── ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ delta 6 = base        deltas up to 5 say nothing new of this part's range
 */
import { ByteReader, type ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import {
  type ChangeObserver,
  type ChangeTail,
  decodeTails,
  type TailCoverage,
  uncovered,
} from './change-tail.ts';
import { type StoredLayout, storedLayout } from './column-layout.ts';
import { hasSameIds } from './dedupe-life.ts';
import { compareBound, type EntryBound } from './entry-bound.ts';
import { LEDGER_VIEW } from './quarantine-ledger.ts';
import type { SliceImage } from './slice-image.ts';
import {
  type ChangeVisitor,
  decodeChange,
  decodeWindow,
  encodeWindow,
  type WindowSource,
} from './state-change.ts';
import { putOpen, readOpen } from './stored-entry.ts';
import { isSameLife, type StoredView } from './view-life.ts';
import type { ViewTable } from './view-table.ts';
import type { WindowLoad } from './window-load.ts';

/** A part's bytes: its entries by window, then by key. `windows` ascend, and so do the ordinals of each by key. */
export function encodePart(windows: readonly WindowSource[], writer: ByteWriter): void {
  writer.varint(windows.length);
  for (const window of windows) encodeWindow(window, writer, 'as-it-comes');
}

/** How many keys a window will have, by its start; of most that is not known. */
export type RoomByWindow = Pick<ReadonlyMap<number, number>, 'get'>;

const NO_ROOM: RoomByWindow = new Map();

/**
 * Adds a part's entries to an image that has none of its range, which begins at `from` (null: anywhere); how many entries its
 * bytes have, those before the range too. What an overlay has of the range is newer, and stays.
 */
export function addPart(
  image: SliceImage,
  stored: StoredView,
  bytes: Uint8Array,
  from: EntryBound | null,
  room: RoomByWindow = NO_ROOM,
): number {
  const target = targetOf(image, stored);
  const reader = new ByteReader(bytes);
  const windowCount = reader.varint();
  let entryCount = 0;
  for (let window = 0; window < windowCount; window++) {
    if (target === null) entryCount += passWindow(reader);
    else entryCount += addWindow(image, target, { bytes, reader, from }, room);
  }
  reader.end();
  return entryCount;
}

/** A part on its way into an image. */
interface PartBytes {
  readonly bytes: Uint8Array;
  readonly reader: ByteReader;
  readonly from: EntryBound | null;
}

function addWindow(
  image: SliceImage,
  { table, layout }: Target,
  { bytes, reader, from }: PartBytes,
  room: RoomByWindow,
): number {
  const windowStartMs = reader.signedVarint();
  const count = reader.varint();
  let load: WindowLoad | null = null;
  for (let entry = 0; entry < count; entry++) {
    const start = reader.passBytes();
    const end = reader.offset;
    const isIn =
      (load !== null && !image.isOverlay) ||
      isWanted(image, table, from, windowStartMs, bytes.subarray(start, end));
    if (!isIn) {
      reader.passBytes();
      continue;
    }
    const most = Math.min(count - entry, reader.remaining);
    load ??= table.load(windowStartMs, most, image.isOverlay);
    readOpen(table, load.add(bytes, start, end), reader, layout.columns);
  }
  load?.end(room.get(windowStartMs) ?? 0);
  return count;
}

function isWanted(
  image: SliceImage,
  table: ViewTable,
  from: EntryBound | null,
  windowStartMs: number,
  key: Uint8Array,
): boolean {
  if (from !== null && compareBound(from, windowStartMs, key) > 0) return false;
  return !(image.isOverlay && table.find(windowStartMs, key) >= 0);
}

function passWindow(reader: ByteReader): number {
  let count = 0;
  decodeWindow(reader, (_windowStartMs, _key, ahead) => {
    count++;
    ahead.passBytes();
  });
  return count;
}

/** What of the links up to a base is in its parts and runs already. */
export interface Coverage extends TailCoverage {
  /** True if the part of the entry's range stands for the link's epoch or a later one. */
  readonly hasEntry: (view: number, windowStartMs: number, key: Uint8Array) => boolean;
}

/** A change as a link of the chain has it. */
export interface OlderChange {
  readonly epoch: number;
  readonly change: ByteReader;
  readonly tails: readonly ChangeTail[];
}

/** Adds what a link up to the base says beyond parts and runs, links in their order. */
export function addOlderChange(
  image: SliceImage,
  { epoch, change, tails }: OlderChange,
  covered: Coverage,
  observer: ChangeObserver,
): void {
  let targets: readonly (Target | null)[] = [];
  const visitor: ChangeVisitor = {
    progress: () => {},
    views: (stored) => {
      targets = stored.map((each) => targetOf(image, each));
    },
    entry: (from, section, windowStartMs, key, ahead) => {
      const target = targets[from] ?? null;
      if (target === null) {
        ahead.bytes();
        return;
      }
      const { view, table, layout } = target;
      if (section === 'late') {
        const accumulators = layout.own(ahead.bytes()).slice();
        image.addLateEntry(view, { windowStartMs, key: key.slice(), accumulators });
      } else if (image.drained.has(view, windowStartMs, key)) {
        ahead.bytes();
      } else if (covered.hasEntry(view, windowStartMs, key)) {
        ahead.bytes();
        if (!image.isOverlay && table.find(windowStartMs, key) < 0) {
          throw new CorruptStateFault(
            `a part of view '${table.view.name}' lacks an entry that a delta before it has`,
          );
        }
      } else {
        const ordinal = putOpen(table, windowStartMs, key, ahead, layout.columns);
        observer.noteEntry(view, windowStartMs, key, ordinal);
      }
    },
    dedupe: (life, ids) => {
      if (hasSameIds(life, image.dedupe)) image.addIds(ids);
      else throw new CorruptStateFault('a delta before a base has dedupe ids of another field');
    },
    quarantined: () => {},
    tail: (bytes) => observer.noteTail(epoch, bytes),
  };
  decodeChange(change, uncovered(epoch, covered, visitor));
  change.end();
  decodeTails(tails, targets.length, covered, visitor, observer);
}

/** The view of the image that this is, in the same life; −1: none. */
export function viewOfLife(image: SliceImage, stored: StoredView): number {
  const isLedger = stored.hash === LEDGER_VIEW.hash;
  return image.views.findIndex((view, index) => {
    const life = image.lives[index] ?? null;
    return (view === LEDGER_VIEW) === isLedger && life !== null && isSameLife(life, stored);
  });
}

interface Target {
  readonly view: number;
  readonly table: ViewTable;
  readonly layout: StoredLayout;
}

function targetOf(image: SliceImage, stored: StoredView): Target | null {
  const view = viewOfLife(image, stored);
  const table = image.tables[view];
  const life = image.lives[view];
  if (table === undefined || life === null || life === undefined) return null;
  return { view, table, layout: storedLayout(stored, table.view, life) };
}
