/**
 * The rows of a view at one snapshot: what each slice holds of a group is a partial, and readers always merge. Open entries
 * come from the images, closed ones from the images too (since the newest base) and from runs (before it).
 *
 * In the order of keys only the first rows are merged, and runs are read no further than they reach. In the order of a
 * value every row has to be merged before the first is known; memory for that is bounded.
 */
import { compareBytes } from '../bytes.ts';
import { MissingBlob } from '../checkpoint/blobs.ts';
import type { RunReference } from '../checkpoint/manifest.ts';
import type { Checkpoint } from '../checkpoint/restore.ts';
import type { RunCache } from '../checkpoint/run-cache.ts';
import { CorruptStateFault } from '../faults.ts';
import { ORDERED_ROWS_BYTES_MAX } from '../limits.ts';
import type { ClosedEntry } from '../state/closed-entries.ts';
import { decodeGroupKey, encodeGroupKey, type GroupValue } from '../state/group-key.ts';
import type { ViewLife } from '../state/view-life.ts';
import { ViewTable } from '../state/view-table.ts';
import type { DamagedRun } from './damaged-runs.ts';
import { FirstItems } from './first-items.ts';
import { ENTRIES_BETWEEN_PAUSES, NO_PAUSES, type Pace } from './pace.ts';
import { refuse } from './query-problem.ts';
import { keyRanges, selectsKey, selectsWindow, wantedKeys } from './row-filter.ts';
import type { PinnedSlice, RowPosition } from './snapshot-token.ts';
import type { RowOrder, ViewRequest } from './view-request.ts';

/** One slice's part of a snapshot. Its image stays as it is until the promise of `readRows` has settled. */
export interface SlicePart {
  readonly pinned: Pick<PinnedSlice, 'sliceId'>;
  readonly checkpoint: Checkpoint;
}

export interface ViewRow {
  readonly values: readonly GroupValue[];
  readonly results: ReturnType<ViewTable['results']>;
  readonly position: RowPosition;
}

export interface RowPage {
  readonly rows: readonly ViewRow[];
  /** Rows follow the last of these. */
  readonly hasMore: boolean;
  /** Runs that could not be read. */
  readonly damaged: readonly DamagedRun[];
}

/** How runs are read: what cannot be is left out and named, or thrown. */
export interface RunReading {
  readonly runs: RunCache;
  /** Of a run that is not there: false if it may have been collected, so that the caller takes a newer snapshot. */
  readonly isLost: (sliceId: string, run: RunReference) => boolean;
  readonly pace?: Pace;
}

/** The first `limit` rows, after those that `next` has had. Throws `Refused` where an order takes too much memory. */
export function readRows(
  request: ViewRequest,
  parts: readonly SlicePart[],
  reading: RunReading,
  orderedBytesMax = ORDERED_ROWS_BYTES_MAX,
): Promise<RowPage> {
  if (request.order === null) return rowsByKey(request, parts, reading);
  const all = mergeAll(request, parts, reading, orderedBytesMax);
  return rowsByValue(request, request.order, all, reading.pace ?? NO_PAUSES);
}

interface OpenEntry {
  readonly windowStartMs: number;
  readonly key: Uint8Array;
  readonly table: ViewTable;
  readonly slot: number;
}

/** What one slice holds of a row. */
type RowPart = OpenEntry | ClosedEntry;

async function rowsByKey(
  request: ViewRequest,
  parts: readonly SlicePart[],
  reading: RunReading,
): Promise<RowPage> {
  const { view, limit, next } = request;
  const first = new FirstItems<RowPart>(limit + 1, compareKeys);
  const isPast = (entry: RowPart) => next !== null && compareKeys(entry, next.after) <= 0;
  const add = (entry: RowPart) => isPast(entry) || first.add(entry);
  for (const part of parts) {
    const portions = eachOpen(request, part, (windowStartMs, key, table, slot) => {
      add({ windowStartMs, key, table, slot });
    });
    for (const _ of portions) await reading.pace?.pause();
  }
  const damaged = await eachClosed(request, parts, reading, next?.after.key ?? null, add);
  const places = first.places();
  const scratch = new ViewTable(view);
  const [sum, other] = [Uint8Array.of(0), Uint8Array.of(1)].map((key) =>
    scratch.insert(0, key),
  ) as [number, number];
  const rows = places.slice(0, limit).map((rowParts) => {
    const [head, ...rest] = rowParts as [RowPart, ...RowPart[]];
    put(scratch, sum, head);
    for (const part of rest) {
      put(scratch, other, part);
      scratch.mergeFrom(sum, scratch, other);
    }
    const { key, windowStartMs } = head;
    return {
      values: decodeGroupKey(key),
      results: scratch.results(sum),
      position: { value: null, key, windowStartMs },
    };
  });
  return { rows, hasMore: places.length > limit, damaged };
}

