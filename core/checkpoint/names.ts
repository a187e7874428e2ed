/**
 * The names of a slice's stored blobs: the only place where a key is formatted or read. A name is unique by its nonce,
 * and says which epoch its writer meant to complete.
 *
 *   <slice>/<kind>/<timeline>-<epoch>-<nonce>
 */
import { assert } from '../assert.ts';
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { Codes } from '../codes.ts';

export type BlobKind = 'delta' | 'merged' | 'base' | 'run';

/** Where a blob is kept: small deltas as items, all else as objects. */
export type BlobPlace = 'item' | 'object';

export interface BlobName {
  readonly kind: BlobKind;
  readonly timeline: number;
  readonly epoch: number;
  readonly nonce: string;
}

/** A reference to a blob: enough to fetch it and to know that it is the one that was meant. */
export interface BlobReference extends BlobName {
  readonly place: BlobPlace;
  readonly byteLength: number;
  /** CRC-32C: of a run of all of its bytes, of another blob of those before the CRC that it ends with. */
  readonly checksum: number;
}

const DIGITS = 12;
const NONCE = /^[0-9a-f]{16}$/;

export function blobKey(sliceId: string, name: BlobName): string {
  assert(NONCE.test(name.nonce), 'nonce-is-16-hex-digits', () => name.nonce);
  const timeline = String(name.timeline).padStart(DIGITS, '0');
  const epoch = String(name.epoch).padStart(DIGITS, '0');
  return `${sliceId}/${name.kind}/${timeline}-${epoch}-${name.nonce}`;
}

/** Lies before the keys of an epoch, and after those of the epochs before it. */
export function epochMark(
  sliceId: string,
  kind: BlobKind,
  timeline: number,
  epoch: number,
): string {
  const [first, second] = [timeline, epoch].map((number) => String(number).padStart(DIGITS, '0'));
  return `${sliceId}/${kind}/${first}-${second}`;
}

/** The name behind a key of the slice; null for a key that `blobKey` does not make. */
export function parseBlobKey(sliceId: string, key: string): BlobName | null {
  if (!key.startsWith(`${sliceId}/`)) return null;
  const match = /^(delta|merged|base|run)\/(\d{12})-(\d{12})-([0-9a-f]{16})$/.exec(
    key.slice(sliceId.length + 1),
  );
  if (match === null) return null;
  const [, kind, timeline, epoch, nonce] = match as unknown as [
    string,
    BlobKind,
    string,
    string,
    string,
  ];
  return { kind, timeline: Number(timeline), epoch: Number(epoch), nonce };
}

/** The delta of the commit that wrote a base. */
export function deltaOf(base: BlobName): BlobName {
  return { ...base, kind: 'delta' };
}

/** True if both name the same blob. */
export function sameBlob(a: BlobName, b: BlobName): boolean {
  return (
    a.kind === b.kind && a.timeline === b.timeline && a.epoch === b.epoch && a.nonce === b.nonce
  );
}

export const KIND_CODES = new Codes<BlobKind>("a blob's kind", {
  delta: 0,
  base: 1,
  run: 2,
  merged: 3,
});
export const PLACE_CODES = new Codes<BlobPlace>("a blob's place", { item: 0, object: 1 });
/** Whose blob a reference means: that of the slice that has the reference. */
export const HOME_CODES = new Codes<'own'>("a blob's slice", { own: 0 });

// About 22 bytes: a delta names its whole chain.
export function encodeReference(reference: BlobReference, writer: ByteWriter): void {
  KIND_CODES.encode(reference.kind, writer);
  PLACE_CODES.encode(reference.place, writer);
  HOME_CODES.encode('own', writer);
  writer.varint(reference.timeline);
  writer.varint(reference.epoch);
  writer.u32(Number.parseInt(reference.nonce.slice(0, 8), 16));
  writer.u32(Number.parseInt(reference.nonce.slice(8), 16));
  writer.varint(reference.byteLength);
  writer.u32(reference.checksum);
}

export function decodeReference(reader: ByteReader): BlobReference {
  const kind = KIND_CODES.decode(reader);
  const place = PLACE_CODES.decode(reader);
  HOME_CODES.decode(reader);
  const timeline = reader.varint();
  const epoch = reader.varint();
  const word = () => reader.u32().toString(16).padStart(8, '0');
  const nonce = word() + word();
  return {
    kind,
    place,
    timeline,
    epoch,
    nonce,
    byteLength: reader.varint(),
    checksum: reader.u32(),
  };
}

export function encodeReferences(references: readonly BlobReference[], writer: ByteWriter): void {
  writer.varint(references.length);
  for (const reference of references) encodeReference(reference, writer);
}

/** A reference that may be missing. */
export function encodeOptional(reference: BlobReference | null, writer: ByteWriter): void {
  writer.u8(reference === null ? 0 : 1);
  if (reference !== null) encodeReference(reference, writer);
}

export function decodeOptional(reader: ByteReader): BlobReference | null {
  return reader.flag() ? decodeReference(reader) : null;
}

export function decodeReferences(reader: ByteReader): BlobReference[] {
  return Array.from({ length: reader.varint() }, () => decodeReference(reader));
}
