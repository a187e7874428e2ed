/**
 * What became of each consumed record, those inside a Kinesis record too: every record is counted in exactly one class, so that
 * the classes add up to the count of records, which is kept apart.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';

export interface RecordCounts {
  /** In the answer of at least one view. */
  folded: number;
  /** Dropped, as the producer's id was known. */
  duplicates: number;
  /** Dropped as late by every view that selects it. */
  late: number;
  /** In the quarantine and in no answer. */
  quarantined: number;
  /** Selected by no view. */
  unmatched: number;
  /** Said only that time passes. */
  heartbeats: number;
}

export type RecordClass = keyof RecordCounts;

const CLASSES: readonly RecordClass[] = [
  'folded',
  'duplicates',
  'late',
  'quarantined',
  'unmatched',
  'heartbeats',
];

export function noRecords(): RecordCounts {
  return { folded: 0, duplicates: 0, late: 0, quarantined: 0, unmatched: 0, heartbeats: 0 };
}

/** Adds `more` to `counts`. */
export function addCounts(counts: RecordCounts, more: Readonly<RecordCounts>): void {
  for (const name of CLASSES) counts[name] += more[name];
}

export function totalRecords(counts: Readonly<RecordCounts>): number {
  return CLASSES.reduce((sum, name) => sum + counts[name], 0);
}

/** True if so many Kinesis records may hold so many records: each holds one at least. */
export function holdRecords(kinesisCount: number, recordCount: number): boolean {
  return kinesisCount <= recordCount && kinesisCount > 0 === recordCount > 0;
}

export function encodeCounts(counts: Readonly<RecordCounts>, writer: ByteWriter): void {
  for (const name of CLASSES) writer.varint(counts[name]);
}

export function decodeCounts(reader: ByteReader): RecordCounts {
  const counts = noRecords();
  for (const name of CLASSES) counts[name] = reader.varint();
  return counts;
}
