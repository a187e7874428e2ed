/**
 * The `next` of an answer: which epochs it came from and where the following page begins, so that any environment can go
 * on with exactly the same rows. Opaque to clients, checked when it comes back.
 */
import { ByteReader, ByteWriter } from '../bytes.ts';
import { type BlobReference, decodeReference, encodeReference } from '../checkpoint/names.ts';
import type { EpochReference } from '../checkpoint/restore.ts';
import { crc32c } from '../crc32c.ts';

export interface SnapshotToken {
  readonly issuedMs: number;
  /** Rows that were answered before. */
  readonly offset: number;
  /** Of everything that was asked but `next` itself. */
  readonly questionHash: string;
  readonly slices: readonly EpochReference[];
}

const VERSION = 1;

export function encodeToken(token: SnapshotToken): string {
  const writer = new ByteWriter();
  writer.u8(VERSION);
  writer.f64(token.issuedMs);
  writer.varint(token.offset);
  writer.string(token.questionHash);
  writer.varint(token.slices.length);
  for (const { sliceId, base, delta } of token.slices) {
    writer.string(sliceId);
    encodeOptional(base, writer);
    encodeOptional(delta, writer);
  }
  writer.u32(crc32c(writer.peek()));
  const text = Array.from(writer.peek(), (byte) => String.fromCharCode(byte)).join('');
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** Null for a text that `encodeToken` did not make. */
export function decodeToken(text: string): SnapshotToken | null {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const body = bytes.subarray(0, bytes.length - 4);
    const checksum = new ByteReader(bytes.subarray(body.length)).u32();
    if (checksum !== crc32c(body)) return null;
    const reader = new ByteReader(body);
    if (reader.u8() !== VERSION) return null;
    const token = {
      issuedMs: reader.f64(),
      offset: reader.varint(),
      questionHash: reader.string(),
      slices: Array.from({ length: reader.varint() }, () => ({
        sliceId: reader.string(),
        base: decodeOptional(reader),
        delta: decodeOptional(reader),
      })),
    };
    reader.end();
    return token;
  } catch {
    return null;
  }
}

function encodeOptional(reference: BlobReference | null, writer: ByteWriter): void {
  writer.u8(reference === null ? 0 : 1);
  if (reference !== null) encodeReference(reference, writer);
}

function decodeOptional(reader: ByteReader): BlobReference | null {
  return reader.u8() === 1 ? decodeReference(reader) : null;
}
