/**
 * The bytes of a change of a slice's state: what a delta carries, and a base too (the change from nothing).
 *
 *   position · watermark · newest time · high mark · shard time · arrivals · time hash · digest · records · counts · late drops · partly quarantined · partly dropped · past dedupe ·
 *   views · entries of each view · late partials of each view · dedupe · effects
 *   view: name, hash, life, columns     dedupe: field, within and life, ids
 *
 * Entries hold absolute values, whether or not the watermark has passed their window; late ones are partials, to be merged.
 * Windows ascend. In a base entries ascend by key, so the same state has the same bytes, however it came about; in a delta they
 * stand as they were touched.
 * Position, digest, records and counts are totals since the slice began.
 */
import { type ByteReader, ByteWriter } from '../bytes.ts';
import { Codes } from '../codes.ts';
import type { Plan, ViewPlan } from '../definition/plan.ts';
import { timeHash } from '../definition/plan-hash.ts';
import { CorruptStateFault } from '../faults.ts';
import { isSequenceNumber, type Position, START } from '../position.ts';
import { addCounts, decodeCounts, encodeCounts, noRecords, type RecordCounts } from './counters.ts';
import { DedupeIds, ID_BYTES } from './dedupe-ids.ts';
import { type DedupeLife, decodeDedupeLife, encodeDedupeLife, expiredBy } from './dedupe-life.ts';
import { Digest } from './digest.ts';
import { NO_HEARTBEAT, type ShardTime } from './heartbeat.ts';
import type { WindowEntries } from './key-table.ts';
import {
  decodeStoredView,
  encodeStoredView,
  type StoredView,
  storedView,
  type ViewLife,
} from './view-life.ts';
import type { ViewTable } from './view-table.ts';

/** Where a slice's fold stands, in totals. */
export interface FoldProgress {
  position: Position;
  /** −Infinity before the first record with a time. */
  watermarkMs: number;
  /**
   * The latest event time of a record that was judged since times are read as they are; −Infinity before the first. A
   * redriven one counts up to a day after its arrival only.
   */
  newestMs: number;
  /** The same without redriven records, which move no watermark: what a lateness of a view's own is counted from. */
  highMs: number;
  shardTime: ShardTime;
  /** The latest arrival time of a record, whatever became of it; −Infinity before the first. */
  newestArrivalMs: number;
  /** How times are read: see `timeHash`. */
  timeHash: string;
  /** Records that arrived later than this had their times read as they are now. −Infinity: all had. */
  otherTimesUntilMs: number;
  digest: Digest;
  /** Records that were judged, each of those inside a Kinesis record: as many as `counts` has. The digest counts Kinesis records. */
  recordCount: number;
  counts: RecordCounts;
  /** How often a view dropped a record as late, whether or not other views took it. */
  lateDrops: number;
  /** Records that some views folded and that wait in the quarantine as late for others: they count as `folded`. */
  partlyQuarantined: number;
  /** Records that some view dropped as late and that count as `folded`, since others took them. */
  partlyDropped: number;
  /** Folded records so old when they came that their ids are kept no more: sent before, they count twice. */
  pastDedupe: number;
}

/** A record that the fold quarantined. */
export interface QuarantineEntry extends Position {
  readonly partitionKey: string;
  readonly arrivalMs: number;
  readonly data: Uint8Array;
  readonly reason: string;
  readonly detail: string;
}

/** Entries of one window on their way into a change. */
export interface WindowSource {
  readonly windowStartMs: number;
  readonly table: ViewTable;
  readonly keys: WindowEntries;
  /** Which of the keys, by ordinal; null: all. */
  readonly ordinals: Uint32Array | null;
}

/** All entries of one window of a table. */
export function wholeWindow(table: ViewTable, windowStartMs: number): WindowSource {
  return { windowStartMs, table, keys: table.window(windowStartMs), ordinals: null };
}

/** Some of its keys. */
export interface TouchedWindow extends WindowSource {
  readonly ordinals: Uint32Array;
}

/** Those that were touched since the table's last commit. */
export function touchedOfWindow(table: ViewTable, windowStartMs: number): TouchedWindow {
  const keys = table.window(windowStartMs);
  return { windowStartMs, table, keys, ordinals: keys.touched() };
}

/** The ordinals of a window's entries, in the order in which they came. */
export function ordinalsOf({ keys, ordinals }: WindowSource): Uint32Array {
  return ordinals ?? Uint32Array.from({ length: keys.size }, (_, ordinal) => ordinal);
}

