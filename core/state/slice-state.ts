/**
 * The keyed state of one slice in an owner's memory: the committed image, and the overlay of what was folded since.
 *
 * Invariants: image + overlay is the fold of exactly the shard's records up to `position`; the overlay changes nothing in
 * the image until `commit`, so that a memory that lost a race can drop it and go on.
 */
import { ByteWriter } from '../bytes.ts';
import type { BadRecord, RecordDecoder } from '../decode/record-decoder.ts';
import type { ViewPlan } from '../definition/plan.ts';
import type { StreamRecord } from '../ports.ts';
import type { Position } from '../position.ts';
import type { WindowAssigner } from '../time/window.ts';
import { type ClosedEntry, closedEntriesOf } from './closed-entries.ts';
import { ledgerNames, RecordFold } from './fold.ts';
import { type LedgerStanding, ledgerStanding } from './ledger-standing.ts';
import { Overlay } from './overlay.ts';
import { ledgerEntryKeys } from './quarantine-ledger.ts';
import type { SliceImage } from './slice-image.ts';
import {
  type ChangeSource,
  copyProgress,
  type EntrySource,
  encodeChange,
  entrySources,
  type QuarantineEntry,
  type ViewSource,
  type WindowSource,
} from './state-change.ts';
import type { ViewLife } from './view-life.ts';
import type { ViewTable } from './view-table.ts';

export type RedriveResult =
  | { readonly outcome: 'redriven' }
  | { readonly outcome: 'came-back' | 'not-put-aside' }
  | { readonly outcome: 'still-bad'; readonly bad: BadRecord };

export class SliceState {
  readonly image: SliceImage;
  readonly #overlay: Overlay;
  readonly #fold: RecordFold;
  /** The overlay by view, until it changes. */
  #changesNow: readonly ViewSource[] | null = null;

  constructor(image: SliceImage, decoder: RecordDecoder, shardId: string) {
    this.image = image;
    this.#overlay = new Overlay(image);
    this.#fold = new RecordFold(image.plan, decoder, shardId);
  }

  /** The last record that is in this memory. */
  get position(): Position {
    return this.#overlay.progress.position;
  }

  get progress(): Overlay['progress'] {
    return this.#overlay.progress;
  }

  /** Open entries of image and overlay together. */
  get entryCount(): number {
    let count = 0;
    for (const [index, { open, closed }] of this.#changes().entries()) {
      const table = this.image.tables[index] as ViewTable;
      count += table.entryCount;
      for (const { windowStartMs, entries } of open) {
        for (const { key } of entries) if (table.find(windowStartMs, key) < 0) count++;
      }
      for (const { windowStartMs } of closed) count -= table.window(windowStartMs).size;
    }
    return count;
  }

  /** Records quarantined since the image. */
  get quarantined(): readonly QuarantineEntry[] {
    return this.#overlay.quarantined;
  }

  /** Folds the record that follows `position`; with `condemned` it is quarantined unread. */
  fold(record: StreamRecord, condemned: BadRecord | null = null): void {
    this.#changesNow = null;
    this.#fold.fold(record, this.image, this.#overlay, condemned);
  }

  /** See `RecordFold.redrive`. `stored` are the record's entries in the ledger's runs. */
  redrive(record: StreamRecord, stored: readonly ClosedEntry[]): RedriveResult {
    const standing = this.ledgerStanding(record, stored);
    if (standing.waiting.length === 0) {
      return { outcome: standing.cameBack ? 'came-back' : 'not-put-aside' };
    }
    this.#changesNow = null;
    const bad = this.#fold.redrive(record, standing, this.image, this.#overlay);
    return bad === null ? { outcome: 'redriven' } : { outcome: 'still-bad', bad };
  }

