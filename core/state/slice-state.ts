/**
 * The keyed state of one slice in an owner's memory: the image, in which entries are folded in place, and what else was
 * folded since the last commit.
 *
 * Invariants: it is the fold of exactly the shard's records up to `position`; until `commit`, `undo` gives back all of what
 * the last commit left, so that a memory that lost a race can go on from there. What a commit is to commit can be sealed while it is
 * under way, so that records are folded meanwhile: then there are two generations, and the newest is undone first.
 */
import { assert } from '../assert.ts';
import { ByteWriter } from '../bytes.ts';
import type { BadRecord, RecordDecoder } from '../decode/record-decoder.ts';
import type { ViewPlan } from '../definition/plan.ts';
import type { StreamRecord } from '../ports.ts';
import type { Position } from '../position.ts';
import type { WindowAssigner } from '../time/window.ts';
import { type ClosedEntry, closedEntriesOf } from './closed-entries.ts';
import type { IdRange } from './dedupe-ids.ts';
import { expiredBy } from './dedupe-life.ts';
import type { EntryBound } from './entry-bound.ts';
import { ledgerNames, RecordFold } from './fold.ts';
import { type LedgerStanding, ledgerStanding } from './ledger-standing.ts';
import { type LedgerRecord, ledgerEntryKeys } from './quarantine-ledger.ts';
import type { ChangedWindow } from './recent-changes.ts';
import type { SliceImage } from './slice-image.ts';
import {
  type ChangeSource,
  copyProgress,
  type EntryOrder,
  encodeChange,
  type QuarantineEntry,
  type TouchedWindow,
  touchedOfWindow,
  type ViewSource,
  type WindowSource,
  wholeWindow,
} from './state-change.ts';
import { Uncommitted } from './uncommitted.ts';
import { type StoredView, storedView, type ViewLife } from './view-life.ts';
import type { ViewTable } from './view-table.ts';

export type RedriveResult =
  | { readonly outcome: 'redriven' }
  | { readonly outcome: 'came-back' | 'not-put-aside' }
  | { readonly outcome: 'still-bad'; readonly bad: BadRecord };

/** Of an entry in a delta, about. */
const ENTRY_BYTES = 48;

export class SliceState {
  readonly image: SliceImage;
  /** Since the last commit, or since it was sealed. */
  #since: Uncommitted;
  /** Of a commit that is under way. */
  #sealed: Uncommitted | null = null;
  readonly #fold: RecordFold;

  constructor(image: SliceImage, decoder: RecordDecoder, shardId: string) {
    this.image = image;
    this.#since = new Uncommitted(image);
    this.#fold = new RecordFold(image.plan, decoder, shardId);
  }

  /** The last record that is in this memory. */
  get position(): Position {
    return this.#since.progress.position;
  }

  /** The position is the last of its Kinesis record: a commit may fall here. */
  get isWhole(): boolean {
    return !this.#since.isInside;
  }

  get progress(): Uncommitted['progress'] {
    return this.#since.progress;
  }

