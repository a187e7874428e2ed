/**
 * A delta: the changes of one epoch since the one before, with the names of base and chain, so that a reader gets all that it
 * needs in two hops. The delta of an epoch that has a base carries that base's manifest too.
 */
import type { ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import { type ChainChange, type ChainLink, decodeChain, encodeChain } from './chain.ts';
import { openEnvelope, sealEnvelope } from './envelope.ts';
import { decodeManifest, encodeManifest, type Manifest } from './manifest.ts';
import {
  type BlobName,
  type BlobReference,
  decodeOptional,
  encodeOptional,
  sameBlob,
} from './names.ts';

export interface DeltaHeader {
  readonly sliceId: string;
  readonly timeline: number;
  readonly epoch: number;
  readonly nonce: string;
  readonly generation: number;
  readonly planOrdinal: number;
  readonly planHash: string;
  /** The chain before this one: what a restore needs beside the base, and the deltas of a few epochs more. */
  readonly predecessors: readonly ChainLink[];
  /** The merged delta that was written with this one, and ends with this epoch; null: none was. */
  readonly merged: ChainLink | null;
  /** The newest, that of this epoch included; null if there is none. */
  readonly base: BlobReference | null;
  /** Of the base that was written with this delta, otherwise null. */
  readonly manifest: Manifest | null;
  /** Inbox requests that this epoch has done. */
  readonly requestsDone: readonly string[];
}

/** Room for names, chain and manifest, about. */
const NAMES_BYTES = 8_192;

export function encodeDelta(header: DeltaHeader, change: Uint8Array): Uint8Array {
  const write = (writer: ByteWriter) => {
    writer.string(header.sliceId);
    writer.varint(header.timeline);
    writer.varint(header.epoch);
    writer.string(header.nonce);
    writer.varint(header.generation);
    writer.varint(header.planOrdinal);
    writer.string(header.planHash);
    encodeChain(header.predecessors, writer);
    encodeChain(header.merged === null ? [] : [header.merged], writer);
    encodeOptional(header.base, writer);
    writer.u8(header.manifest === null ? 0 : 1);
    if (header.manifest !== null) encodeManifest(header.manifest, writer);
    writer.varint(header.requestsDone.length);
    for (const request of header.requestsDone) writer.string(request);
    writer.raw(change);
  };
  return sealEnvelope('TMDL', write, change.length + NAMES_BYTES);
}

export interface Delta extends DeltaHeader, ChainChange {}

/** Opens a delta and checks that it is the one that `reference` names. */
export function decodeDelta(bytes: Uint8Array, sliceId: string, reference: BlobReference): Delta {
  const what = `delta ${reference.epoch} of ${sliceId}`;
  const reader = openEnvelope('TMDL', bytes, what);
  const header = {
    sliceId: reader.string(),
    timeline: reader.varint(),
    epoch: reader.varint(),
    nonce: reader.string(),
    generation: reader.varint(),
    planOrdinal: reader.varint(),
    planHash: reader.string(),
    predecessors: decodeChain(reader),
    merged: decodeChain(reader)[0] ?? null,
    base: decodeOptional(reader),
    manifest: reader.flag() ? decodeManifest(reader) : null,
    requestsDone: Array.from({ length: reader.varint() }, () => reader.string()),
  };
  const isMeant =
    header.sliceId === sliceId &&
    header.timeline === reference.timeline &&
    header.epoch === reference.epoch &&
    header.nonce === reference.nonce;
  if (!isMeant) throw new CorruptStateFault(`${what} says that it is another one`);
  const before = header.predecessors.at(-1) ?? null;
  return { ...header, kind: 'delta', before, tails: [], change: reader };
}

/**
 * Each link names the delta that it goes on from: one that is left out would go unnoticed, as each carries totals. One that
 * begins earlier than what is read before it says more than is missing. The delta that it leads to is what the next one follows.
 */
export function assertFollows(before: BlobName | null, change: ChainChange): BlobName {
  const { kind, sliceId, timeline, epoch, nonce, before: named } = change;
  const isLinked = named === null ? before === null : before !== null && sameBlob(named, before);
  const beginsEarlier = kind === 'merged' && (named?.epoch ?? 0) < (before?.epoch ?? 0);
  if (!isLinked && !beginsEarlier) {
    throw new CorruptStateFault(
      `delta ${epoch} of ${sliceId} follows epoch ${named?.epoch ?? 0}, but what is read before it is epoch ${before?.epoch ?? 0}`,
    );
  }
  return { kind: 'delta', timeline, epoch, nonce };
}
