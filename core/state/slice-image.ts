/**
 * The committed image of a slice: what base and chain say, and nothing else. Owners and readers hold the same image and
 * advance it by the same changes.
 *
 * `closed` holds the entries of closed windows and the late partials since the newest base; those before it are in runs.
 */
import { assert } from '../assert.ts';
import { type ByteReader, ByteWriter } from '../bytes.ts';
import type { Plan, ViewPlan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';
import { START } from '../position.ts';
import { createWindowAssigner, type WindowAssigner } from '../time/window.ts';
import { addCounts, noRecords } from './counters.ts';
import { DedupeIds } from './dedupe-ids.ts';
import { Digest } from './digest.ts';
import { decodeGroupKey, encodeGroupKey, groupValuesOf, mapKeyOf } from './group-key.ts';
import { storedViews } from './quarantine-ledger.ts';
import {
  type ChangeSource,
  decodeChange,
  encodeChange,
  type FoldProgress,
  type QuarantineEntry,
  type WindowSource,
} from './state-change.ts';
import { ViewTable } from './view-table.ts';

/** One closed entry or late partial, as stored. Those of the same window and key are merged when read. */
export interface ClosedEntry {
  readonly windowStartMs: number;
  readonly key: Uint8Array;
  readonly accumulators: Uint8Array;
}

/** What V8 holds for a closed entry besides its bytes, about. */
const CLOSED_ENTRY_BYTES = 200;

export class SliceImage {
  readonly plan: Plan;
  /** The plan's views, then the ledger of the quarantine: what follows by index is by index of these. */
  readonly views: readonly ViewPlan[];
  readonly tables: readonly ViewTable[];
  readonly windows: readonly WindowAssigner[];
  readonly dedupeIds = new DedupeIds();
  readonly closed: ClosedEntry[][];
  /**
   * Windows of a view that begin before it may miss records, since the view was not there yet. −Infinity: none do.
   * Infinity: the view is not in what was stored.
   */
  readonly coveredFromMs: number[];
  /** The epoch in which a view began: runs of before may hold an earlier one of the same meaning, which is over. */
  readonly sinceEpoch: number[];
  progress: FoldProgress = {
    position: START,
    watermarkMs: Number.NEGATIVE_INFINITY,
    newestMs: Number.NEGATIVE_INFINITY,
    digest: new Digest(),
    counts: noRecords(),
  };

  #closedBytes = 0;

  constructor(plan: Plan) {
    this.plan = plan;
    this.views = storedViews(plan);
    this.tables = this.views.map((view) => new ViewTable(view));
    this.windows = this.views.map((view) => createWindowAssigner(view.window, plan.zone));
    this.closed = this.views.map(() => []);
    this.coveredFromMs = this.views.map(() => Number.NEGATIVE_INFINITY);
    this.sinceEpoch = this.views.map(() => 0);
  }

  get entryCount(): number {
    return this.tables.reduce((sum, table) => sum + table.entryCount, 0);
  }

  /**
   * Advances the image by one stored change and returns the records that it quarantined. The image of a change that
   * throws is of no more use. A change of another plan (`foreign`) advances the views that both have; the others are not
   * in the image then.
   */
  apply(reader: ByteReader, foreign = false): QuarantineEntry[] {
    const quarantined: QuarantineEntry[] = [];
    const listed = new Set<number>();
    let view = -1;
    let closedCount = 0;
    decodeChange(reader, {
      progress: (progress) => {
        this.progress = progress;
      },
      view: (name, hash, coveredFromMs, sinceEpoch) => {
        view = this.#viewIndex(name, hash, foreign);
        listed.add(view);
        if (view < 0) return;
        this.coveredFromMs[view] = coveredFromMs;
        this.sinceEpoch[view] = sinceEpoch;
      },
      entry: (section, windowStartMs, key, accumulators) => {
        if (view < 0) return;
        if (section === 'open') this.#putOpen(view, windowStartMs, key, accumulators);
        else {
          const entry = { windowStartMs, key: key.slice(), accumulators: accumulators.slice() };
          this.#pushClosed(view, entry);
          if (section === 'closed') closedCount++;
        }
      },
      dedupeIds: (ids) => this.dedupeIds.decode(ids, this.progress.watermarkMs),
      quarantined: (record) => quarantined.push({ ...record, data: record.data.slice() }),
    });
    for (const index of this.plan.views.keys()) {
      if (!listed.has(index)) this.#leaveOut(index, foreign);
    }
    // A view that both plans have is deduped in the same way. Without one, the ids may be of another field.
    if (foreign && !this.plan.views.some((_, index) => listed.has(index))) this.dedupeIds.clear();
    const removedCount = this.removeClosedWindows();
    assert(
      removedCount <= closedCount,
      'windows-leave-as-results-only',
      () => `${removedCount} entries left, ${closedCount} became results`,
    );
    return quarantined;
  }

  /** Views that the stored state did not have begin here, in the epoch that is about to be written. */
  adoptPlan(epoch: number): void {
    const { newestMs, digest } = this.progress;
    const beginsMs = digest.count === 0 ? Number.NEGATIVE_INFINITY : newestMs + 1;
    for (const index of this.plan.views.keys()) {
      if (this.coveredFromMs[index] === Number.POSITIVE_INFINITY) {
        this.coveredFromMs[index] = beginsMs;
        this.sinceEpoch[index] = epoch;
      }
    }
  }

  /** Adds the entries of windows that closed, and late partials, to the closed ones. */
  addClosed(view: number, windows: readonly WindowSource[]): void {
    for (const entry of closedEntriesOf(this.#view(view), windows)) this.#pushClosed(view, entry);
  }

  /** Windows that the watermark has passed leave the keyed state; how many entries they had. */
  removeClosedWindows(): number {
    let removedCount = 0;
    for (const [index, table] of this.tables.entries()) {
      const window = this.windows[index] as WindowAssigner;
      for (const startMs of table.windowStarts()) {
        if (window.endOf(startMs) > this.progress.watermarkMs) continue;
        removedCount += table.removeWindow(startMs);
      }
    }
    return removedCount;
  }

  /** The closed entries are in a run from now on. */
  forgetClosed(): void {
    for (const entries of this.closed) entries.length = 0;
    this.#closedBytes = 0;
  }

  /** Canonical bytes of the whole open state: two images are the same if these are. */
  encode(): Uint8Array {
    const writer = new ByteWriter();
    encodeChange(this.source(), writer);
    return writer.finish();
  }

  /** A change that says where the image stands, and changes nothing. */
  encodeNoChange(): Uint8Array {
    const writer = new ByteWriter();
    const source = this.source();
    const views = source.views.map((view) => ({ ...view, open: [] }));
    encodeChange({ ...source, views, dedupeIds: [] }, writer);
    return writer.finish();
  }

  /** The image as a change from nothing. */
  source(): ChangeSource {
    return {
      progress: this.progress,
      views: this.views.map((view, index) => {
        const coveredFromMs = this.coveredFromMs[index] as number;
        const sinceEpoch = this.sinceEpoch[index] as number;
        const table = this.tables[index] as ViewTable;
        const open = table.windowStarts().map((windowStartMs) => ({
          windowStartMs,
          entries: [...table.window(windowStartMs)].map(([key, slot]) => ({ key, table, slot })),
        }));
        return { view, coveredFromMs, sinceEpoch, open, closed: [], late: [] };
      }),
      dedupeIds: [this.dedupeIds],
      quarantined: [],
    };
  }

  /** Bytes of memory that the image holds, about. */
  heapBytes(): number {
    let bytes = this.dedupeIds.heapBytes();
    for (const table of this.tables) bytes += table.heapBytes();
    return bytes + this.#closedBytes;
  }

  #pushClosed(view: number, entry: ClosedEntry): void {
    (this.closed[view] as ClosedEntry[]).push(entry);
    this.#closedBytes += entry.key.length + entry.accumulators.length + CLOSED_ENTRY_BYTES;
  }

  #putOpen(view: number, windowStartMs: number, key: Uint8Array, accumulators: Uint8Array): void {
    const table = this.tables[view] as ViewTable;
    const mapKey = mapKeyOf(decodeGroupKey(key));
    let slot = table.find(windowStartMs, mapKey);
    if (slot < 0) slot = table.insert(windowStartMs, mapKey);
    table.decode(slot, accumulators);
  }

  #view(index: number): ViewPlan {
    return this.views[index] as ViewPlan;
  }

  #leaveOut(index: number, foreign: boolean): void {
    if (!foreign) {
      throw new CorruptStateFault(
        `the checkpoint lacks the view '${this.#view(index).name}' of its own plan`,
      );
    }
    const table = this.tables[index] as ViewTable;
    for (const startMs of table.windowStarts()) table.removeWindow(startMs);
    (this.closed[index] as ClosedEntry[]).length = 0;
    this.coveredFromMs[index] = Number.POSITIVE_INFINITY;
    this.sinceEpoch[index] = Number.POSITIVE_INFINITY;
  }

  #viewIndex(name: string, hash: string, foreign: boolean): number {
    const index = this.views.findIndex((view) => view.name === name && view.hash === hash);
    if (index < 0 && !foreign) {
      throw new CorruptStateFault(
        `the checkpoint has a view '${name}' (${hash.slice(0, 8)}) that the pipeline does not have`,
        { hint: 'run with the pipeline file that wrote this data' },
      );
    }
    return index;
  }
}

/** The entries of `windows` as they are stored. */
export function closedEntriesOf(view: ViewPlan, windows: readonly WindowSource[]): ClosedEntry[] {
  const writer = new ByteWriter();
  return windows.flatMap(({ windowStartMs, entries }) =>
    entries.map(({ key, table, slot }) => {
      writer.clear();
      table.encode(slot, writer);
      const bytes = encodeGroupKey(groupValuesOf(key, view.groupBy.length));
      return { windowStartMs, key: bytes, accumulators: writer.finish() };
    }),
  );
}

/** A copy of progress that does not move with the original. */
export function copyProgress(progress: FoldProgress): FoldProgress {
  const counts = noRecords();
  addCounts(counts, progress.counts);
  return { ...progress, digest: progress.digest.copy(), counts };
}
