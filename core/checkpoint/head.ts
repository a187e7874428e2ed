/**
 * HEAD: the one small item of a slice that says what is current. A checkpoint exists when HEAD points to it, and not
 * before. `revision` and `delivered` stand beside the body, since the store's conditions speak of them.
 */
import { assert } from '../assert.ts';
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { Codes } from '../codes.ts';
import { CorruptStateFault } from '../faults.ts';
import { HEAD_BYTES_MAX } from '../limits.ts';
import type { HashRange, HeadItem } from '../ports.ts';
import { comparePositions, type Position, sortablePosition } from '../position.ts';
import { type SliceStatus, sliceIdOf } from '../slice/topology.ts';
import {
  decodeCounts,
  encodeCounts,
  holdRecords,
  type RecordCounts,
  totalRecords,
} from '../state/counters.ts';
import { Digest } from '../state/digest.ts';
import { checkedPosition, type FoldProgress } from '../state/state-change.ts';
import { openEnvelope, sealEnvelope } from './envelope.ts';
import {
  type BlobReference,
  decodeOptional,
  decodeReference,
  encodeOptional,
  encodeReference,
} from './names.ts';

export const STATUS_CODES = new Codes<SliceStatus>("a slice's status", {
  OPEN: 0,
  RECOVERING: 1,
  OPENING: 2,
  SEALED: 3,
});

/** Deltas after an epoch that a fallback may still want, the cursor of the oldest base that needs them, and since when HEAD has named it. */
export interface Floor {
  readonly epoch: number;
  readonly cursor: Position;
  readonly sinceMs: number;
}

/** The last epoch under the plan before this one: what a rollback to that plan goes on from. */
export interface PreviousPlan {
  readonly planHash: string;
  readonly base: BlobReference | null;
  readonly chainSince: number;
  readonly delta: BlobReference;
  readonly cursor: Position;
  /** When the slice left it. */
  readonly sinceMs: number;
}