/** By key; or as they stand in the sources. */
export type EntryOrder = 'by-key' | 'as-it-comes';

export interface ViewSource {
  readonly view: ViewPlan;
  /** Each column has one. */
  readonly life: ViewLife;
  readonly entries: readonly WindowSource[];
  readonly late: readonly WindowSource[];
}

export interface ChangeSource {
  readonly progress: FoldProgress;
  readonly views: readonly ViewSource[];
  readonly dedupe: DedupeLife | null;
  readonly dedupeIds: readonly DedupeIds[];
  readonly quarantined: readonly QuarantineEntry[];
}

export type EntrySection = 'entries' | 'late';

/** Takes the parts of a change, in the order in which they stand. Bytes are views of the input: copy what is kept. */
export interface ChangeVisitor {
  progress(progress: FoldProgress): void;
  views(stored: readonly StoredView[]): void;
  /** `view` is by index of the stored ones; `reader` is at the accumulators, with their length, which are to be read. */
  entry(
    view: number,
    section: EntrySection,
    windowStartMs: number,
    key: Uint8Array,
    reader: ByteReader,
  ): void;
  /** `reader` is at the ids, which are to be read. */
  dedupe(life: DedupeLife | null, reader: ByteReader): void;
  quarantined(record: QuarantineEntry): void;
  /** Late partials, and ids with their policy: what `decodeTail` reads, after it was visited. */
  tail?(bytes: Uint8Array): void;
}

/** Returns where the tail lies: late partials, and ids with their policy. */
export function encodeChange(
  source: ChangeSource,
  writer: ByteWriter,
  order: EntryOrder,
): { readonly from: number; readonly to: number } {
  encodeProgress(source.progress, writer);
  writer.varint(source.views.length);
  for (const { view, life } of source.views) encodeStoredView(storedView(view, life), writer);
  for (const { entries } of source.views) encodeWindows(entries, writer, order);
  const from = writer.length;
  for (const { late } of source.views) encodeWindows(late, writer, order);
  encodeDedupe(source, writer, order);
  const to = writer.length;
  writer.varint(source.quarantined.length);
  for (const record of source.quarantined) {
    EFFECT_CODES.encode('quarantined', writer);
    const start = writer.beginSized();
    encodeQuarantined(record, writer);
    writer.endSized(start);
  }
  return { from, to };
}

export function decodeChange(reader: ByteReader, visitor: ChangeVisitor): void {
  visitor.progress(decodeProgress(reader));
  const stored = Array.from({ length: reader.varint() }, () => decodeStoredView(reader));
  visitor.views(stored);
  for (const view of stored.keys()) visitWindows(reader, view, 'entries', visitor);
  const from = reader.offset;
  decodeTail(reader, stored.length, visitor);
  visitor.tail?.(reader.readSince(from));
  const effectCount = reader.varint();
  for (let index = 0; index < effectCount; index++) {
    EFFECT_CODES.decode(reader);
    const end = reader.beginSized();
    visitor.quarantined(decodeQuarantined(reader));
    reader.endSized(end);
  }
}

/** Late partials of so many views, and ids with their policy. */
export function decodeTail(
  reader: ByteReader,
  viewCount: number,
  visitor: Pick<ChangeVisitor, 'entry' | 'dedupe'>,
): void {
  for (let view = 0; view < viewCount; view++) visitWindows(reader, view, 'late', visitor);
  visitor.dedupe(decodeDedupeLife(reader), reader);
}

function visitWindows(
  reader: ByteReader,
  view: number,
  section: EntrySection,
  visitor: Pick<ChangeVisitor, 'entry'>,
): void {
  const windowCount = reader.varint();
  for (let window = 0; window < windowCount; window++) {
    decodeWindow(reader, (startMs, key, ahead) => {
      visitor.entry(view, section, startMs, key, ahead);
    });
  }
}

export function encodePosition(position: Position, writer: ByteWriter): void {
  writer.string(position.sequenceNumber);
  writer.varint(position.subSequence);
}

export function decodePosition(reader: ByteReader): Position {
  return checkedPosition({ sequenceNumber: reader.string(), subSequence: reader.varint() });
}

/** A position as it was stored, in whatever form. */
export function checkedPosition(position: Position): Position {
  if (!isSequenceNumber(position.sequenceNumber)) {
    throw new CorruptStateFault(`'${position.sequenceNumber}' is not a sequence number`);
  }
  return position;
}

/** What has to be done elsewhere once an epoch is committed, and before the next one is. */
export const EFFECT_CODES = new Codes<'quarantined'>('an effect', { quarantined: 0 });

