/**
 * The outer bytes of every stored object: a magic, the format's version, the body, and a CRC-32C over all before it.
 * Opened whole or not at all.
 *
 *   magic 4 · version 1 · body · checksum 4
 */
import { ByteReader, ByteWriter, FORMAT_VERSION } from '../bytes.ts';
import { crc32c } from '../crc32c.ts';
import { CorruptStateFault } from '../faults.ts';
import { requireFormat } from '../format-version.ts';

/** What comes before the body. */
export const ENVELOPE_HEADER_BYTES = 5;
const CHECKSUM_BYTES = 4;

export type Magic = 'TMHD' | 'TMDL' | 'TMMD' | 'TMBS' | 'TMRN' | 'TMQN';

/** `byteLength`: what the body takes, about: nothing is copied up to then. */
export function sealEnvelope(
  magic: Magic,
  write: (writer: ByteWriter) => void,
  byteLength = 1024,
): Uint8Array {
  const writer = new ByteWriter(byteLength);
  for (const character of magic) writer.u8(character.charCodeAt(0));
  writer.u8(FORMAT_VERSION);
  write(writer);
  writer.u32(crc32c(writer.peek()));
  return writer.take();
}

/** A reader over the body. `what` names the object in the fault that a person reads. */
export function openEnvelope(magic: Magic, bytes: Uint8Array, what: string): ByteReader {
  if (bytes.length < ENVELOPE_HEADER_BYTES + CHECKSUM_BYTES) {
    throw new CorruptStateFault(`${what} has ${bytes.length} bytes only`);
  }
  const found = String.fromCharCode(...bytes.subarray(0, 4));
  if (found !== magic) {
    throw new CorruptStateFault(
      `${what} begins with ${JSON.stringify(found)}, not with '${magic}'`,
    );
  }
  const end = bytes.length - CHECKSUM_BYTES;
  const stored = new ByteReader(bytes.subarray(end)).u32();
  const computed = crc32c(bytes.subarray(0, end));
  if (stored !== computed) {
    throw new CorruptStateFault(`the checksum of ${what} is ${computed}, not ${stored} as stored`);
  }
  requireFormat(what, bytes[4] as number, FORMAT_VERSION);
  return new ByteReader(bytes.subarray(ENVELOPE_HEADER_BYTES, end));
}
