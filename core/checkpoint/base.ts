/**
 * A base: what a slice's state at one epoch is stored in. It holds the parts that were written with it, and says where all
 * else is: its manifest names the parts that lie in older bases, and the runs of drained entries and late partials.
 *
 *   length of the pack 4 · part … part · names · manifest · entries · the state without entries and ids
 *
 * Parts come first, so that where they lie depends on nothing that follows.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import { ENVELOPE_HEADER_BYTES, openEnvelope, sealEnvelope } from './envelope.ts';
import { decodeManifest, encodeManifest, type Manifest } from './manifest.ts';
import { type BlobReference, sameBlob } from './names.ts';

export interface BaseHeader {
  readonly sliceId: string;
  readonly timeline: number;
  readonly epoch: number;
  readonly nonce: string;
  readonly planHash: string;
  readonly manifest: Manifest;
  /** Entries at the epoch that no run has: open ones, and closing ones. */
  readonly entryCount: number;
}

/** Where in a base its first part begins. */
export const PACK_OFFSET = ENVELOPE_HEADER_BYTES + 4;

/** Room for names and manifest, about. */
const NAMES_BYTES = 8_192;

/** `pack`: the parts that the manifest says lie in this base, one behind the other. */
export function encodeBase(header: BaseHeader, pack: Uint8Array, state: Uint8Array): Uint8Array {
  const write = (writer: ByteWriter) => {
    writer.u32(pack.length);
    writer.raw(pack);
    writer.string(header.sliceId);
    writer.varint(header.timeline);
    writer.varint(header.epoch);
    writer.string(header.nonce);
    writer.string(header.planHash);
    encodeManifest(header.manifest, writer, (each) => sameBlob(each, { ...header, kind: 'base' }));
    writer.varint(header.entryCount);
    writer.raw(state);
  };
  return sealEnvelope('TMBS', write, pack.length + state.length + NAMES_BYTES);
}

export interface Base extends BaseHeader {
  /** At the first byte of the state without entries and ids. */
  readonly state: ByteReader;
  /** All bytes of the base: its own parts lie in them. */
  readonly bytes: Uint8Array;
  readonly reference: BlobReference;
}

/** Opens a base and checks that it is the one that `reference` names. */
export function decodeBase(bytes: Uint8Array, sliceId: string, reference: BlobReference): Base {
  const what = `base ${reference.epoch} of ${sliceId}`;
  const reader = openEnvelope('TMBS', bytes, what);
  reader.raw(reader.u32());
  const base = {
    sliceId: reader.string(),
    timeline: reader.varint(),
    epoch: reader.varint(),
    nonce: reader.string(),
    planHash: reader.string(),
    manifest: decodeManifest(reader, reference),
    entryCount: reader.varint(),
    state: reader,
    bytes,
    reference,
  };
  const isMeant =
    base.sliceId === sliceId &&
    base.timeline === reference.timeline &&
    base.epoch === reference.epoch &&
    base.nonce === reference.nonce;
  if (!isMeant) throw new CorruptStateFault(`${what} says that it is another one`);
  return base;
}