function put(scratch: ViewTable, slot: number, part: RowPart): void {
  if ('table' in part) scratch.copyFrom(slot, part.table, part.slot);
  else scratch.decode(slot, part.accumulators);
}

interface Candidate extends RowPosition {
  readonly slot: number;
}

async function rowsByValue(
  request: ViewRequest,
  order: RowOrder,
  all: Promise<MergedRows>,
  pace: Pace,
): Promise<RowPage> {
  const { limit, next } = request;
  const { merged, damaged } = await all;
  const compare = comparePositions(order);
  const first = new FirstItems<Candidate>(limit + 1, compare);
  let visited = 0;
  for (const windowStartMs of merged.windowStarts()) {
    const window = merged.window(windowStartMs);
    for (let ordinal = 0; ordinal < window.size; ordinal++) {
      if (++visited % ENTRIES_BETWEEN_PAUSES === 0) await pace.pause();
      const slot = window.slotAt(ordinal);
      const value = orderValue(merged, slot, order);
      const candidate = { value, key: window.keyAt(ordinal), windowStartMs, slot };
      if (next === null || compare(candidate, next.after) > 0) first.add(candidate);
    }
  }
  const candidates = first.places().flat();
  const rows = candidates.slice(0, limit).map(({ value, key, windowStartMs, slot }) => ({
    values: decodeGroupKey(key),
    results: merged.results(slot),
    position: { value, key, windowStartMs },
  }));
  return { rows, hasMore: candidates.length > limit, damaged };
}

interface MergedRows {
  readonly merged: ViewTable;
  readonly damaged: readonly DamagedRun[];
}

/** Every row that the request selects. */
async function mergeAll(
  request: ViewRequest,
  parts: readonly SlicePart[],
  reading: RunReading,
  bytesMax: number,
): Promise<MergedRows> {
  const merged = new ViewTable(request.view);
  const scratch = new ViewTable(request.view);
  const other = scratch.insert(0, new Uint8Array());
  const merge = (windowStartMs: number, key: Uint8Array, from: ViewTable, fromSlot: number) => {
    const slot = merged.find(windowStartMs, key);
    if (slot >= 0) merged.mergeFrom(slot, from, fromSlot);
    else {
      merged.copyFrom(merged.insert(windowStartMs, key), from, fromSlot);
      checkMemory(merged, bytesMax);
    }
  };
  for (const part of parts) {
    for (const _ of eachOpen(request, part, merge)) await reading.pace?.pause();
  }
  const add = ({ windowStartMs, key, accumulators }: ClosedEntry) => {
    scratch.decode(other, accumulators);
    merge(windowStartMs, key, scratch, other);
    return true;
  };
  const damaged = await eachClosed(request, parts, reading, null, add);
  return { merged, damaged };
}

const ROWS_BETWEEN_CHECKS = 4096;

function checkMemory(merged: ViewTable, bytesMax: number): void {
  const { entryCount } = merged;
  if (entryCount % ROWS_BETWEEN_CHECKS !== 0) return;
  if (merged.heapBytes() <= bytesMax) return;
  refuse('too-many-rows', `More than ${entryCount} rows would have to be ordered at once.`, {
    path: 'order',
    expected: 'fewer rows, by key.{field}, prefix, start and end; or no order, and pages by next',
    found: `more than ${entryCount} rows`,
  });
}

