/**
 * HEAD: the one small item of a slice that says what is current. A checkpoint exists when HEAD points to it, and not
 * before. `revision` and `delivered` stand beside the body, since the store's conditions speak of them.
 */
import { assert } from '../assert.ts';
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import { HEAD_BYTES_MAX } from '../limits.ts';
import type { HashRange, HeadItem } from '../ports.ts';
import { comparePositions, type Position, START, sortablePosition } from '../position.ts';
import {
  decodeCounts,
  encodeCounts,
  noRecords,
  type RecordCounts,
  totalRecords,
} from '../state/counters.ts';
import { Digest } from '../state/digest.ts';
import { decodePosition, encodePosition } from '../state/state-change.ts';
import { openEnvelope, sealEnvelope } from './envelope.ts';
import { type BlobReference, decodeReference, encodeReference } from './names.ts';

/** `OPEN` takes records. The others are for recovery and for splits and merges of slices. */
export type SliceStatus = 'OPEN' | 'RECOVERING' | 'OPENING' | 'SEALED';

const STATUSES: readonly SliceStatus[] = ['OPEN', 'RECOVERING', 'OPENING', 'SEALED'];

/** An epoch that fallback may still want, and since when HEAD has named it. */
export interface Floor {
  readonly epoch: number;
  readonly sinceMs: number;
}

export interface Head {
  readonly sliceId: string;
  readonly shardId: string;
  readonly range: HashRange;
  readonly status: SliceStatus;
  readonly timeline: number;
  readonly epoch: number;
  readonly generation: number;
  readonly revision: number;
  /** Of HEAD's last write: tells its writer, after a lost response, that it went through. */
  readonly nonce: string;
  readonly planOrdinal: number;
  readonly planHash: string;
  readonly cursor: Position;
  readonly delivered: Position;
  /** Arrival time of the record at `delivered`; 0 before the first. */
  readonly deliveredArrivalMs: number;
  readonly watermarkMs: number;
  readonly digest: Digest;
  readonly counts: Readonly<RecordCounts>;
  readonly entryCount: number;
  /** Bytes that a restore reads: base and chain. */
  readonly stateBytes: number;
  readonly chainLength: number;
  readonly chainBytes: number;
  readonly base: BlobReference | null;
  readonly delta: BlobReference | null;
  /** No delta or base of an epoch before it is needed by anybody; 0 until one is old enough. */
  readonly collectBelow: number;
  /** The floor that `collectBelow` becomes once it is older than the grace. */
  readonly floor: Floor;
  /** When the last epoch was completed, by its owner's clock; 0 before the first. */
  readonly flippedMs: number;
}

/** The HEAD of a slice that has folded nothing: it begins at the oldest record of its shard. */
export function firstHead(
  identity: Pick<Head, 'sliceId' | 'shardId' | 'range' | 'planHash' | 'nonce'>,
): Head {
  return {
    ...identity,
    status: 'OPEN',
    timeline: 0,
    epoch: 0,
    generation: 0,
    revision: 1,
    planOrdinal: 0,
    cursor: START,
    delivered: START,
    deliveredArrivalMs: 0,
    watermarkMs: Number.NEGATIVE_INFINITY,
    digest: new Digest(),
    counts: noRecords(),
    entryCount: 0,
    stateBytes: 0,
    chainLength: 0,
    chainBytes: 0,
    base: null,
    delta: null,
    collectBelow: 0,
    floor: { epoch: 0, sinceMs: 0 },
    flippedMs: 0,
  };
}

export function headItem(head: Head): HeadItem {
  assertHead(head);
  const body = sealEnvelope('TMHD', (writer) => encodeHead(head, writer));
  const delivered = sortablePosition(head.delivered);
  const byteLength = body.length + delivered.length + head.sliceId.length + 40;
  assert(byteLength <= HEAD_BYTES_MAX, 'head-fits-one-write-unit', () => `${byteLength} bytes`);
  return { sliceId: head.sliceId, revision: head.revision, delivered, body };
}

export function parseHead(item: HeadItem): Head {
  const what = `HEAD of ${item.sliceId}`;
  const reader = openEnvelope('TMHD', item.body, what);
  const head = decodeHead(reader);
  reader.end();
  const consistent =
    head.sliceId === item.sliceId &&
    head.revision === item.revision &&
    sortablePosition(head.delivered) === item.delivered;
  if (!consistent) throw new CorruptStateFault(`${what} contradicts the attributes beside it`);
  assertHead(head);
  return head;
}

