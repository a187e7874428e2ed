/**
 * The parts that a commit writes anew, as the pack of its base, and where all others are from then on.
 *
 * Of the parts that deltas have touched those that stand for the oldest epochs come first, until the commit's budget of bytes
 * is used up. A part that no delta has touched moves on as it is, and stands for the new epoch. So no commit writes more for a
 * larger state, and the chain begins where the oldest touched part stands.
 *
 * What is left of the budget goes to parts of which the floor and HEAD have the same bytes: one damaged pack must not leave a
 * fallback without an epoch that is whole.
 */
import { ByteWriter } from '../bytes.ts';
import type { Knobs } from '../knobs.ts';
import { compareBound, type EntryBound, laterBound } from '../state/entry-bound.ts';
import { encodePart } from '../state/part-entries.ts';
import type { SliceState } from '../state/slice-state.ts';
import type { WindowSource } from '../state/state-change.ts';
import type { ViewTable } from '../state/view-table.ts';
import { IdWriter } from './id-writer.ts';
import { Layouts } from './layouts.ts';
import type { Manifest, PartReference } from './manifest.ts';
import type { BlobReference } from './names.ts';
import type { OpenPart, OpenParts, Touched } from './open-parts.ts';
import { PackWriter, type RewriteTask, type WriteLimits } from './pack-writer.ts';

export interface PartsRequest {
  readonly epoch: number;
  /** Bytes that are written anew, about. */
  readonly budget: number;
  /** The base that is being written, by a reference whose checksum is not known yet. */
  readonly pack: BlobReference;
  /** What lies in a pack of this epoch or before may be the same bytes that a fallback needs. */
  readonly loneUntil: number;
  /** The drained bound of each view: what lies before it is in no part from now on. */
  readonly bounds: readonly (EntryBound | null)[];
}

export interface WrittenParts extends Pick<Manifest, 'layouts' | 'parts' | 'ids' | 'lost'> {
  /** What was written anew, one behind the other. */
  readonly bytes: Uint8Array;
}

export function writeParts(
  state: SliceState,
  open: OpenParts,
  touched: Touched,
  request: PartsRequest,
  knobs: Knobs,
): WrittenParts {
  const { epoch, budget } = request;
  const pack = new PackWriter(request.pack, Math.min(budget, state.image.heapBytes()));
  const layouts = new Layouts();
  const views = open.views.map((parts, view) => {
    return rangesOf(state, view, parts, request.bounds[view] ?? null, touched);
  });
  // What was written whole before is written in pieces, so that it does not outgrow the budget.
  const partBytesMax = Math.min(knobs.partBytesMax, Math.max(1, budget));
  const limits = { epoch, budget, partBytesMax };
  const ids = new IdWriter(state, open.ids, pack, limits, knobs);
  const anew = new Map<OpenPart, PartReference[]>();
  const tasks: RewriteTask[] = views.flat().map((facts) => ({
    isTouched: facts.isTouched,
    isClosing: facts.isClosing,
    epoch: facts.part.epoch,
    bytes: facts.part.bytes,
    run: () => anew.set(facts.part, writePart(state, facts, layouts, pack, limits)),
  }));
  tasks.push(...ids.tasks(request.loneUntil));
  for (const task of inOrder(tasks, request.loneUntil)) {
    if (isFull(pack, budget)) break;
    task.run();
  }
  const parts = views.flatMap((ranges, view) => {
    const references = ranges.flatMap(({ part, from, isTouched }): readonly PartReference[] => {
      const { entryCount, bytes } = part;
      const written = anew.get(part);
      if (written !== undefined) return written;
      const layout = layouts.indexOf(part.stored ?? state.storedView(view));
      return [{ layout, from, epoch: isTouched ? part.epoch : epoch, entryCount, bytes }];
    });
    const bound = request.bounds[view] ?? null;
    return withoutGaps(references, bound, layouts.indexOf(state.storedView(view)), epoch);
  });
  const lost = open.lost.flatMap((rows, view) => {
    return rows.map((each) => ({ layout: layouts.indexOf(state.storedView(view)), ...each }));
  });
  return { bytes: pack.finish(), layouts: layouts.all, parts, ids: ids.finish(), lost };
}

interface RangeFacts {
  readonly view: number;
  readonly part: OpenPart;
  /** Where the range begins: not before the drained bound. */
  readonly from: EntryBound | null;
  /** Where the range ends; null: it does not. */
  readonly next: OpenPart | null;
  readonly isTouched: boolean;
  /** All of its entries are closing: they are about to be drained. */
  readonly isClosing: boolean;
}

/** The ranges of a view that have entries which no run has. */
function rangesOf(
  state: SliceState,
  view: number,
  parts: readonly OpenPart[],
  bound: EntryBound | null,
  touched: Touched,
): RangeFacts[] {
  const { image } = state;
  const starts = (image.tables[view] as ViewTable).windowStarts();
  const kept = starts.filter((startMs) => startMs >= (bound?.windowStartMs ?? startMs));
  return parts.flatMap((part, index): RangeFacts[] => {
    const next = parts[index + 1] ?? null;
    const to = next?.from ?? null;
    const from = laterBound(part.from, bound);
    if (to !== null && from !== null && compareBound(from, to.windowStartMs, to.key) >= 0)
      return [];
    if (isEmpty(kept, from, to)) return [];
    const isTouched = part.isTouched || touched.has(part);
    const isClosing = to !== null && image.isClosing(view, to.windowStartMs);
    return [{ view, part, from, next, isTouched, isClosing }];
  });
}