export interface Head {
  readonly sliceId: string;
  readonly shardId: string;
  readonly range: HashRange;
  /** The very stream whose records the slice holds: see `ShardDirectory.streamId`. */
  readonly streamId: string;
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
  /**
   * The record at `delivered` was not brought by the event source, but read from the stream to close a gap before a batch
   * that no invocation has answered for yet: what is brought next does not follow it.
   */
  readonly closesGap: boolean;
  readonly watermarkMs: number;
  /** Of the Kinesis records. */
  readonly digest: Digest;
  /** See `FoldProgress`: those inside Kinesis records. */
  readonly recordCount: number;
  readonly counts: Readonly<RecordCounts>;
  /** See `FoldProgress`. */
  readonly partlyQuarantined: number;
  readonly partlyDropped: number;
  readonly pastDedupe: number;
  readonly entryCount: number;
  /** Bytes that a restore reads: parts and chain. */
  readonly stateBytes: number;
  readonly chainLength: number;
  readonly chainBytes: number;
  readonly base: BlobReference | null;
  /** The deltas after this epoch are needed beside the base; 0 without one. */
  readonly chainSince: number;
  /** The cursor of the oldest base that needs this chain, or less of it: START where the chain reaches to the beginning. */
  readonly baseCursor: Position;
  /** Runs that the base lists wait for ticks to merge them. */
  readonly awaitsMerge: boolean;
  readonly delta: BlobReference | null;
  /** No delta of an epoch before it is needed, and nothing else that no kept base lists; 0 until one is old enough. */
  readonly collectBelow: number;
  /** The cursor of the oldest epoch that a fallback may go to: records after it are still needed. */
  readonly replayFrom: Position;
  /** The floor that `collectBelow` becomes once it is older than the grace. */
  readonly floor: Floor;
  /** When the last epoch was completed, or the slice was fenced since, by its owner's clock; 0 before the first. */
  readonly committedMs: number;
  readonly previous: PreviousPlan | null;
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

/** What HEAD says of the fold that its epoch holds. */
export type Standing = Pick<
  Head,
  | 'cursor'
  | 'watermarkMs'
  | 'digest'
  | 'recordCount'
  | 'counts'
  | 'partlyQuarantined'
  | 'partlyDropped'
  | 'pastDedupe'
>;

export function standingOf({
  position,
  watermarkMs,
  digest,
  recordCount,
  counts,
  partlyQuarantined,
  partlyDropped,
  pastDedupe,
}: FoldProgress): Standing {
  return {
    cursor: position,
    watermarkMs,
    digest: digest.copy(),
    recordCount,
    counts: { ...counts },
    partlyQuarantined,
    partlyDropped,
    pastDedupe,
  };
}

/** What must hold of every HEAD, checked before each write and after each read. */
function assertHead(head: Head): void {
  assert(
    comparePositions(head.cursor, head.delivered) <= 0,
    'cursor-is-at-most-delivered',
    () => `${head.cursor.sequenceNumber} > ${head.delivered.sequenceNumber}`,
  );
  assert(
    totalRecords(head.counts) === head.recordCount,
    'each-record-has-one-class',
    () => `${totalRecords(head.counts)} of ${head.recordCount}`,
  );
  assert(
    holdRecords(head.digest.count, head.recordCount),
    'each-kinesis-record-holds-a-record',
    () => `${head.recordCount} in ${head.digest.count}`,
  );
  assert(
    head.partlyQuarantined <= head.counts.folded,
    'what-is-quarantined-in-part-is-folded',
    () => `${head.partlyQuarantined} of ${head.counts.folded}`,
  );
  assert(
    Math.max(head.partlyDropped, head.pastDedupe) <= head.counts.folded,
    'what-is-dropped-in-part-or-past-dedupe-is-folded',
    () => `${head.partlyDropped} and ${head.pastDedupe} of ${head.counts.folded}`,
  );
  assert((head.epoch === 0) === (head.delta === null), 'an-epoch-has-a-delta');
  assert(head.delta === null || head.delta.epoch === head.epoch, 'head-names-its-own-delta');
  assert(head.base === null || head.base.epoch <= head.epoch, 'base-is-not-ahead');
  assert(
    comparePositions(head.replayFrom, head.baseCursor) <= 0 &&
      comparePositions(head.baseCursor, head.cursor) <= 0,
    'floor-base-and-cursor-are-in-order',
  );
  assert(
    head.collectBelow <= oldestNeeded(head),
    'what-a-rollback-needs-is-kept',
    () => `${head.collectBelow} > ${oldestNeeded(head)}`,
  );
  assert(
    head.timeline > 0 ||
      (head.chainLength <= head.epoch - head.chainSince &&
        head.chainLength > 0 === head.epoch > head.chainSince),
    'chain-reaches-from-base-to-head',
  );
  assert(head.chainSince <= (head.base?.epoch ?? 0), 'a-base-needs-only-what-was-before-it');
}

/** The deltas after it are read: with HEAD's base, or with that of the plan before. */
function oldestNeeded({ chainSince, previous }: Head): number {
  return previous === null ? chainSince : Math.min(chainSince, previous.chainSince);
}

const HASH_BYTES = 16;
const NONCE_BYTES = 8;
const STREAM_ID_BYTES = 8;

function encodeHead(head: Head, writer: ByteWriter): void {
  writer.string(head.shardId);
  writer.hex(head.range.start);
  writer.hex(head.range.end);
  writer.hex(head.streamId);
  STATUS_CODES.encode(head.status, writer);
  for (const number of [head.timeline, head.epoch, head.generation, head.revision]) {
    writer.varint(number);
  }
  writer.hex(head.nonce);
  writer.varint(head.planOrdinal);
  writer.hex(head.planHash);
  encodePacked(head.cursor, writer);
  encodePacked(head.delivered, writer);
  writer.f64(head.deliveredArrivalMs);
  writer.u8(head.closesGap ? 1 : 0);
  writer.f64(head.watermarkMs);
  head.digest.encode(writer);
  writer.varint(head.recordCount);
  encodeCounts(head.counts, writer);
  writer.varint(head.partlyQuarantined);
  writer.varint(head.partlyDropped);
  writer.varint(head.pastDedupe);
  for (const number of [head.entryCount, head.stateBytes, head.chainLength, head.chainBytes]) {
    writer.varint(number);
  }
  encodeOptional(head.base, writer);
  writer.varint(head.chainSince);
  writer.u8(head.awaitsMerge ? 1 : 0);
  encodeOptional(head.delta, writer);
  writer.varint(head.collectBelow);
  writer.varint(head.floor.epoch);
  writer.f64(head.floor.sinceMs);
  writer.f64(head.committedMs);
  for (const position of [head.baseCursor, head.replayFrom, head.floor.cursor]) {
    encodePacked(position, writer);
  }
  writer.u8(head.previous === null ? 0 : 1);
  if (head.previous !== null) encodePrevious(head.previous, writer);
}

function decodeHead(reader: ByteReader): Head {
  const shardId = reader.string();
  const sliceId = sliceIdOf(shardId);
  const range = { start: reader.hex(HASH_BYTES), end: reader.hex(HASH_BYTES) };
  const streamId = reader.hex(STREAM_ID_BYTES);
  const head = {
    sliceId,
    shardId,
    range,
    streamId,
    status: STATUS_CODES.decode(reader),
    timeline: reader.varint(),
    epoch: reader.varint(),
    generation: reader.varint(),
    revision: reader.varint(),
    nonce: reader.hex(NONCE_BYTES),
    planOrdinal: reader.varint(),
    planHash: reader.hex(HASH_BYTES),
    cursor: decodePacked(reader),
    delivered: decodePacked(reader),
    deliveredArrivalMs: reader.f64(),
    closesGap: reader.flag(),
    watermarkMs: reader.f64(),
    digest: Digest.decode(reader),
    recordCount: reader.varint(),
    counts: decodeCounts(reader),
    partlyQuarantined: reader.varint(),
    partlyDropped: reader.varint(),
    pastDedupe: reader.varint(),
    entryCount: reader.varint(),
    stateBytes: reader.varint(),
    chainLength: reader.varint(),
    chainBytes: reader.varint(),
    base: decodeOptional(reader),
    chainSince: reader.varint(),
    awaitsMerge: reader.flag(),
    delta: decodeOptional(reader),
    collectBelow: reader.varint(),
    floor: { epoch: reader.varint(), sinceMs: reader.f64() },
    committedMs: reader.f64(),
  };
  return {
    ...head,
    baseCursor: decodePacked(reader),
    replayFrom: decodePacked(reader),
    floor: { ...head.floor, cursor: decodePacked(reader) },
    previous: reader.flag() ? decodePrevious(reader) : null,
  };
}

function encodePrevious(previous: PreviousPlan, writer: ByteWriter): void {
  writer.hex(previous.planHash);
  encodeOptional(previous.base, writer);
  writer.varint(previous.chainSince);
  encodeReference(previous.delta, writer);
  encodePacked(previous.cursor, writer);
  writer.f64(previous.sinceMs);
}

function decodePrevious(reader: ByteReader): PreviousPlan {
  return {
    planHash: reader.hex(HASH_BYTES),
    base: decodeOptional(reader),
    chainSince: reader.varint(),
    delta: decodeReference(reader),
    cursor: decodePacked(reader),
    sinceMs: reader.f64(),
  };
}

function encodePacked(position: Position, writer: ByteWriter): void {
  writer.decimal(position.sequenceNumber);
  writer.varint(position.subSequence);
}

function decodePacked(reader: ByteReader): Position {
  return checkedPosition({ sequenceNumber: reader.decimal(), subSequence: reader.varint() });
}
