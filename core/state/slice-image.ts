/**
 * The committed image of a slice: what base and chain say, and nothing else. Owners and readers hold the same image and
 * advance it by the same changes.
 *
 * The entries of a window stay in its view's table when the watermark has passed it: they are *closing* then, which nothing
 * changes, until a base has drained them into a run. `late` holds the late partials that no run holds yet.
 */

import { assert } from '../assert.ts';
import { type ByteReader, ByteWriter } from '../bytes.ts';
import { createWindowAssigner } from '../definition/kinds/window-kinds.ts';
import type { Plan, ViewPlan } from '../definition/plan.ts';
import { columnId, matchViews } from '../definition/view-match.ts';
import { CorruptStateFault } from '../faults.ts';
import type { WindowAssigner } from '../time/window.ts';
import { type ChangeOrigin, OWN_PLAN, standingOnly } from './change-origin.ts';
import { type ChangeObserver, decodeTails, NOTHING_COVERED } from './change-tail.ts';
import { type ClosedEntry, closedBytesOf } from './closed-entries.ts';
import { Relayout, type StoredLayout, storedLayout } from './column-layout.ts';
import { DedupeIds, ID_BYTES } from './dedupe-ids.ts';
import {
  checkFollows,
  type DedupeLife,
  dedupePolicyOf,
  expiredBy,
  firstDedupe,
  hasSameIds,
  nextDedupe,
} from './dedupe-life.ts';
import { DrainedBounds } from './drained-bounds.ts';
import type { EntryBound } from './entry-bound.ts';
import { LIVING_LEDGER, storedViews } from './quarantine-ledger.ts';
import { adoptTimes, coveredFrom } from './read-times.ts';
import { RecentLedger } from './recent-ledger.ts';
import {
  type ChangeSource,
  type ChangeVisitor,
  decodeChange,
  encodeChange,
  type FoldProgress,
  noProgress,
  type QuarantineEntry,
  type WindowSource,
} from './state-change.ts';
import { putOpen } from './stored-entry.ts';
import {
  type ColumnLife,
  firstLife,
  isSameColumnLife,
  isSameLife,
  ownViews,
  type StoredView,
  type ViewLife,
} from './view-life.ts';
import { ViewTable } from './view-table.ts';

/** Where the entries of a stored view go. */
interface StoredTarget {
  readonly view: number;
  readonly layout: StoredLayout;
}

export class SliceImage {
  readonly plan: Plan;
  /** The plan's views, then the ledger of the quarantine: what follows by index is by index of these. */
  readonly views: readonly ViewPlan[];
  readonly tables: readonly ViewTable[];
  readonly windows: readonly WindowAssigner[];
  readonly dedupeIds = new DedupeIds();
  readonly late: ClosedEntry[][];
  readonly drained: DrainedBounds;
  /** Those of the quarantine's ledger, by record. */
  readonly recentLedger: RecentLedger<ClosedEntry>;
  /** Which life of each view this is; null where the view is not in what was stored. */
  readonly lives: (ViewLife | null)[];
  /** What the ids are kept by: that of the plan, or of what was stored last by another one. */
  dedupe: DedupeLife | null;
  progress: FoldProgress;
  /** Entries that only parts have are not in the image. What it has is newer than what they have. */
  isOverlay = false;

  #lateBytes = 0;
  /** It held nothing before the change that is applied now: whatever lives that one names may begin here. */
  #isPristine = true;

  constructor(plan: Plan) {
    this.plan = plan;
    this.views = storedViews(plan);
    this.tables = this.views.map((view) => new ViewTable(view));
    this.windows = this.views.map((view) => createWindowAssigner(view.window, plan.zone));
    this.late = this.views.map(() => []);
    this.drained = new DrainedBounds(this.views.length);
    this.recentLedger = new RecentLedger(this.late.at(-1) as ClosedEntry[]);
    this.lives = [...plan.views.map(firstLife), LIVING_LEDGER.life];
    this.dedupe = firstDedupe(plan);
    this.progress = noProgress(plan);
  }

