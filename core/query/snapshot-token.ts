/**
 * The `next` of a view's answer: which epochs it came from and where the following page begins, so that any environment
 * can go on with exactly the same rows, whatever was written since.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import type { SliceStatus } from '../checkpoint/head.ts';
import { decodeOptional, encodeOptional } from '../checkpoint/names.ts';
import type { EpochReference } from '../checkpoint/restore.ts';
import { CorruptStateFault } from '../faults.ts';
import { openToken, sealToken } from './token.ts';

/** Where a row stands among the others: by the value that orders them, if any, then by key and window. */
export interface RowPosition {
  /** Null where rows are ordered by key alone, or the row's group has no value. */
  readonly value: number | null;
  readonly key: Uint8Array;
  readonly windowStartMs: number;
}

/** One slice of a snapshot. */
export interface PinnedSlice extends EpochReference {
  readonly status: SliceStatus;
  /** It has folded no record yet, although its shard has some: its watermark is not known. */
  readonly waits: boolean;
}

export interface SnapshotToken {
  /** When the first page was answered. */
  readonly issuedMs: number;
  /** Of everything that was asked, but for what may change from page to page. */
  readonly questionHash: string;
  /** The last row that was answered. */
  readonly after: RowPosition;
  readonly slices: readonly PinnedSlice[];
}

const STATUSES: readonly SliceStatus[] = ['OPEN', 'RECOVERING', 'OPENING', 'SEALED'];

export function encodeSnapshotToken(token: SnapshotToken): string {
  return sealToken((writer) => {
    writer.f64(token.issuedMs);
    writer.string(token.questionHash);
    encodeRowPosition(token.after, writer);
    writer.varint(token.slices.length);
    for (const { sliceId, status, waits, base, delta } of token.slices) {
      writer.string(sliceId);
      writer.u8(STATUSES.indexOf(status));
      writer.u8(waits ? 1 : 0);
      encodeOptional(base, writer);
      encodeOptional(delta, writer);
    }
  });
}

/** Null for a text that `encodeSnapshotToken` did not make. */
export function decodeSnapshotToken(text: string): SnapshotToken | null {
  return openToken(text, (reader) => {
    const issuedMs = reader.f64();
    const questionHash = reader.string();
    const after = decodeRowPosition(reader);
    const slices: PinnedSlice[] = [];
    const sliceCount = reader.varint();
    while (slices.length < sliceCount) slices.push(decodeSlice(reader));
    return { issuedMs, questionHash, after, slices };
  });
}

function decodeSlice(reader: ByteReader): PinnedSlice {
  const sliceId = reader.string();
  const status = STATUSES[reader.u8()];
  if (status === undefined) throw new CorruptStateFault('a token with an unknown status');
  const waits = reader.flag();
  return { sliceId, status, waits, base: decodeOptional(reader), delta: decodeOptional(reader) };
}

function encodeRowPosition({ value, key, windowStartMs }: RowPosition, writer: ByteWriter): void {
  writer.u8(value === null ? 0 : 1);
  if (value !== null) writer.f64(value);
  writer.bytes(key);
  writer.signedVarint(windowStartMs);
}

function decodeRowPosition(reader: ByteReader): RowPosition {
  return {
    value: reader.u8() === 1 ? reader.f64() : null,
    key: reader.bytes().slice(),
    windowStartMs: reader.signedVarint(),
  };
}
