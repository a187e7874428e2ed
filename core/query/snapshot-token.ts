/**
 * The `next` of a view's answer: which epochs it came from and where the following page begins, so that any environment
 * can go on with exactly the same rows, whatever was written since.
 *
 * It travels in an address, so an epoch is named by its number and one byte of its nonce, and a fingerprint of all their
 * names makes sure that what is found again is what was meant: about 4 bytes a slice, and slices in the order of their ids.
 *
 *   issued · question · last row · fingerprint 8 · listed 1 · ids · of each slice: epoch and whether it is usual, nonce 1, unless usual: standing
 *   ids: runs of consecutive numbers (`slice-` and 12 digits), then all others as they are
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { STATUS_CODES } from '../checkpoint/head.ts';
import type { BlobName, BlobReference } from '../checkpoint/names.ts';
import { CorruptStateFault } from '../faults.ts';
import { hashTextHex } from '../hash.ts';
import type { SliceStatus } from '../slice/topology.ts';
import { openToken, sealToken } from './token.ts';

/** Where a row stands among the others: by the value that orders them, if any, then by key and window. */
export interface RowPosition {
  /** Null where rows are ordered by key alone, or the row's group has no value. */
  readonly value: number | null;
  readonly key: Uint8Array;
  readonly windowStartMs: number;
}

/** One slice of a snapshot. */
export interface PinnedSlice {
  readonly sliceId: string;
  readonly status: SliceStatus;
  /** It has folded no record yet, although its shard has some: its watermark is not known. */
  readonly waits: boolean;
  /** 0: it has folded nothing. */
  readonly epoch: number;
  /** See `nonceByte`. */
  readonly nonceByte: number;
}

export interface SnapshotToken {
  /** When the first page was answered. */
  readonly issuedMs: number;
  /** Of everything that was asked, but for what may change from page to page. */
  readonly questionHash: string;
  /** The last row that was answered. */
  readonly after: RowPosition;
  /** See `fingerprintOf`. */
  readonly fingerprint: string;
  /** See `Snapshot.isListed`. */
  readonly isListed: boolean;
  /** In the order that `inTokenOrder` gives. */
  readonly slices: readonly PinnedSlice[];
}

/** Tells an epoch's delta from most of those that lost the race for the same number; 0 of no delta. */
export function nonceByte(delta: Pick<BlobName, 'nonce'> | null): number {
  return delta === null ? 0 : Number.parseInt(delta.nonce.slice(-2), 16);
}

const FINGERPRINT_DIGITS = 16;

/** Of the deltas of a snapshot's slices, whole and in order. */
export function fingerprintOf(
  slices: readonly { readonly sliceId: string; readonly delta: BlobReference | null }[],
): string {
  const names = inTokenOrder(slices).map(({ sliceId, delta }) =>
    [sliceId, delta?.timeline, delta?.epoch, delta?.nonce].join(' '),
  );
  return hashTextHex(names.join('\n')).slice(0, FINGERPRINT_DIGITS);
}

/** Numbered ids first, ascending, then all others, by their characters. */
export function inTokenOrder<T extends { readonly sliceId: string }>(slices: readonly T[]): T[] {
  return [...slices].sort((a, b) => {
    const [left, right] = [numberOf(a.sliceId), numberOf(b.sliceId)];
    if (left !== null && right !== null) return left - right;
    if (left !== null || right !== null) return left === null ? 1 : -1;
    return a.sliceId < b.sliceId ? -1 : 1;
  });
}

export function encodeSnapshotToken(token: SnapshotToken): string {
  const slices = inTokenOrder(token.slices);
  return sealToken((writer) => {
    writer.f64(token.issuedMs);
    writer.string(token.questionHash);
    encodeRowPosition(token.after, writer);
    for (const at of [0, FINGERPRINT_DIGITS / 2]) {
      writer.u32(Number.parseInt(token.fingerprint.slice(at, at + FINGERPRINT_DIGITS / 2), 16));
    }
    writer.u8(token.isListed ? 1 : 0);
    encodeIds(slices, writer);
    let before = 0;
    for (const slice of slices) {
      const { status, waits, epoch } = slice;
      const isUsual = status === 'OPEN' && !waits;
      writer.varint(zigzag(epoch - before) * 2 + (isUsual ? 0 : 1));
      writer.u8(slice.nonceByte);
      if (!isUsual) writer.u8(STATUS_CODES.codeOf(status) * 2 + (waits ? 1 : 0));
      before = epoch;
    }
  });
}

/** Null for a text that `encodeSnapshotToken` did not make. */
export function decodeSnapshotToken(text: string): SnapshotToken | null {
  return openToken(text, (reader) => {
    const issuedMs = reader.f64();
    const questionHash = reader.string();
    const after = decodeRowPosition(reader);
    const word = () =>
      reader
        .u32()
        .toString(16)
        .padStart(FINGERPRINT_DIGITS / 2, '0');
    const fingerprint = word() + word();
    const isListed = reader.flag();
    const sliceIds = decodeIds(reader);
    let before = 0;
    const slices = sliceIds.map((sliceId): PinnedSlice => {
      const packed = reader.varint();
      const isUsual = packed % 2 === 0;
      const epoch = before + unzigzag(Math.floor(packed / 2));
      const nonceByte = reader.u8();
      const standing = isUsual ? USUAL : reader.u8();
      const status = STATUS_CODES.nameOf(Math.floor(standing / 2));
      before = epoch;
      return { sliceId, status, waits: standing % 2 === 1, epoch, nonceByte };
    });
    return { issuedMs, questionHash, after, fingerprint, isListed, slices };
  });
}

/** Open, and nothing waits. */
const USUAL = STATUS_CODES.codeOf('OPEN') * 2;
const NUMBERED = /^slice-(\d{12})$/;

function numberOf(sliceId: string): number | null {
  const digits = NUMBERED.exec(sliceId)?.[1];
  return digits === undefined ? null : Number(digits);
}

function encodeIds(slices: readonly PinnedSlice[], writer: ByteWriter): void {
  const runs: { first: number; count: number }[] = [];
  const others: string[] = [];
  for (const { sliceId } of slices) {
    const number = numberOf(sliceId);
    const run = runs.at(-1);
    if (number === null) others.push(sliceId);
    else if (run !== undefined && number === run.first + run.count) run.count++;
    else runs.push({ first: number, count: 1 });
  }
  writer.varint(runs.length);
  let end = 0;
  for (const { first, count } of runs) {
    writer.varint(first - end);
    writer.varint(count);
    end = first + count;
  }
  writer.varint(others.length);
  for (const sliceId of others) writer.string(sliceId);
}

function decodeIds(reader: ByteReader): string[] {
  const ids: string[] = [];
  const runCount = reader.varint();
  let end = 0;
  for (let run = 0; run < runCount; run++) {
    const first = end + reader.varint();
    end = first + reader.varint();
    // Each slice takes bytes: a made-up count is no reason to fill the memory.
    if (ids.length + end - first > reader.remaining)
      throw new CorruptStateFault('a token of too many slices');
    for (let number = first; number < end; number++) {
      ids.push(`slice-${String(number).padStart(12, '0')}`);
    }
  }
  const otherCount = reader.varint();
  for (let other = 0; other < otherCount; other++) ids.push(reader.string());
  return ids;
}

/** Small numbers of either sign as small ones without. */
function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
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