  /** Entries of windows that are open. */
  get openEntryCount(): number {
    let count = 0;
    for (const [index, table] of this.image.tables.entries()) {
      for (const startMs of table.windowStarts(this.#isOpen(index))) {
        count += table.window(startMs).size;
      }
    }
    return count;
  }

  /** Entries that were changed since the last commit, or since it was sealed, late partials and those of the ledger included. */
  get changedEntryCount(): number {
    let count = 0;
    for (const { touchedCount } of this.image.tables) count += touchedCount;
    for (const { entryCount } of this.#since.late) count += entryCount;
    return count;
  }

  /** Records quarantined since then. */
  get quarantined(): readonly QuarantineEntry[] {
    return this.#since.quarantined;
  }

  /** Folds the record that follows `position`; with `condemned` it is quarantined unread. */
  fold(record: StreamRecord, condemned: BadRecord | null = null): void {
    this.#fold.fold(record, this.image, this.#since, condemned);
  }

  /** See `RecordFold.redrive`. `stored` are the record's entries in the ledger's runs. */
  redrive(record: StreamRecord & LedgerRecord, stored: readonly ClosedEntry[]): RedriveResult {
    this.#assertUnsealed();
    const standing = this.ledgerStanding(record, stored);
    if (standing.waiting.length === 0) {
      return { outcome: standing.cameBack ? 'came-back' : 'not-put-aside' };
    }
    const bad = this.#fold.redrive(record, standing, this.image, this.#since);
    return bad === null ? { outcome: 'redriven' } : { outcome: 'still-bad', bad };
  }

  /** What the ledger says of a record; `stored` are its entries in runs. */
  ledgerStanding(record: LedgerRecord, stored: readonly ClosedEntry[]): LedgerStanding {
    this.#assertUnsealed();
    const committed = [...stored, ...this.image.recentLedger.entriesOf(record)];
    return ledgerStanding([...committed, ...this.#newLedger(record, committed)]);
  }

  /** What the ledger says of a record since the last commit; `committed` are all other entries of it. */
  #newLedger(record: LedgerRecord, committed: readonly ClosedEntry[]): ClosedEntry[] {
    const table = this.#since.late.at(-1) as ViewTable;
    // By slot: several names may be of one key.
    const entries = new Map<number, ClosedEntry>();
    for (const key of ledgerEntryKeys(record, ledgerNames(this.image), committed)) {
      const slot = table.find(0, key);
      if (slot < 0) continue;
      entries.set(slot, { windowStartMs: 0, key, accumulators: table.encoded(slot) });
    }
    return [...entries.values()];
  }

  /** All that was folded is about to be committed, by what `encodeDelta` has written of it; what is folded from now on is apart from it. */
  seal(): void {
    assert(this.isWhole, 'a-commit-falls-between-kinesis-records');
    this.#assertUnsealed();
    for (const table of this.image.tables) table.seal();
    this.#sealed = this.#since;
    this.#since = new Uncommitted(this.image, this.#sealed);
  }

  /** What was sealed is not committed after all, and not undone either; what was folded since is. */
  reopen(): void {
    const sealed = this.#sealed;
    assert(sealed !== null, 'what-is-reopened-was-sealed');
    for (const table of this.image.tables) {
      table.undo();
      table.reopen();
    }
    this.#since = sealed;
    this.#sealed = null;
  }

  /** Back to what the last commit left. */
  undo(): void {
    this.#assertUnsealed();
    for (const table of this.image.tables) table.undo();
    this.#since.reset(this.image);
  }

  /** What a delta carries: the change since the last commit; where in it late partials and ids lie, behind the entries; and which entries these are. */
  encodeDelta(): {
    readonly bytes: Uint8Array;
    readonly tailFrom: number;
    readonly tailTo: number;
    readonly windows: readonly ChangedWindow[];
  } {
    this.#assertUnsealed();
    const since = this.#since;
    const views = this.#changes();
    const source = {
      progress: since.progress,
      views,
      dedupe: this.image.dedupe,
      dedupeIds: [since.dedupeIds],
      quarantined: since.quarantined,
    };
    const writer = new ByteWriter(1_024 + ENTRY_BYTES * this.changedEntryCount);
    const { from, to } = encodeChange(source, writer, 'as-it-comes');
    const windows = views.flatMap(({ entries }, view) =>
      entries.map(({ windowStartMs, keys, ordinals }) => ({ view, windowStartMs, keys, ordinals })),
    );
    return { bytes: writer.finish(), tailFrom: from, tailTo: to, windows };
  }

  /** The change that these entries, and nothing else, are: with their values now. */
  encodeChanged(windows: readonly ChangedWindow[]): Uint8Array {
    this.#assertUnsealed();
    const views = this.image.living().map((each, index) => {
      const table = this.image.tables[index] as ViewTable;
      const changed = windows.filter(({ view }) => view === index);
      return { ...each, entries: changed.map((window) => ({ ...window, table })), late: [] };
    });
    const { dedupe } = this.image;
    const source = {
      progress: this.#since.progress,
      views,
      dedupe,
      dedupeIds: [],
      quarantined: [],
    };
    return encode(source, 'as-it-comes');
  }

  /** What a base carries beside its parts: the change from nothing, without entries and ids. */
  encodeStanding(): Uint8Array {
    this.#assertUnsealed();
    const source = {
      progress: this.#since.progress,
      views: this.image.living().map((each) => ({ ...each, entries: [], late: [] })),
      dedupe: this.image.dedupe,
      dedupeIds: [],
      quarantined: [],
    };
    return encode(source, 'by-key');
  }

  /** The change from nothing to this memory's open state: the same for the same state, however it came about and was drained. */
  encodeWhole(): Uint8Array {
    const source = {
      progress: this.#since.progress,
      views: this.#views(),
      dedupe: this.image.dedupe,
      dedupeIds: [this.image.dedupeIds, ...this.#since.allIds()],
      quarantined: [],
    };
    return encode(source, 'by-key');
  }

  /** How a view's entries are written. */
  storedView(view: number): StoredView {
    return storedView(this.image.views[view] as ViewPlan, this.image.lives[view] as ViewLife);
  }

  /** Entries of a range of windows and keys, in that order; null: without a bound. */
  between(view: number, from: EntryBound | null, to: EntryBound | null): WindowSource[] {
    const table = this.image.tables[view] as ViewTable;
    const sources: WindowSource[] = [];
    for (const windowStartMs of table.windowStarts()) {
      if (from !== null && windowStartMs < from.windowStartMs) continue;
      if (to !== null && windowStartMs > to.windowStartMs) break;
      const keys = table.window(windowStartMs);
      const ordinals = table.between(
        windowStartMs,
        from?.windowStartMs === windowStartMs ? from.key : null,
        to?.windowStartMs === windowStartMs ? to.key : null,
      );
      if (ordinals.length > 0) sources.push({ windowStartMs, table, keys, ordinals });
    }
    return sources;
  }

  /** The ordinal behind that of the last dedupe id, of those that are not committed too. */
  get idsEnd(): number {
    return this.image.dedupeIds.end + this.#since.dedupeIds.end;
  }

  /** Ids that are counted from it or before are not known any more. */
  get expiredMs(): number {
    return expiredBy(this.image.dedupe, this.#since.progress.watermarkMs);
  }

  /** Those of a range of ordinals that a producer may send again. */
  encodeIds(from: number, to: number, writer: ByteWriter): IdRange {
    this.#assertUnsealed();
    const { expiredMs } = this;
    const { dedupeIds } = this.image;
    const old = dedupeIds.encode(from, to, expiredMs, writer);
    const [first, end] = [Math.max(0, from - dedupeIds.end), to - dedupeIds.end];
    const added = this.#since.dedupeIds.encode(first, end, expiredMs, writer);
    return {
      entryCount: old.entryCount + added.entryCount,
      newestMs: Math.max(old.newestMs, added.newestMs),
    };
  }

  /** Late partials that no run holds, this memory's included, by index of the image's views. */
  lateSinceRuns(): ClosedEntry[][] {
    this.#assertUnsealed();
    return this.#since.late.map((table, index) => [
      ...(this.image.late[index] as ClosedEntry[]),
      ...closedEntriesOf(wholeTable(table)),
    ]);
  }

  /** What was sealed is committed, or without that all that was folded: its delta is in HEAD. */
  commit(): void {
    const { image } = this;
    const done = this.#sealed ?? this.#since;
    for (const [index, table] of done.late.entries()) {
      for (const entry of closedEntriesOf(wholeTable(table))) image.addLateEntry(index, entry);
    }
    for (const table of image.tables) table.commit();
    image.progress = copyProgress(done.progress);
    image.dedupeIds.merge(done.dedupeIds, image.expiredMs);
    image.dedupeIds.sweep(image.expiredMs);
    if (this.#sealed === null) done.reset(image);
    else this.#since.predecessor = null;
    this.#sealed = null;
  }

  /** Bytes of memory that what was folded since then would take by itself, about. */
  uncommittedBytes(): number {
    let bytes = this.#since.heapBytes();
    for (const table of this.image.tables) bytes += table.touchedBytes();
    return bytes;
  }

  /** Bytes of memory that the state holds, about. */
  heapBytes(): number {
    const sealed = this.#sealed?.heapBytes() ?? 0;
    return this.image.heapBytes() + this.#since.heapBytes() + sealed;
  }

  /** By view: the entries that were touched, and what came late. */
  #changes() {
    return this.image.views.map((view, index) => ({
      view,
      life: this.image.lives[index] as ViewLife,
      entries: this.#touched(index),
      late: wholeTable(this.#since.late[index] as ViewTable),
    }));
  }

  /** The entries that were touched since the last commit: none of them is closing, whatever the watermark has passed since. */
  #touched(view: number): TouchedWindow[] {
    const table = this.image.tables[view] as ViewTable;
    return table.touchedStarts().map((startMs) => {
      assert(!this.image.isClosing(view, startMs), 'a-closing-entry-stays-as-it-is');
      return touchedOfWindow(table, startMs);
    });
  }

  /** The whole open state by view. */
  #views(): ViewSource[] {
    return this.image.views.map((view: ViewPlan, index) => {
      const life = this.image.lives[index] as ViewLife;
      const table = this.image.tables[index] as ViewTable;
      const starts = table.windowStarts(this.#isOpen(index));
      const entries = starts.map((startMs) => wholeWindow(table, startMs));
      return { view, life, entries, late: [] };
    });
  }

  /** While a commit is under way, nothing is encoded or redriven: what comes next is not known to follow it. */
  #assertUnsealed(): void {
    assert(this.#sealed === null, 'one-commit-at-a-time');
  }

  #isOpen(index: number): (windowStartMs: number) => boolean {
    const window = this.image.windows[index] as WindowAssigner;
    const { watermarkMs } = this.#since.progress;
    return (windowStartMs) => window.endOf(windowStartMs) > watermarkMs;
  }
}

function wholeTable(table: ViewTable): WindowSource[] {
  return table.windowStarts().map((startMs) => wholeWindow(table, startMs));
}

function encode(source: ChangeSource, order: EntryOrder): Uint8Array {
  const writer = new ByteWriter(1024);
  encodeChange(source, writer, order);
  return writer.finish();
}