  /** What the ledger says of a record; `stored` are its entries in runs. */
  ledgerStanding(record: Position, stored: readonly ClosedEntry[]): LedgerStanding {
    const committed = [...stored, ...this.image.recentLedger.entriesOf(record)];
    return ledgerStanding([...committed, ...this.#overlayLedger(record, committed)]);
  }

  /** What the overlay's ledger says of a record; `committed` are all other entries of it. */
  #overlayLedger(record: Position, committed: readonly ClosedEntry[]): ClosedEntry[] {
    const table = this.#overlay.late.at(-1) as ViewTable;
    // By slot: several names may be of one key.
    const entries = new Map<number, EntrySource>();
    for (const key of ledgerEntryKeys(record, ledgerNames(this.image), committed)) {
      const slot = table.find(0, key);
      if (slot >= 0) entries.set(slot, { key, table, slot });
    }
    return closedEntriesOf([{ windowStartMs: 0, entries: [...entries.values()] }]);
  }

  /** Forgets everything beyond the image. */
  dropOverlay(): void {
    this.#changesNow = null;
    this.#overlay.reset(this.image);
  }

  /** What a delta carries: the change from the image to this memory. */
  encodeDelta(): Uint8Array {
    const overlay = this.#overlay;
    return encode({
      progress: overlay.progress,
      views: this.#changes(),
      dedupe: this.image.dedupe,
      dedupeIds: [overlay.dedupeIds],
      quarantined: overlay.quarantined,
    });
  }

  /** What a base carries: the change from nothing to this memory's open state. */
  encodeBase(): Uint8Array {
    return encode({
      progress: this.#overlay.progress,
      views: this.#views(),
      dedupe: this.image.dedupe,
      dedupeIds: [this.image.dedupeIds, this.#overlay.dedupeIds],
      quarantined: [],
    });
  }

  /** Closed entries and late partials since the newest base, this memory's included, by index of the image's views. */
  closedSinceBase(): ClosedEntry[][] {
    return this.#changes().map(({ closed, late }, index) => [
      ...(this.image.closed[index] as ClosedEntry[]),
      ...closedEntriesOf(closed),
      ...closedEntriesOf(late),
    ]);
  }

  /** The overlay becomes part of the image: its delta is committed. */
  commit(): void {
    const { image } = this;
    const overlay = this.#overlay;
    for (const [index, { open, closed, late }] of this.#changes().entries()) {
      image.addClosed(index, closed);
      image.addClosed(index, late);
      const table = image.tables[index] as ViewTable;
      for (const { windowStartMs, entries } of open) {
        for (const { key, slot } of entries) {
          let target = table.find(windowStartMs, key);
          if (target < 0) target = table.insert(windowStartMs, key);
          table.copyFrom(target, overlay.tables[index] as ViewTable, slot);
        }
      }
    }
    image.progress = copyProgress(overlay.progress);
    image.dedupeIds.merge(overlay.dedupeIds, image.expiredMs);
    image.removeClosedWindows();
    this.dropOverlay();
  }

  /** Bytes of memory that the changes since the image hold, about. */
  overlayBytes(): number {
    return this.#overlay.heapBytes();
  }

  /** Bytes of memory that the state holds, about. */
  heapBytes(): number {
    return this.image.heapBytes() + this.#overlay.heapBytes();
  }

  /** The overlay by view: what it changed, what closes by its watermark (untouched entries too), what came late. */
  #changes(): readonly ViewSource[] {
    this.#changesNow ??= this.image.views.map((view, index) => {
      const overlayTable = this.#overlay.tables[index] as ViewTable;
      const imageTable = this.image.tables[index] as ViewTable;
      return {
        view,
        life: this.image.lives[index] as ViewLife,
        open: windowsOf([overlayTable], this.#isOpen(index)),
        closed: windowsOf([imageTable, overlayTable], (startMs) => !this.#isOpen(index)(startMs)),
        late: windowsOf([this.#overlay.late[index] as ViewTable], () => true),
      };
    });
    return this.#changesNow;
  }

  /** The whole open state by view. */
  #views(): ViewSource[] {
    return this.image.views.map((view: ViewPlan, index) => {
      const life = this.image.lives[index] as ViewLife;
      const tables = [this.image.tables[index], this.#overlay.tables[index]] as ViewTable[];
      const open = windowsOf(tables, this.#isOpen(index));
      return { view, life, open, closed: [], late: [] };
    });
  }

  #isOpen(index: number): (windowStartMs: number) => boolean {
    const window = this.image.windows[index] as WindowAssigner;
    const { watermarkMs } = this.#overlay.progress;
    return (windowStartMs) => window.endOf(windowStartMs) > watermarkMs;
  }
}

function encode(source: ChangeSource): Uint8Array {
  const writer = new ByteWriter(1024);
  encodeChange(source, writer);
  return writer.finish();
}

/** The wanted windows of tables of one view; where several hold an entry, the last one's counts. */
function windowsOf(
  tables: readonly ViewTable[],
  wanted: (windowStartMs: number) => boolean,
): WindowSource[] {
  const starts = new Set(tables.flatMap((table) => table.windowStarts()));
  return [...starts]
    .filter(wanted)
    .sort((a, b) => a - b)
    .map((windowStartMs) => ({ windowStartMs, entries: entriesOf(tables, windowStartMs) }));
}

function entriesOf(tables: readonly ViewTable[], windowStartMs: number): EntrySource[] {
  return tables.flatMap((table, index) => {
    const newer = tables.slice(index + 1);
    const isNewest = ({ key }: EntrySource) =>
      newer.every((each) => each.find(windowStartMs, key) < 0);
    const entries = entrySources(table, windowStartMs);
    return newer.length === 0 ? entries : entries.filter(isNewest);
  });
}
