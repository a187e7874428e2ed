/**
 * What one commit quarantined for one reason, as one object: the records' data, one after the other, then what is known of each
 * in an envelope of its own (magic, version, checksum). Records are in the order of their positions, so the same records have
 * the same bytes.
 *
 *   data … data · envelope: count, then for each record position, partition key, arrival, detail, length and CRC-32C of its data
 */
import type { ByteReader } from '../../core/bytes.ts';
import { openEnvelope, sealEnvelope } from '../../core/checkpoint/envelope.ts';
import { crc32c } from '../../core/crc32c.ts';
import { CorruptStateFault } from '../../core/faults.ts';
import type { StreamRecord } from '../../core/ports.ts';
import { compareRecords } from '../../core/position.ts';
import { decodePosition, encodePosition } from '../../core/state/state-change.ts';

export interface ObjectRecord extends StreamRecord {
  readonly detail: string;
}

export interface ObjectEntry extends Omit<ObjectRecord, 'data'> {
  /** Where its data lie. */
  readonly offset: number;
  readonly byteLength: number;
  readonly checksum: number;
}

export interface EncodedObject {
  readonly bytes: Uint8Array;
  /** Where the envelope begins. */
  readonly metaOffset: number;
}

export function encodeQuarantineObject(records: readonly ObjectRecord[]): EncodedObject {
  const sorted = [...records].sort(compareRecords);
  const meta = sealEnvelope('TMQN', (writer) => {
    writer.varint(sorted.length);
    for (const record of sorted) {
      encodePosition(record, writer);
      writer.string(record.partitionKey);
      writer.f64(record.arrivalMs);
      writer.string(record.detail);
      writer.varint(record.data.length);
      writer.u32(crc32c(record.data));
    }
  });
  const metaOffset = sorted.reduce((sum, { data }) => sum + data.length, 0);
  const bytes = new Uint8Array(metaOffset + meta.length);
  let at = 0;
  for (const { data } of sorted) {
    bytes.set(data, at);
    at += data.length;
  }
  bytes.set(meta, metaOffset);
  return { bytes, metaOffset };
}

/** `name` is that of the object, for the fault that a person reads. */
export function decodeEntries(meta: Uint8Array, name: string): ObjectEntry[] {
  const reader = openEnvelope('TMQN', meta, name);
  let offset = 0;
  const entries = Array.from({ length: reader.varint() }, () => {
    const entry = decodeEntry(reader, offset);
    offset += entry.byteLength;
    return entry;
  });
  reader.end();
  return entries;
}

/** A record's data out of the whole object. */
export function dataOf(bytes: Uint8Array, entry: ObjectEntry, name: string): Uint8Array {
  const data = bytes.slice(entry.offset, entry.offset + entry.byteLength);
  if (data.length === entry.byteLength && crc32c(data) === entry.checksum) return data;
  throw new CorruptStateFault(
    `${name} does not hold the data of ${entry.sequenceNumber} as they were written`,
    { hint: 'bring back a version of the object from before' },
  );
}

function decodeEntry(reader: ByteReader, offset: number): ObjectEntry {
  return {
    ...decodePosition(reader),
    partitionKey: reader.string(),
    arrivalMs: reader.f64(),
    detail: reader.string(),
    offset,
    byteLength: reader.varint(),
    checksum: reader.u32(),
  };
}
