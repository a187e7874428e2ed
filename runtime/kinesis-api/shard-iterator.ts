/**
 * Shard iterators: opaque to clients, whole in themselves, valid for five minutes. One names a stream, a shard and the
 * ordinal of the next record to read.
 */
import { ByteReader, ByteWriter } from '../../core/bytes.ts';
import { crc32c } from '../../core/crc32c.ts';
import { CorruptStateFault } from '../../core/faults.ts';

const VERSION = 1;
const CHECKSUM_BYTES = 4;

export interface ShardIterator {
  /** When the stream was made: an iterator of an earlier stream of the same name is not this one's. */
  readonly streamCreatedMs: number;
  readonly shardIndex: number;
  readonly ordinal: number;
  readonly issuedMs: number;
}

export function formatShardIterator(iterator: ShardIterator): string {
  const writer = new ByteWriter(48);
  writer.u8(VERSION);
  writer.varint(iterator.streamCreatedMs);
  writer.varint(iterator.shardIndex);
  writer.varint(iterator.ordinal);
  writer.varint(iterator.issuedMs);
  writer.u32(crc32c(writer.peek()));
  return Buffer.from(writer.peek()).toString('base64');
}

/** Null if the text is not an iterator. */
export function parseShardIterator(text: string): ShardIterator | null {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length <= CHECKSUM_BYTES || bytes.toString('base64') !== text) return null;
  const body = bytes.subarray(0, -CHECKSUM_BYTES);
  if (bytes.readUInt32LE(body.length) !== crc32c(body)) return null;
  try {
    const reader = new ByteReader(body);
    if (reader.u8() !== VERSION) return null;
    const iterator = {
      streamCreatedMs: reader.varint(),
      shardIndex: reader.varint(),
      ordinal: reader.varint(),
      issuedMs: reader.varint(),
    };
    reader.end();
    return iterator;
  } catch (error) {
    if (error instanceof CorruptStateFault) return null;
    throw error;
  }
}
