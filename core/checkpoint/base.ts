/**
 * A base: the full snapshot of a slice at one epoch. Its open state is the change from nothing; the closed entries of its
 * history are in the runs of its manifest.
 */
import type { ByteReader } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import { openEnvelope, sealEnvelope } from './envelope.ts';
import { decodeManifest, encodeManifest, type Manifest } from './manifest.ts';
import type { BlobReference } from './names.ts';

export interface BaseHeader {
  readonly sliceId: string;
  readonly timeline: number;
  readonly epoch: number;
  readonly nonce: string;
  readonly planHash: string;
  readonly manifest: Manifest;
}

export function encodeBase(header: BaseHeader, state: Uint8Array): Uint8Array {
  return sealEnvelope('TMBS', (writer) => {
    writer.string(header.sliceId);
    writer.varint(header.timeline);
    writer.varint(header.epoch);
    writer.string(header.nonce);
    writer.string(header.planHash);
    encodeManifest(header.manifest, writer);
    writer.raw(state);
  });
}

export interface Base extends BaseHeader {
  /** At the first byte of the state. */
  readonly state: ByteReader;
}

/** Opens a base and checks that it is the one that `reference` names. */
export function decodeBase(bytes: Uint8Array, sliceId: string, reference: BlobReference): Base {
  const what = `base ${reference.epoch} of ${sliceId}`;
  const reader = openEnvelope('TMBS', bytes, what);
  const base = {
    sliceId: reader.string(),
    timeline: reader.varint(),
    epoch: reader.varint(),
    nonce: reader.string(),
    planHash: reader.string(),
    manifest: decodeManifest(reader),
    state: reader,
  };
  const isMeant =
    base.sliceId === sliceId &&
    base.timeline === reference.timeline &&
    base.epoch === reference.epoch &&
    base.nonce === reference.nonce;
  if (!isMeant) throw new CorruptStateFault(`${what} says that it is another one`);
  return base;
}
