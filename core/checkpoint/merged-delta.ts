/**
 * A merged delta: what several epochs changed together, up to the one whose name it has. Entries have the values of that epoch,
 * each once; late partials and ids stand as the deltas have them, each with its epoch, since they may lie in runs and parts already.
 *
 * It says nothing that the deltas do not say: where it is damaged, they are read.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import type { ChangeTail } from '../state/change-tail.ts';
import type { ChainChange, ChainLink } from './chain.ts';
import { openEnvelope, sealEnvelope } from './envelope.ts';
import type { BlobName } from './names.ts';

export interface MergedDeltaHeader {
  readonly sliceId: string;
  readonly timeline: number;
  readonly epoch: number;
  readonly nonce: string;
  readonly planHash: string;
  /** The delta that the first of those that it merges goes on from; null: it is the first of all. */
  readonly before: BlobName | null;
  readonly tails: readonly ChangeTail[];
}

/** `change`: without late partials, ids and quarantined records. */
export function encodeMergedDelta(header: MergedDeltaHeader, change: Uint8Array): Uint8Array {
  const write = (writer: ByteWriter) => {
    writer.string(header.sliceId);
    writer.varint(header.timeline);
    writer.varint(header.epoch);
    writer.string(header.nonce);
    writer.string(header.planHash);
    encodeBefore(header.before, writer);
    writer.varint(header.tails.length);
    for (const { epoch, bytes } of header.tails) {
      writer.varint(epoch);
      writer.bytes(bytes);
    }
    writer.raw(change);
  };
  return sealEnvelope('TMMD', write, change.length + bytesOf(header.tails));
}

function encodeBefore(before: BlobName | null, writer: ByteWriter): void {
  writer.u8(before === null ? 0 : 1);
  if (before === null) return;
  writer.varint(before.timeline);
  writer.varint(before.epoch);
  writer.string(before.nonce);
}

function decodeBefore(reader: ByteReader): BlobName | null {
  if (!reader.flag()) return null;
  return {
    kind: 'delta',
    timeline: reader.varint(),
    epoch: reader.varint(),
    nonce: reader.string(),
  };
}

/** Of tails, names included, about. */
function bytesOf(tails: readonly ChangeTail[]): number {
  return tails.reduce((sum, { bytes }) => sum + bytes.length + 8, 1_024);
}

/** Opens a merged delta and checks that it is the one that `link` names. */
export function decodeMergedDelta(
  bytes: Uint8Array,
  sliceId: string,
  link: ChainLink,
): ChainChange {
  const what = `the merged delta ${link.epoch} of ${sliceId}`;
  const reader = openEnvelope('TMMD', bytes, what);
  const merged = {
    kind: 'merged' as const,
    sliceId: reader.string(),
    timeline: reader.varint(),
    epoch: reader.varint(),
    nonce: reader.string(),
    planHash: reader.string(),
    before: decodeBefore(reader),
    tails: Array.from({ length: reader.varint() }, () => {
      return { epoch: reader.varint(), bytes: reader.bytes() };
    }),
    change: reader,
  };
  const isMeant =
    merged.sliceId === sliceId &&
    merged.timeline === link.timeline &&
    merged.epoch === link.epoch &&
    merged.nonce === link.nonce &&
    (merged.before?.epoch ?? 0) === link.after;
  if (!isMeant) throw new CorruptStateFault(`${what} says that it is another one`);
  return merged;
}
