/**
 * The sorted sources of a view's rows at one snapshot, and how each is entered: entries and late partials of each slice's image
 * by a search in their index, runs at the block in which the first wanted key may be.
 */
import { assert } from '../assert.ts';
import { MissingBlob } from '../checkpoint/blobs.ts';
import type { RunReference } from '../checkpoint/manifest.ts';
import type { BlobReference } from '../checkpoint/names.ts';
import type { PartCache } from '../checkpoint/part-cache.ts';
import type { Checkpoint } from '../checkpoint/restore.ts';
import type { RunCache } from '../checkpoint/run-cache.ts';
import { CorruptStateFault } from '../faults.ts';
import type { ClosedEntry } from '../state/closed-entries.ts';
import type { EntryBound } from '../state/entry-bound.ts';
import { encodeGroupKey } from '../state/group-key.ts';
import { SortedKeys } from '../state/sorted-keys.ts';
import type { ViewLife } from '../state/view-life.ts';
import type { ViewTable } from '../state/view-table.ts';
import type { DamagedPart, DamagedRun } from './damaged-runs.ts';
import { ENTRIES_BETWEEN_PAUSES, NO_PAUSES, type Pace } from './pace.ts';
import { PartSources } from './part-sources.ts';
import {
  EntryCursor,
  type RowBefore,
  type RowCursor,
  seekEntry,
  TableCursor,
} from './row-cursor.ts';
import {
  asksFor,
  type KeyRange,
  keyRanges,
  selectsEveryKey,
  selectsKey,
  selectsWindow,
  wantedKeys,
} from './row-filter.ts';
import { paced, RowIndexes, windowsOf } from './row-indexes.ts';
import { RowMerge } from './row-merge.ts';
import { RunScan } from './run-scan.ts';
import type { PinnedSlice } from './snapshot-token.ts';
import type { ViewRequest } from './view-request.ts';

/** One slice's part of a snapshot. Its image stays as it is until the promise of `readRows` has settled. */
export interface SlicePart {
  readonly pinned: Pick<PinnedSlice, 'sliceId'>;
  readonly checkpoint: Checkpoint;
}

/** How runs and parts are read: what cannot be is left out and named, or thrown. */
export interface RunReading {
  readonly runs: RunCache;
  /** Of parts; not needed where no image is an overlay. */
  readonly parts?: PartCache;
  /** Of a run or pack that is not there: false if it may have been collected, so that the caller takes a newer snapshot. */
  readonly isLost: (sliceId: string, blob: BlobReference) => boolean;
  readonly pace?: Pace;
  /** Of the images of the slices; without it they are sorted for this question only. */
  readonly indexes?: RowIndexes;
}

/** Windows by their start. */
type WindowSet = Pick<ReadonlySet<number>, 'has' | 'size'>;

/** Open entries and closing ones. */
interface TableEntries {
  readonly table: ViewTable;
  readonly keys: SortedKeys;
  /** By window of the index. */
  readonly selected: readonly boolean[];
  /** Entries before it are in runs. */
  readonly drained: EntryBound | null;
}

interface OpenedRun {
  readonly sliceId: string;
  readonly run: RunReference;
  readonly life: ViewLife;
}

/** Where fewer of a table's entries than one in so many are selected, sorting those is less work than an index of all. */
const INDEXED_SHARE = 8;

export class RowSources {
  /** Runs and parts that could not be read whole, as far as they were read. */
  readonly damaged: (DamagedRun | DamagedPart)[] = [];
  readonly #request: ViewRequest;
  readonly #reading: RunReading;
  readonly #tables: readonly TableEntries[];
  readonly #late: readonly (readonly ClosedEntry[])[];
  readonly #runs: readonly OpenedRun[];
  readonly #parts: PartSources | null;
  readonly #unreadable = new Set<RunReference>();
  readonly #apart: WindowSet;
  #scans: RunScan[] = [];