  /** Entries that the watermark has not passed. */
  get openEntryCount(): number {
    return this.#countEntries((view, startMs) => !this.isClosing(view, startMs));
  }

  /** Those and closing ones: all entries that no run has. */
  get keptEntryCount(): number {
    const left = this.tables.reduce((sum, _, view) => sum + this.drained.leftCount(view), 0);
    return this.#countEntries(() => true) - left;
  }

  /** The watermark has passed the window: nothing changes its entries, and none comes to it. */
  isClosing(view: number, windowStartMs: number): boolean {
    return this.#endOf(view, windowStartMs) <= this.progress.watermarkMs;
  }

  /** Ids that are counted from it or before are not known any more. */
  get expiredMs(): number {
    return expiredBy(this.dedupe, this.progress.watermarkMs);
  }

  /**
   * Advances the image by one stored change and returns the records that it quarantined. The image of a change that
   * throws is of no more use. A change of another plan advances the views and columns that both have; the others are not
   * in the image then.
   */
  apply(
    reader: ByteReader,
    origin: ChangeOrigin = OWN_PLAN,
    observer: ChangeObserver | null = null,
  ): QuarantineEntry[] {
    const isCommitted = this.tables.every((table) => table.isCommitted);
    assert(isCommitted, 'a-stored-change-follows-what-is-committed');
    const quarantined: QuarantineEntry[] = [];
    const watermarkBeforeMs = this.progress.watermarkMs;
    this.#isPristine = this.progress.digest.count === 0;
    const { tails = [], covered = NOTHING_COVERED } = origin;
    let targets: readonly (StoredTarget | null)[] = [];
    const visitor: ChangeVisitor = {
      progress: (progress) => {
        this.progress = progress;
        assert(progress.watermarkMs >= watermarkBeforeMs, 'a-watermark-never-goes-back');
      },
      views: (stored) => {
        targets = this.#follow(stored, origin);
      },
      entry: (from, section, windowStartMs, key, ahead) => {
        const target = targets[from] ?? null;
        if (target === null) {
          ahead.bytes();
          return;
        }
        const { view, layout } = target;
        if (section === 'late') {
          const accumulators = layout.own(ahead.bytes()).slice();
          this.addLateEntry(view, { windowStartMs, key: key.slice(), accumulators });
        } else if (this.drained.has(view, windowStartMs, key)) {
          ahead.bytes();
        } else {
          const table = this.tables[view] as ViewTable;
          // What is merged may say it of epochs that the image knows of already.
          const wasClosing = this.#endOf(view, windowStartMs) <= watermarkBeforeMs;
          const mayBeElsewhere = tails.length > 0 || this.isOverlay;
          if (wasClosing && !mayBeElsewhere && table.find(windowStartMs, key) < 0) {
            throw new CorruptStateFault(
              `epoch ${origin.epoch} adds an entry of '${table.view.name}' to a window that had closed before it`,
            );
          }
          const ordinal = putOpen(table, windowStartMs, key, ahead, layout.columns);
          observer?.noteEntry(view, windowStartMs, key, ordinal);
        }
      },
      dedupe: (life, ids) => {
        if (!this.#isPristine) checkFollows(this.dedupe, life, watermarkBeforeMs, origin.epoch);
        this.#beginDedupe(life);
        this.addIds(ids);
      },
      quarantined: (record) => quarantined.push({ ...record, data: record.data.slice() }),
      tail: (bytes) => observer?.noteTail(origin.epoch, bytes),
    };
    if (origin.begins === true) this.isOverlay = true;
    decodeChange(reader, origin.begins === true ? standingOnly(visitor) : visitor);
    decodeTails(tails, targets.length, covered, visitor, observer);
    this.dedupeIds.sweep(this.expiredMs);
    return quarantined;
  }

  /** Views and columns that the stored state did not have begin here, in the epoch that is about to be written. */
  adoptPlan(epoch: number): void {
    adoptTimes(this.progress, this.plan);
    const coveredFromMs = coveredFrom(this.progress, this.plan);
    const begins: ColumnLife = { since: epoch, coveredFromMs };
    for (const [index, { columns }] of this.plan.views.entries()) {
      const life = this.lives[index] ?? null;
      this.lives[index] =
        life === null
          ? { since: epoch, ordinal: index, columns: columns.map(() => begins) }
          : { ...life, columns: life.columns.map((column) => column ?? begins) };
    }
    this.#beginDedupe(nextDedupe(this.dedupe, this.plan, this.progress.watermarkMs, epoch - 1));
  }

  /** The views in their lives. Asked of a whole image only. */
  living(): { readonly view: ViewPlan; readonly life: ViewLife }[] {
    return this.views.map((view, index) => {
      const life = this.lives[index] ?? null;
      assert(life !== null, 'a-state-that-is-written-has-every-view');
      return { view, life };
    });
  }

  /** The late partials are in a run from now on. */
  forgetLate(): void {
    for (const entries of this.late) entries.length = 0;
    this.recentLedger.clear();
    this.#lateBytes = 0;
  }

  /** All entries of a view before a bound (null: none) are in runs. */
  forgetDrained(view: number, bound: EntryBound | null): void {
    const isClosed = (startMs: number) => this.isClosing(view, startMs);
    this.drained.move(view, bound, this.tables[view] as ViewTable, isClosed);
  }

  /** The entries of a view that no run has, by window. */
  kept(view: number): WindowSource[] {
    const table = this.tables[view] as ViewTable;
    return table.windowStarts().map((startMs) => this.drained.kept(view, startMs, table));
  }

  /** Canonical bytes of the whole open state: the same of two images, however much of what has closed is drained. */
  encode(): Uint8Array {
    const writer = new ByteWriter();
    const source = this.source();
    const views = source.views.map((view, index) => {
      const isOpen = ({ windowStartMs }: WindowSource) => !this.isClosing(index, windowStartMs);
      return { ...view, entries: view.entries.filter(isOpen) };
    });
    encodeChange({ ...source, views }, writer, 'by-key');
    return writer.finish();
  }

  /** The image as a change from nothing, without late partials. */
  source(): ChangeSource {
    return {
      progress: this.progress,
      views: this.views.map((view, index) => {
        const life = this.lives[index] as ViewLife;
        return { view, life, entries: this.kept(index), late: [] };
      }),
      dedupe: this.dedupe,
      dedupeIds: [this.dedupeIds],
      quarantined: [],
    };
  }

  /** True if ids of today's life are ids to the plan. */
  get wantsIds(): boolean {
    return this.dedupe !== null && this.dedupe.fieldText === dedupePolicyOf(this.plan)?.fieldText;
  }

  /** Adds a list of ids of today's life, where they are ids to the plan. */
  addIds(reader: ByteReader): void {
    const count = reader.varint();
    if (this.wantsIds) this.dedupeIds.decode(reader, count, this.expiredMs);
    else reader.raw(count * ID_BYTES);
  }

  /** Bytes of memory that the image holds, about. */
  heapBytes(): number {
    let bytes = this.dedupeIds.heapBytes();
    for (const table of this.tables) bytes += table.heapBytes();
    return bytes + this.#lateBytes;
  }

  addLateEntry(view: number, entry: ClosedEntry): void {
    (this.late[view] as ClosedEntry[]).push(entry);
    this.#lateBytes += closedBytesOf(entry);
  }

  #endOf(view: number, windowStartMs: number): number {
    return (this.windows[view] as WindowAssigner).endOf(windowStartMs);
  }

