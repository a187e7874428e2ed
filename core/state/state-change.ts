/**
 * The bytes of a change of a slice's state: what a delta carries, and a base too (the change from nothing).
 *
 *   position · watermark · newest time · digest · counts · views · dedupe ids · quarantined
 *   view: name, hash, covered from, since, open, closed, late
 *
 * Open and closed entries hold absolute values; late ones are partials, to be merged. Windows ascend, entries ascend by
 * key, so the same state has the same bytes, however it came about. Position, digest and counts are totals since the
 * slice began.
 */
import { type ByteReader, ByteWriter, compareBytes } from '../bytes.ts';
import type { ViewPlan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';
import type { Position } from '../position.ts';
import { isSequenceNumber } from '../position.ts';
import { decodeCounts, encodeCounts, type RecordCounts } from './counters.ts';
import { DedupeIds } from './dedupe-ids.ts';
import { Digest } from './digest.ts';
import { encodeGroupKey, type GroupMapKey, groupValuesOf } from './group-key.ts';
import type { ViewTable } from './view-table.ts';

/** Where a slice's fold stands, in totals. */
export interface FoldProgress {
  position: Position;
  /** −Infinity before the first record with a time. */
  watermarkMs: number;
  /** The latest event time of a record that was judged; −Infinity before the first. */
  newestMs: number;
  digest: Digest;
  counts: RecordCounts;
}

/** A record that the fold put aside. */
export interface QuarantineEntry extends Position {
  readonly partitionKey: string;
  readonly arrivalMs: number;
  readonly data: Uint8Array;
  readonly reason: string;
  readonly detail: string;
}

/** An entry on its way into a change: where its key and its accumulators are. */
export interface EntrySource {
  readonly key: GroupMapKey;
  readonly table: ViewTable;
  readonly slot: number;
}

export interface WindowSource {
  readonly windowStartMs: number;
  readonly entries: readonly EntrySource[];
}

export interface ViewSource {
  readonly view: ViewPlan;
  /** See `SliceImage.coveredFromMs`. */
  readonly coveredFromMs: number;
  /** See `SliceImage.sinceEpoch`. */
  readonly sinceEpoch: number;
  readonly open: readonly WindowSource[];
  readonly closed: readonly WindowSource[];
  readonly late: readonly WindowSource[];
}

export interface ChangeSource {
  readonly progress: FoldProgress;
  readonly views: readonly ViewSource[];
  readonly dedupeIds: readonly DedupeIds[];
  readonly quarantined: readonly QuarantineEntry[];
}

export type EntrySection = 'open' | 'closed' | 'late';

/** Takes the parts of a change, in the order in which they stand. Bytes are views of the input: copy what is kept. */
export interface ChangeVisitor {
  progress(progress: FoldProgress): void;
  /** The entries that follow are of this view. */
  view(name: string, hash: string, coveredFromMs: number, sinceEpoch: number): void;
  entry(
    section: EntrySection,
    windowStartMs: number,
    key: Uint8Array,
    accumulators: Uint8Array,
  ): void;
  dedupeIds(reader: ByteReader): void;
  quarantined(record: QuarantineEntry): void;
}

export function encodeChange(source: ChangeSource, writer: ByteWriter): void {
  encodeProgress(source.progress, writer);
  writer.varint(source.views.length);
  const scratch = new ByteWriter();
  for (const { view, coveredFromMs, sinceEpoch, open, closed, late } of source.views) {
    writer.string(view.name);
    writer.string(view.hash);
    writer.f64(coveredFromMs);
    writer.varint(sinceEpoch);
    for (const windows of [open, closed, late]) {
      writer.varint(windows.length);
      for (const window of windows) encodeWindow(view, window, writer, scratch);
    }
  }
  DedupeIds.encode(source.dedupeIds, source.progress.watermarkMs, writer);
  writer.varint(source.quarantined.length);
  for (const record of source.quarantined) encodeQuarantined(record, writer);
}

export function decodeChange(reader: ByteReader, visitor: ChangeVisitor): void {
  visitor.progress(decodeProgress(reader));
  const viewCount = reader.varint();
  for (let index = 0; index < viewCount; index++) {
    const [name, hash] = [reader.string(), reader.string()];
    visitor.view(name, hash, reader.f64(), reader.varint());
    for (const section of ['open', 'closed', 'late'] as const) {
      const windowCount = reader.varint();
      for (let window = 0; window < windowCount; window++) decodeWindow(section, reader, visitor);
    }
  }
  visitor.dedupeIds(reader);
  const quarantinedCount = reader.varint();
  for (let index = 0; index < quarantinedCount; index++) {
    visitor.quarantined(decodeQuarantined(reader));
  }
}

export function encodePosition(position: Position, writer: ByteWriter): void {
  writer.string(position.sequenceNumber);
  writer.varint(position.subSequence);
}

function decodePosition(reader: ByteReader): Position {
  return checkedPosition({ sequenceNumber: reader.string(), subSequence: reader.varint() });
}

/** A position as it was stored, in whatever form. */
export function checkedPosition(position: Position): Position {
  if (!isSequenceNumber(position.sequenceNumber)) {
    throw new CorruptStateFault(`'${position.sequenceNumber}' is not a sequence number`);
  }
  return position;
}

function encodeProgress(progress: FoldProgress, writer: ByteWriter): void {
  encodePosition(progress.position, writer);
  writer.f64(progress.watermarkMs);
  writer.f64(progress.newestMs);
  progress.digest.encode(writer);
  encodeCounts(progress.counts, writer);
}

function decodeProgress(reader: ByteReader): FoldProgress {
  return {
    position: decodePosition(reader),
    watermarkMs: reader.f64(),
    newestMs: reader.f64(),
    digest: Digest.decode(reader),
    counts: decodeCounts(reader),
  };
}

function encodeWindow(
  view: ViewPlan,
  window: WindowSource,
  writer: ByteWriter,
  scratch: ByteWriter,
): void {
  writer.signedVarint(window.windowStartMs);
  writer.varint(window.entries.length);
  const sorted = window.entries
    .map(({ key, table, slot }) => {
      const bytes = encodeGroupKey(groupValuesOf(key, view.groupBy.length));
      return { bytes, table, slot };
    })
    .sort((a, b) => compareBytes(a.bytes, b.bytes));
  for (const { bytes, table, slot } of sorted) {
    writer.bytes(bytes);
    scratch.clear();
    table.encode(slot, scratch);
    writer.bytes(scratch.peek());
  }
}

function decodeWindow(section: EntrySection, reader: ByteReader, visitor: ChangeVisitor): void {
  const windowStartMs = reader.signedVarint();
  const entryCount = reader.varint();
  for (let entry = 0; entry < entryCount; entry++) {
    visitor.entry(section, windowStartMs, reader.bytes(), reader.bytes());
  }
}

function encodeQuarantined(record: QuarantineEntry, writer: ByteWriter): void {
  encodePosition(record, writer);
  writer.string(record.partitionKey);
  writer.f64(record.arrivalMs);
  writer.string(record.reason);
  writer.string(record.detail);
  writer.bytes(record.data);
}

function decodeQuarantined(reader: ByteReader): QuarantineEntry {
  return {
    ...decodePosition(reader),
    partitionKey: reader.string(),
    arrivalMs: reader.f64(),
    reason: reader.string(),
    detail: reader.string(),
    data: reader.bytes(),
  };
}