  private constructor(
    request: ViewRequest,
    reading: RunReading,
    parts: readonly SlicePart[],
    apart: WindowSet,
    tables: readonly TableEntries[],
    late: readonly (readonly ClosedEntry[])[],
  ) {
    this.#request = request;
    this.#reading = reading;
    this.#apart = apart;
    this.#tables = tables;
    this.#late = late;
    this.#parts = this.#partSources(parts);
    for (const { pinned, checkpoint } of parts) {
      const lost = checkpoint.parts.lost[request.viewIndex] ?? [];
      const touched = lost.filter((rows) => asksFor(request, rows));
      this.damaged.push(...touched.map((rows) => ({ slice: pinned.sliceId, ...rows })));
    }
    this.#runs = parts.flatMap(({ pinned, checkpoint }) => {
      const life = checkpoint.image.lives[request.viewIndex] ?? null;
      if (life === null) return [];
      const written = checkpoint.manifest.runs.filter(({ epoch }) => epoch >= life.since);
      return written.map((run) => ({ sliceId: pinned.sliceId, run, life }));
    });
  }

  /** All that the request may select, but for windows `apart`, which are open wherever they are. */
  static async of(
    request: ViewRequest,
    parts: readonly SlicePart[],
    reading: RunReading,
    apart: WindowSet,
  ): Promise<RowSources> {
    const { pace = NO_PAUSES, indexes = new RowIndexes() } = reading;
    const tables: TableEntries[] = [];
    const late: (readonly ClosedEntry[])[] = [];
    const selects = (startMs: number) => selectsWindow(request, startMs) && !apart.has(startMs);
    for (const { checkpoint } of parts) {
      const keys = await tableKeys(request, checkpoint, selects, indexes, pace);
      const selected = keys.windows.map(({ startMs }) => selects(startMs));
      const drained = checkpoint.image.drained.get(request.viewIndex);
      tables.push({ table: tableOf(request, checkpoint), keys, selected, drained });
      late.push(await indexes.lateEntries(checkpoint, request.viewIndex, pace));
    }
    return new RowSources(request, reading, parts, apart, tables, late);
  }

  get pace(): Pace {
    return this.#reading.pace ?? NO_PAUSES;
  }

  /** The sources of rows with keys in a range, behind a row; each that has one stands at its first. */
  async #cursors({ from, to }: KeyRange, before: RowBefore | null): Promise<RowCursor[]> {
    const selects = ({ windowStartMs }: ClosedEntry) => {
      assert(!this.#apart.has(windowStartMs), 'closed-entries-are-of-closed-windows');
      return selectsWindow(this.#request, windowStartMs);
    };
    const cursors: RowCursor[] = [];
    for (const { table, keys, selected, drained } of this.#tables) {
      const first = firstPlace(from, before, (key, startMs) => keys.seek(key, startMs));
      const end = to === null ? keys.size : keys.seek(to, Number.NEGATIVE_INFINITY);
      const cursor = new TableCursor(table, keys, { selected, drained }, first, end);
      if (cursor.next()) cursors.push(cursor);
    }
    for (const entries of this.#late) {
      const seek = (key: Uint8Array, startMs: number) => seekEntry(entries, key, startMs);
      const first = firstPlace(from, before, seek);
      const end = to === null ? entries.length : seek(to, Number.NEGATIVE_INFINITY);
      const cursor = new EntryCursor(entries, first, end, selects, null);
      if (cursor.next()) cursors.push(cursor);
    }
    const runs = this.#runs
      .filter(({ run }) => !this.#unreadable.has(run))
      .map((opened) => {
        const scan = this.#scan(opened, { from, to }, before);
        return new EntryCursor([], 0, 0, selects, () => scan.next());
      });
    const found = await Promise.all(runs.map((cursor) => cursor.load()));
    const inParts = (await this.#parts?.cursors({ from, to }, before)) ?? [];
    return [...cursors, ...inParts, ...runs.filter((_, index) => found[index])];
  }

  #partSources(parts: readonly SlicePart[]): PartSources | null {
    const overlays = parts.filter(({ checkpoint }) => checkpoint.image.isOverlay);
    if (overlays.length === 0) return null;
    const { parts: cache, isLost } = this.#reading;
    assert(cache !== undefined && this.#apart.size === 0, 'parts-are-read-by-key');
    return new PartSources(
      this.#request,
      overlays.map(({ pinned, checkpoint }) => ({ sliceId: pinned.sliceId, checkpoint })),
      { cache, isLost, onDamage: (part) => this.damaged.push(part), pace: this.pace },
    );
  }

  /** Visits the rows that the request selects, behind a row, in the order of keys, until `visit` returns false. */
  async eachRow(before: RowBefore | null, visit: (row: RowMerge) => boolean): Promise<void> {
    const request = this.#request;
    const selectsAll = selectsEveryKey(request);
    let visited = 0;
    for (const range of keyRanges(request, before?.key ?? null)) {
      const rows = new RowMerge(await this.#cursors(range, before));
      for (let step = rows.next(); step !== 'end'; step = rows.next()) {
        if (step === 'load') {
          await rows.load();
          continue;
        }
        if (++visited % ENTRIES_BETWEEN_PAUSES === 0) await this.pace.pause();
        const { bytes, start, end } = rows;
        if (!selectsAll && !selectsKey(request, bytes.subarray(start, end))) continue;
        if (!visit(rows)) return;
      }
      await this.close();
    }
  }

  /** Nothing of it is read any more when this has resolved. */
  async close(): Promise<void> {
    const scans = this.#scans;
    this.#scans = [];
    await Promise.all(scans.map((scan) => scan.close()));
  }

  #scan({ sliceId, run, life }: OpenedRun, range: KeyRange, before: RowBefore | null): RunScan {
    const { view, order } = this.#request;
    const { runs, isLost, pace = NO_PAUSES } = this.#reading;
    const portions = runs.reader(sliceId, run).scan({ view, life }, range.from, range.to);
    const isBad = (fault: unknown) => {
      const mayBeCollected = fault instanceof MissingBlob && !isLost(sliceId, run);
      if (!(fault instanceof CorruptStateFault) || mayBeCollected) return false;
      this.#unreadable.add(run);
      this.damaged.push({ slice: sliceId, epoch: run.epoch });
      return true;
    };
    const scan = new RunScan(portions, before, { isBad, pace, isWhole: order !== null });
    this.#scans.push(scan);
    return scan;
  }
}

/** Those of the entries of a slice's table that the request may select. */
async function tableKeys(
  request: ViewRequest,
  checkpoint: Checkpoint,
  selects: (startMs: number) => boolean,
  indexes: RowIndexes,
  pace: Pace,
): Promise<SortedKeys> {
  const { viewIndex } = request;
  const table = tableOf(request, checkpoint);
  const only = wantedKeys(request)?.map(encodeGroupKey) ?? null;
  const known = indexes.known(checkpoint, viewIndex);
  if (only === null && known !== null) return known;
  const windows = windowsOf(table).filter(({ startMs }) => selects(startMs));
  if (only !== null) return SortedKeys.ofKeys(windows, only);
  const count = windows.reduce((sum, { keys }) => sum + keys.size, 0);
  if (count * INDEXED_SHARE < table.entryCount) return paced(SortedKeys.of(windows), pace);
  return indexes.openKeys(checkpoint, viewIndex, pace);
}

function tableOf({ viewIndex }: ViewRequest, { image }: Checkpoint): ViewTable {
  return image.tables[viewIndex] as ViewTable;
}

type Seek = (key: Uint8Array, startMs: number) => number;

/** Times of windows are whole milliseconds. */
function firstPlace(from: Uint8Array | null, before: RowBefore | null, seek: Seek): number {
  const first = from === null ? 0 : seek(from, Number.NEGATIVE_INFINITY);
  return before === null ? first : Math.max(first, seek(before.key, before.windowStartMs + 1));
}