  #countEntries(counts: (view: number, windowStartMs: number) => boolean): number {
    let count = 0;
    for (const [view, table] of this.tables.entries()) {
      for (const startMs of table.windowStarts((start) => counts(view, start))) {
        count += table.window(startMs).size;
      }
    }
    return count;
  }

  /** Where the entries of each stored view go; null: nowhere. Views and columns that begin or end here are emptied. */
  #follow(
    stored: readonly StoredView[],
    { foreign, epoch }: ChangeOrigin,
  ): (StoredTarget | null)[] {
    const matches = foreign ? matchViews(stored, this.views).from : ownViews(stored, this.views);
    const targets: (StoredTarget | null)[] = stored.map(() => null);
    for (const [index, match] of matches.entries()) {
      const from = stored[match];
      if (from === undefined) this.#leaveOut(index);
      else targets[match] = this.#followView(index, from, epoch);
    }
    return targets;
  }

  #followView(index: number, from: StoredView, epoch: number): StoredTarget {
    const view = this.views[index] as ViewPlan;
    const known = this.#isPristine ? null : (this.lives[index] as ViewLife | null);
    const goesOn = known !== null && isSameLife(known, from);
    if (!goesOn) {
      this.#checkBegins(from.since, epoch, view);
      this.#empty(index);
    }
    const ids = from.columns.map(columnId);
    const columns = view.columns.map((column): ColumnLife | null => {
      const found = from.columns[ids.indexOf(columnId(column))];
      return found === undefined
        ? null
        : { since: found.since, coveredFromMs: found.coveredFromMs };
    });
    if (goesOn) this.#emptyColumns(index, known, columns, epoch);
    const life = { since: from.since, ordinal: from.ordinal, columns };
    this.lives[index] = life;
    return { view: index, layout: storedLayout(from, view, life) };
  }

  /** What the image lacks must begin with the change: otherwise the image has not seen all of it. */
  #checkBegins(since: number, epoch: number, { name }: ViewPlan): void {
    if (this.#isPristine || since === epoch) return;
    throw new CorruptStateFault(
      `epoch ${epoch} goes on with '${name}' as it began in epoch ${since}, which is not what was read before it`,
    );
  }

  #emptyColumns(
    index: number,
    known: ViewLife,
    columns: readonly (ColumnLife | null)[],
    epoch: number,
  ): void {
    const emptied: number[] = [];
    for (const [column, life] of columns.entries()) {
      const before = known.columns[column] ?? null;
      if (before === null ? life === null : isSameColumnLife(before, life)) continue;
      if (life !== null) this.#checkBegins(life.since, epoch, this.views[index] as ViewPlan);
      if (before !== null) emptied.push(column);
    }
    if (emptied.length === 0) return;
    const table = this.tables[index] as ViewTable;
    for (const column of emptied) table.resetColumn(column);
    const relayout = new Relayout(this.views[index] as ViewPlan);
    const entries = this.#takeLate(index).map((entry) => {
      return { ...entry, accumulators: relayout.without(entry.accumulators, emptied) };
    });
    for (const entry of entries) this.addLateEntry(index, entry);
  }

  #leaveOut(index: number): void {
    this.#empty(index);
    this.lives[index] = null;
  }

  #empty(index: number): void {
    const table = this.tables[index] as ViewTable;
    for (const startMs of table.windowStarts()) table.removeWindow(startMs);
    this.drained.forget(index);
    this.#takeLate(index);
  }

  /** Takes the late partials of a view out of the image. */
  #takeLate(view: number): ClosedEntry[] {
    const entries = (this.late[view] as ClosedEntry[]).splice(0);
    for (const entry of entries) this.#lateBytes -= closedBytesOf(entry);
    return entries;
  }

  /** By what ids are known from here on. */
  #beginDedupe(life: DedupeLife | null): void {
    if (!hasSameIds(this.dedupe, life)) this.dedupeIds.clear();
    this.dedupe = life;
  }
}
