/**
 * A finite number, or none, in 1 to 9 bytes. Small integers are what most records carry, and they
 * take two or three. Canonical: a number has one form, and −0 none.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';

const POSITIVE_INTEGER = 0;
const NEGATIVE_INTEGER = 1;
const DOUBLE = 2;
const NONE = 3;

export function writeNumber(writer: ByteWriter, value: number | null): void {
  if (value === null) {
    writer.u8(NONE);
  } else if (Number.isSafeInteger(value)) {
    writer.u8(value < 0 ? NEGATIVE_INTEGER : POSITIVE_INTEGER);
    writer.varint(Math.abs(value));
  } else {
    writer.u8(DOUBLE);
    writer.f64(value);
  }
}

/** The inverse of `writeNumber`; throws `CorruptStateFault` on bytes that it does not write. */
export function readNumber(reader: ByteReader): number | null {
  const tag = reader.u8();
  if (tag === NONE) return null;
  if (tag === POSITIVE_INTEGER) return reader.varint();
  if (tag === NEGATIVE_INTEGER) {
    const magnitude = reader.varint();
    if (magnitude === 0) throw new CorruptStateFault('a stored number is −0');
    return -magnitude;
  }
  if (tag !== DOUBLE) {
    throw new CorruptStateFault(`a stored number has tag ${tag}, expected 0 to ${NONE}`);
  }
  const value = reader.f64();
  if (!Number.isFinite(value) || Number.isSafeInteger(value)) {
    throw new CorruptStateFault(`a stored number is ${value} where only other doubles stand`);
  }
  return value;
}
