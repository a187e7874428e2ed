/**
 * What a `next` is made of: bytes with a version and a checksum, as text for an address. Opaque to clients. The checksum
 * finds what was cut or mistyped; it is no signature, so what comes back is judged like any other parameter.
 *
 *   version (1 byte) · body · checksum (4 bytes)
 */
import { ByteReader, ByteWriter } from '../bytes.ts';
import { crc32c } from '../crc32c.ts';
import { CorruptStateFault } from '../faults.ts';
import { fromBase64Url, toBase64Url } from './base64.ts';

const VERSION = 3;
const CHECKSUM_BYTES = 4;

export function sealToken(write: (writer: ByteWriter) => void): string {
  const writer = new ByteWriter();
  writer.u8(VERSION);
  write(writer);
  writer.u32(crc32c(writer.peek()));
  return toBase64Url(writer.peek());
}

/** What `read` makes of the body; null for a text that `sealToken` did not make. */
export function openToken<T>(text: string, read: (reader: ByteReader) => T): T | null {
  const bytes = fromBase64Url(text);
  if (bytes === null || bytes.length <= CHECKSUM_BYTES) return null;
  const end = bytes.length - CHECKSUM_BYTES;
  const body = bytes.subarray(0, end);
  if (new ByteReader(bytes.subarray(end)).u32() !== crc32c(body)) return null;
  try {
    const reader = new ByteReader(body);
    if (reader.u8() !== VERSION) return null;
    const value = read(reader);
    reader.end();
    return value;
  } catch (fault) {
    if (fault instanceof CorruptStateFault) return null;
    throw fault;
  }
}
