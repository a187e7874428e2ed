/**
 * What became of each consumed record: every record is counted in exactly one class, so that the classes add up to the
 * digest's count.
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

export function encodeCounts(counts: Readonly<RecordCounts>, writer: ByteWriter): void {
  for (const name of CLASSES) writer.varint(counts[name]);
}

export function decodeCounts(reader: ByteReader): RecordCounts {
  const counts = noRecords();
  for (const name of CLASSES) counts[name] = reader.varint();
  return counts;
}