const TIME_HASH_BYTES = 8;

function encodeProgress(progress: FoldProgress, writer: ByteWriter): void {
  encodePosition(progress.position, writer);
  writer.f64(progress.watermarkMs);
  writer.f64(progress.newestMs);
  writer.f64(progress.highMs);
  writer.f64(progress.shardTime.confirmedMs);
  writer.f64(progress.shardTime.claimedMs);
  writer.f64(progress.newestArrivalMs);
  writer.hex(progress.timeHash);
  writer.f64(progress.otherTimesUntilMs);
  progress.digest.encode(writer);
  writer.varint(progress.recordCount);
  encodeCounts(progress.counts, writer);
  writer.varint(progress.lateDrops);
  writer.varint(progress.partlyQuarantined);
  writer.varint(progress.partlyDropped);
  writer.varint(progress.pastDedupe);
}

function decodeProgress(reader: ByteReader): FoldProgress {
  return {
    position: decodePosition(reader),
    watermarkMs: reader.f64(),
    newestMs: reader.f64(),
    highMs: reader.f64(),
    shardTime: { confirmedMs: reader.f64(), claimedMs: reader.f64() },
    newestArrivalMs: reader.f64(),
    timeHash: reader.hex(TIME_HASH_BYTES),
    otherTimesUntilMs: reader.f64(),
    digest: Digest.decode(reader),
    recordCount: reader.varint(),
    counts: decodeCounts(reader),
    lateDrops: reader.varint(),
    partlyQuarantined: reader.varint(),
    partlyDropped: reader.varint(),
    pastDedupe: reader.varint(),
  };
}

function encodeWindows(
  windows: readonly WindowSource[],
  writer: ByteWriter,
  order: EntryOrder,
): void {
  writer.varint(windows.length);
  for (const window of windows) encodeWindow(window, writer, order);
}

export function encodeWindow(window: WindowSource, writer: ByteWriter, order: EntryOrder): void {
  const { windowStartMs, table, keys } = window;
  let ordinals = ordinalsOf(window);
  if (order === 'by-key') ordinals = ordinals.slice().sort((a, b) => keys.compare(a, b));
  writer.signedVarint(windowStartMs);
  writer.varint(ordinals.length);
  for (const ordinal of ordinals) {
    keys.writeKey(ordinal, writer);
    const start = writer.beginSized();
    table.encode(keys.slotAt(ordinal), writer);
    writer.endSized(start);
  }
}

/** `visit` reads the accumulators, with their length. */
export function decodeWindow(
  reader: ByteReader,
  visit: (windowStartMs: number, key: Uint8Array, reader: ByteReader) => void,
): void {
  const windowStartMs = reader.signedVarint();
  const entryCount = reader.varint();
  for (let entry = 0; entry < entryCount; entry++) visit(windowStartMs, reader.bytes(), reader);
}

/** In the order in which they came, older times of an id too; or each once, by hash. Without dedupe there are none. */
function encodeDedupe(
  { dedupe, dedupeIds, progress }: ChangeSource,
  writer: ByteWriter,
  order: EntryOrder,
): void {
  encodeDedupeLife(dedupe, writer);
  const expiredMs = expiredBy(dedupe, progress.watermarkMs);
  if (order === 'by-key') {
    DedupeIds.encodeCanonical(dedupeIds, expiredMs, writer);
    return;
  }
  const ids = new ByteWriter();
  for (const set of dedupeIds) set.encode(0, set.end, expiredMs, ids);
  writer.varint(ids.length / ID_BYTES);
  writer.raw(ids.peek());
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

/** Of a slice that has folded nothing. */
export function noProgress(plan: Plan): FoldProgress {
  return {
    position: START,
    watermarkMs: Number.NEGATIVE_INFINITY,
    newestMs: Number.NEGATIVE_INFINITY,
    highMs: Number.NEGATIVE_INFINITY,
    shardTime: NO_HEARTBEAT,
    newestArrivalMs: Number.NEGATIVE_INFINITY,
    timeHash: timeHash(plan),
    otherTimesUntilMs: Number.NEGATIVE_INFINITY,
    digest: new Digest(),
    recordCount: 0,
    counts: noRecords(),
    lateDrops: 0,
    partlyQuarantined: 0,
    partlyDropped: 0,
    pastDedupe: 0,
  };
}

/** A copy of progress that does not move with the original. */
export function copyProgress(progress: FoldProgress): FoldProgress {
  const counts = noRecords();
  addCounts(counts, progress.counts);
  return { ...progress, digest: progress.digest.copy(), counts };
}