/** Visits the open entries that the request selects; a portion of them ends at each `yield`. */
function* eachOpen(
  request: ViewRequest,
  { checkpoint }: SlicePart,
  visit: (windowStartMs: number, key: Uint8Array, table: ViewTable, slot: number) => void,
): Generator<void, void, void> {
  const { viewIndex } = request;
  const table = checkpoint.image.tables[viewIndex] as ViewTable;
  const only = wantedKeys(request)?.map(encodeGroupKey) ?? null;
  let visited = 0;
  for (const startMs of table.windowStarts()) {
    if (!selectsWindow(request, startMs)) continue;
    for (const key of only ?? []) {
      const slot = table.find(startMs, key);
      if (slot >= 0) visit(startMs, key, table, slot);
    }
    if (only !== null) continue;
    const window = table.window(startMs);
    for (let ordinal = 0; ordinal < window.size; ordinal++) {
      if (++visited % ENTRIES_BETWEEN_PAUSES === 0) yield;
      const key = window.keyAt(ordinal);
      if (selectsKey(request, key)) visit(startMs, key, table, window.slotAt(ordinal));
    }
  }
}

/**
 * Visits the closed entries with keys from `after` on: those of images at once, those of runs in order and only until
 * `visit` returns false for one of a run. Returns the runs that could not be read whole.
 */
async function eachClosed(
  request: ViewRequest,
  parts: readonly SlicePart[],
  { runs, isLost, pace = NO_PAUSES }: RunReading,
  after: Uint8Array | null,
  visit: (entry: ClosedEntry) => boolean,
): Promise<DamagedRun[]> {
  const { view, viewIndex } = request;
  const damaged: DamagedRun[] = [];
  const selects = ({ windowStartMs, key }: ClosedEntry) =>
    selectsWindow(request, windowStartMs) && selectsKey(request, key);
  let visited = 0;
  for (const { checkpoint } of parts) {
    for (const entry of checkpoint.image.closed[viewIndex] as ClosedEntry[]) {
      if (++visited % ENTRIES_BETWEEN_PAUSES === 0) await pace.pause();
      if (selects(entry)) visit(entry);
    }
  }
  const ranges = keyRanges(request, after);
  const scan = async (sliceId: string, run: RunReference, life: ViewLife) => {
    try {
      const reader = runs.reader(sliceId, run);
      for (const { from, to } of ranges) {
        for await (const entries of reader.scan({ view, life }, from, to)) {
          await pace.pause();
          for (const entry of entries) if (selects(entry) && !visit(entry)) return;
        }
      }
    } catch (fault) {
      const mayBeCollected = fault instanceof MissingBlob && !isLost(sliceId, run);
      if (!(fault instanceof CorruptStateFault) || mayBeCollected) throw fault;
      damaged.push({ slice: sliceId, epoch: run.epoch });
    }
  };
  const scans = parts.flatMap(({ pinned, checkpoint: { manifest, image } }) => {
    const life = image.lives[viewIndex] ?? null;
    if (life === null) return [];
    const written = manifest.runs.filter(({ epoch }) => epoch >= life.since);
    return written.map((run) => scan(pinned.sliceId, run, life));
  });
  await Promise.all(scans);
  return damaged.sort((a, b) => a.epoch - b.epoch);
}

function compareKeys(
  a: Pick<RowPosition, 'key' | 'windowStartMs'>,
  b: Pick<RowPosition, 'key' | 'windowStartMs'>,
): number {
  return compareBytes(a.key, b.key) || a.windowStartMs - b.windowStartMs;
}

/** By value, groups without one last, whichever way it goes; then by key and window. */
function comparePositions({ descending }: RowOrder): (a: RowPosition, b: RowPosition) => number {
  return (a, b) => {
    if (a.value === b.value) return compareKeys(a, b);
    if (a.value === null) return 1;
    if (b.value === null) return -1;
    return a.value < b.value === descending ? 1 : -1;
  };
}

function orderValue(table: ViewTable, slot: number, { aggregate, rank }: RowOrder): number | null {
  const { value } = table.result(slot, aggregate);
  if (value === null || typeof value === 'number') return value;
  return rank === null ? null : (value[rank] ?? null);
}