/** True if no window has entries that the range could have. */
function isEmpty(
  starts: readonly number[],
  from: EntryBound | null,
  to: EntryBound | null,
): boolean {
  const first = from?.windowStartMs ?? Number.NEGATIVE_INFINITY;
  const last = to?.windowStartMs ?? Number.POSITIVE_INFINITY;
  return !starts.some((startMs) => startMs >= first && startMs <= last);
}

/** What deltas have touched, the oldest epoch first, and what is about to be drained last; then what lies alone, the oldest pack first. */
function inOrder(tasks: readonly RewriteTask[], loneUntil: number): RewriteTask[] {
  const packOf = ({ bytes }: RewriteTask) => bytes?.pack.epoch ?? Number.POSITIVE_INFINITY;
  const touched = tasks.filter(({ isTouched }) => isTouched);
  const lone = tasks.filter((task) => !task.isTouched && packOf(task) <= loneUntil);
  return [
    ...touched.sort((a, b) => Number(a.isClosing) - Number(b.isClosing) || a.epoch - b.epoch),
    ...lone.sort((a, b) => packOf(a) - packOf(b)),
  ];
}

/** One part more would take it beyond its budget: a part is written as large as that. */
function isFull({ byteLength }: PackWriter, budget: number): boolean {
  return byteLength > budget / 2 || budget === 0;
}

/**
 * What the range holds now: nothing, one part, or several where it has grown too large for one. Where the budget ends before
 * the range does, the rest of it stands for the epoch that it stood for before.
 */
function writePart(
  state: SliceState,
  { view, part, from: begin, next }: RangeFacts,
  layouts: Layouts,
  pack: PackWriter,
  { epoch, budget, partBytesMax }: WriteLimits,
): PartReference[] {
  const windows = state.between(view, begin, next?.from ?? null);
  const entryCount = countOf(windows);
  if (entryCount === 0) return [];
  const layout = layouts.indexOf(state.storedView(view));
  const pieceCount = Math.ceil((entryCount * bytesAnEntry(windows)) / partBytesMax);
  const written: PartReference[] = [];
  for (const piece of cut(windows, Math.ceil(entryCount / pieceCount))) {
    const from = written.length === 0 ? begin : firstOf(piece);
    if (written.length > 0 && isFull(pack, budget)) {
      const before = layouts.indexOf(part.stored ?? state.storedView(view));
      const { epoch: formerly, entryCount: count, bytes } = part;
      return [...written, { layout: before, from, epoch: formerly, entryCount: count, bytes }];
    }
    const bytes = pack.write((writer) => encodePart(piece, writer));
    written.push({ layout, from, epoch, entryCount: countOf(piece), bytes });
  }
  return written;
}

/** A range that is left out has no entries: that of the part behind it begins where it did. The first begins at the drained bound. */
function withoutGaps(
  parts: readonly PartReference[],
  bound: EntryBound | null,
  layout: number,
  epoch: number,
): PartReference[] {
  const [first, ...rest] = parts;
  if (first === undefined) return [{ layout, from: bound, epoch, entryCount: 0, bytes: null }];
  return [{ ...first, from: bound }, ...rest];
}

function countOf(windows: readonly WindowSource[]): number {
  return windows.reduce((sum, { ordinals }) => sum + (ordinals?.length ?? 0), 0);
}

function firstOf([window]: readonly WindowSource[]): PartReference['from'] {
  const { windowStartMs, keys, ordinals } = window as WindowSource;
  return { windowStartMs, key: keys.keyAt(ordinals?.[0] as number).slice() };
}

/** The same entries in the same order, so many at a time. */
function cut(windows: readonly WindowSource[], count: number): WindowSource[][] {
  const pieces: WindowSource[][] = [];
  let piece: WindowSource[] = [];
  let room = count;
  for (const window of windows) {
    const ordinals = window.ordinals as Uint32Array;
    for (let at = 0; at < ordinals.length; ) {
      const some = ordinals.subarray(at, at + room);
      piece.push({ ...window, ordinals: some });
      at += some.length;
      room -= some.length;
      if (room > 0) continue;
      pieces.push(piece);
      [piece, room] = [[], count];
    }
  }
  if (piece.length > 0) pieces.push(piece);
  return pieces;
}

const SAMPLES = 64;

/** Of entries that are spread over the range. */
function bytesAnEntry(windows: readonly WindowSource[]): number {
  const step = Math.ceil(countOf(windows) / SAMPLES);
  const samples = windows.map((window) => {
    const ordinals = (window.ordinals as Uint32Array).filter((_, index) => index % step === 0);
    return { ...window, ordinals };
  });
  const writer = new ByteWriter(1024);
  encodePart(samples, writer);
  return writer.length / countOf(samples);
}