/** What must hold of every HEAD, checked before each write and after each read. */
function assertHead(head: Head): void {
  assert(
    comparePositions(head.cursor, head.delivered) <= 0,
    'cursor-is-at-most-delivered',
    () => `${head.cursor.sequenceNumber} > ${head.delivered.sequenceNumber}`,
  );
  assert(totalRecords(head.counts) === head.digest.count, 'each-record-has-one-class');
  assert((head.epoch === 0) === (head.delta === null), 'an-epoch-has-a-delta');
  assert(head.delta === null || head.delta.epoch === head.epoch, 'head-names-its-own-delta');
  assert(head.base === null || head.base.epoch <= head.epoch, 'base-is-not-ahead');
  assert(
    head.timeline > 0 || head.chainLength === head.epoch - (head.base?.epoch ?? 0),
    'chain-reaches-from-base-to-head',
  );
}

/** What must hold between a HEAD and the one that replaces it: checked before each write. */
export function assertSuccession(before: Head, after: Head): void {
  assert(after.revision === before.revision + 1, 'revision-counts-writes');
  assert(comparePositions(after.delivered, before.delivered) >= 0, 'delivered-never-goes-back');
  assert(after.epoch === before.epoch || after.epoch === before.epoch + 1, 'epochs-are-dense');
  assert(after.timeline >= before.timeline, 'timelines-only-grow');
  assert(after.nonce !== before.nonce, 'each-write-has-its-nonce');
  if (after.timeline !== before.timeline) return;
  assert(comparePositions(after.cursor, before.cursor) >= 0, 'cursor-never-goes-back');
  assert(after.digest.count >= before.digest.count, 'digest-only-grows');
  assert(after.watermarkMs >= before.watermarkMs, 'watermark-only-grows');
}

function encodeHead(head: Head, writer: ByteWriter): void {
  writer.string(head.sliceId);
  writer.string(head.shardId);
  writer.string(head.range.start);
  writer.string(head.range.end);
  writer.u8(STATUSES.indexOf(head.status));
  for (const number of [head.timeline, head.epoch, head.generation, head.revision]) {
    writer.varint(number);
  }
  writer.string(head.nonce);
  writer.varint(head.planOrdinal);
  writer.string(head.planHash);
  encodePosition(head.cursor, writer);
  encodePosition(head.delivered, writer);
  writer.f64(head.deliveredArrivalMs);
  writer.f64(head.watermarkMs);
  head.digest.encode(writer);
  encodeCounts(head.counts, writer);
  for (const number of [head.entryCount, head.stateBytes, head.chainLength, head.chainBytes]) {
    writer.varint(number);
  }
  for (const reference of [head.base, head.delta]) {
    writer.u8(reference === null ? 0 : 1);
    if (reference !== null) encodeReference(reference, writer);
  }
  writer.varint(head.collectBelow);
  writer.varint(head.floor.epoch);
  writer.f64(head.floor.sinceMs);
  writer.f64(head.flippedMs);
}

function decodeHead(reader: ByteReader): Head {
  const sliceId = reader.string();
  const shardId = reader.string();
  const range = { start: reader.string(), end: reader.string() };
  const status = STATUSES[reader.u8()];
  if (status === undefined) throw new CorruptStateFault(`HEAD of ${sliceId} has no known status`);
  return {
    sliceId,
    shardId,
    range,
    status,
    timeline: reader.varint(),
    epoch: reader.varint(),
    generation: reader.varint(),
    revision: reader.varint(),
    nonce: reader.string(),
    planOrdinal: reader.varint(),
    planHash: reader.string(),
    cursor: decodePosition(reader),
    delivered: decodePosition(reader),
    deliveredArrivalMs: reader.f64(),
    watermarkMs: reader.f64(),
    digest: Digest.decode(reader),
    counts: decodeCounts(reader),
    entryCount: reader.varint(),
    stateBytes: reader.varint(),
    chainLength: reader.varint(),
    chainBytes: reader.varint(),
    base: reader.flag() ? decodeReference(reader) : null,
    delta: reader.flag() ? decodeReference(reader) : null,
    collectBelow: reader.varint(),
    floor: { epoch: reader.varint(), sinceMs: reader.f64() },
    flippedMs: reader.f64(),
  };
}
