/**
 * What the core asks of the world, with the guarantee that each port must give. Adapters decide nothing: they keep these
 * guarantees or throw a fault of core/faults.ts (`TransientFault` when the same call may succeed later).
 */
import { type Position, sortablePosition } from './position.ts';

/**
 * One record of a shard's log, as a source brings it. `data` is the producer's bytes. Of a Kinesis record that has several inside
 * a source brings all, one after the other, or none.
 */
export interface StreamRecord extends Position {
  /** The sub-sequence of the last record inside the same Kinesis record; absent: this is the only one. */
  readonly lastSubSequence?: number;
  readonly partitionKey: string;
  /** When Kinesis took the record, in milliseconds since the epoch. */
  readonly arrivalMs: number;
  readonly data: Uint8Array;
}

export interface Clock {
  /** Milliseconds since the epoch. May jump; nothing that is folded depends on it. */
  nowMs(): number;
}

export interface NonceSource {
  /** 16 hex digits that no other call, in any process, returns. */
  nonce(): string;
}

export interface Pauses {
  /** Resolves after so many milliseconds, or a little more, whatever clocks say. */
  pause(ms: number): Promise<void>;
  /** Yields to what else the environment has to do: answers of stores are taken by the same thread. */
  yield(): Promise<void>;
}

/** HEAD as a store keeps it: the two attributes that conditions speak of, and the rest as bytes. */
export interface HeadItem {
  readonly sliceId: string;
  /** The number of HEAD's last write, by any writer. */
  readonly revision: number;
  /** `sortablePosition` of the last position that an invocation has answered for. */
  readonly delivered: string;
  readonly body: Uint8Array;
  /** What `holdHead` has put beside HEAD since its last write; absent if nothing was. `writeHead` does not write it. */
  readonly hold?: string;
}

export type HeadWrite =
  | { readonly outcome: 'applied' }
  | { readonly outcome: 'refused'; readonly current: HeadItem | null };

/**
 * Small items with linearizable conditional writes (DynamoDB; a SQLite table on one machine).
 *
 * - A write that was acknowledged is durable and every later read returns it or a newer one.
 * - A call that throws `TransientFault` may have been applied or not.
 */
export interface CheckpointStore {
  /** The newest HEAD of a slice: consistent. */
  readHead(sliceId: string): Promise<HeadItem | null>;
  /** Applies only if the slice has no HEAD. */
  createHead(item: HeadItem): Promise<HeadWrite>;
  /**
   * Applies only if HEAD has revision `ifRevision`, its `delivered` is not greater than `item.delivered`, and no hold is beside
   * it but `passing`, which ends with the write.
   */
  writeHead(item: HeadItem, ifRevision: number, passing: string | null): Promise<HeadWrite>;
  /**
   * Puts the name of an invocation that asks the others to hold back beside HEAD, or takes what is there away (null), whatever
   * HEAD says: no revision moves. Does nothing where another hold stands than `instead`, nor where the slice has no HEAD.
   */
  holdHead(sliceId: string, hold: string | null, instead: string | null): Promise<void>;
  /** The HEADs of all slices of the pipeline, ordered by slice; each consistent, the list not one snapshot. */
  listHeads(): Promise<HeadItem[]>;
}

/** HEADs as one task has them: its writes pass the hold that it has seen, and no other (`HeadHold`). */
export interface TaskHeads extends Pick<CheckpointStore, 'readHead' | 'createHead'> {
  writeHead(item: HeadItem, ifRevision: number): Promise<HeadWrite>;
}

export type Creation = 'created' | 'exists';

export interface StoredObject {
  readonly key: string;
  readonly byteLength: number;
  /** When the store took it, in milliseconds since the epoch, by the store's clock. */
  readonly createdMs: number;
}

/**
 * Immutable blobs by key (DynamoDB items for small ones, S3 objects or files for large ones).
 *
 * - `create` never replaces: the first bytes under a key stay until they are deleted. `created` means durable and whole;
 *   a crash in `create` leaves either nothing under the key or all of the bytes.
 * - `exists` means just as durable: the earlier creation may be the caller's own, whose answer was lost.
 * - Reads see every creation that was acknowledged before.
 * - Keys are those of `isBlobKey`. They are ordered by their characters, which are ASCII. One key may begin with another.
 */
export interface BlobStore {
  create(key: string, bytes: Uint8Array): Promise<Creation>;
  /** The bytes, or null if there are none under the key. A store that cannot tell throws. */
  read(key: string): Promise<Uint8Array | null>;
  /** Bytes [from, to) of the blob; shorter where the blob ends. Null if there is none under the key. */
  readRange(key: string, from: number, to: number): Promise<Uint8Array | null>;
  /** Blobs whose key begins with `prefix`, ordered by key, those after `after` only; at most `limit`. */
  list(prefix: string, after: string | null, limit: number): Promise<StoredObject[]>;
  /** Deletes what is there; a key without a blob is not an error. */
  delete(keys: readonly string[]): Promise<void>;
}

/**
 * A blob that is written piece by piece. Nothing is under its key before it is complete, and then all of it. Pieces come one
 * after the other; each but the last has `UPLOAD_PIECE_BYTES_MIN` at least, and there are `UPLOAD_PIECES_MAX` at most.
 * After a call that threw, it is given up.
 */
export interface BlobUpload {
  /** The bytes that follow; they are of no more use to the store when it resolves. */
  write(piece: Uint8Array): Promise<void>;
  /** What `BlobStore.create` promises of all that was written. */
  complete(): Promise<Creation>;
  /** Nothing will be under the key. What was written is deleted, at once or later; of a crash too. */
  abandon(): Promise<void>;
}

/** Blobs of any size. */
export interface ObjectStore extends BlobStore {
  /** Begins a blob that is too large to be in memory as a whole. */
  upload(key: string): Promise<BlobUpload>;
}

/** Where records were read: from the stream itself. What only the stream can prove is asked of no other place. */
export type RecordOrigin = 'stream';

export type SourceRead =
  | {
      readonly outcome: 'records';
      readonly origin: RecordOrigin;
      /** The records directly after the asked position, in order, none left out. */
      readonly records: StreamRecord[];
      /** True if nothing follows the last of them at this moment. */
      readonly reachedTip: boolean;
    }
  /** Records after the asked position are gone; `oldest` is the first that is left, if any. */
  | { readonly outcome: 'trimmed'; readonly oldest: Position | null }
  /** The stream no longer has the shard: it was closed, and its last record has expired. Nothing will follow. */
  | { readonly outcome: 'gone' };

/** The stream itself, by position: what a replay reads (GetRecords). */
export interface RecordSource {
  /**
   * At most `limit` Kinesis records behind that of `after`, each with all that is inside. Throws `StreamMismatchFault` for a
   * position that is none of this stream's: it lies after the newest record, or another record is where it should be. A position that was trimmed is not told from others of its time.
   */
  readAfter(shardId: string, after: Position, limit: number): Promise<SourceRead>;
}

/** A shard's range of hash keys, both ends inclusive, 32 hex digits each. */
export interface HashRange {
  readonly start: string;
  readonly end: string;
}

/** The stream and its shards. */
export interface ShardDirectory {
  /** Asked once a slice, when its HEAD is created. */
  hashRange(shardId: string): Promise<HashRange>;
  /**
   * 16 hex digits that only this very stream has: one that was deleted and made again under its name has others. Asked when
   * a HEAD is created, and at each restore.
   */
  streamId(): Promise<string>;
  /**
   * Every shard that the stream has, closed ones too for as long as it keeps them, as it was at most `ageMsMax` ago, by default
   * `SHARD_LIST_AGE_MS_MAX`: what says that a window is closed asks it at each question.
   */
  shardIds(ageMsMax?: number): Promise<readonly string[]>;
}

/** A record that could not be processed, whole. Identified by (slice, timeline, sequence number, sub-sequence). */
export interface QuarantinedRecord extends StreamRecord {
  readonly sliceId: string;
  readonly shardId: string;
  readonly timeline: number;
  /** The epoch whose delta moved the cursor past the record. */
  readonly epoch: number;
  readonly reason: string;
  readonly detail: string;
  /** Of the plan that refused it. */
  readonly planHash: string;
}

/** A quarantined record without its bytes. */
export type QuarantinedPlace = Omit<QuarantinedRecord, 'data'>;

/** Which of the quarantine's records are meant; null bounds nothing. */
export interface QuarantineSelection {
  readonly reason: string | null;
  /** Bounds of arrival, from inclusive, to exclusive. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/**
 * The quarantined records of all slices, whole. What a commit quarantined follows from its delta alone, so a repeat of `put`
 * writes the same.
 */
export interface QuarantineIndex {
  /**
   * Keeps what one commit quarantined, all of it: records of one slice, timeline and epoch. Durable when it returns. A repeat
   * changes nothing: what was purged stays so.
   */
  put(records: readonly QuarantinedRecord[]): Promise<void>;
  /**
   * The records with these ids, by id: consistent. `purged` for one that was purged and is not forgotten; an id of none may be
   * told to be purged, too, where others of its commit were.
   */
  read(ids: readonly string[]): Promise<ReadonlyMap<string, QuarantinedRecord | 'purged'>>;
  /** Records ordered by id, those after `after` only; at most `limit`, fewer where they are large, none at the end only. */
  list(after: string | null, limit: number): Promise<QuarantinedRecord[]>;
  /** The same without bytes, of those that are selected. */
  describe(
    after: string | null,
    limit: number,
    selection: QuarantineSelection,
  ): Promise<QuarantinedPlace[]>;
  /**
   * Deletes records of a slice for good, those that are there; their bytes are gone when it returns. What no `put` of an epoch
   * below `forgetBelow` can come for any more is forgotten; of others it is remembered that they were purged.
   */
  purge(sliceId: string, ids: readonly string[], forgetBelow: number): Promise<void>;
}

/** True for a record that is meant. */
export function isSelected(
  { reason, arrivalMs }: Pick<QuarantinedRecord, 'reason' | 'arrivalMs'>,
  selection: QuarantineSelection,
): boolean {
  const { fromMs, toMs } = selection;
  if (selection.reason !== null && selection.reason !== reason) return false;
  return (fromMs === null || arrivalMs >= fromMs) && (toMs === null || arrivalMs < toMs);
}

export const ALL_QUARANTINED: QuarantineSelection = { reason: null, fromMs: null, toMs: null };

/** The id of a quarantined record: unique, sorts by slice, timeline and position. */
export function quarantineId(
  record: Pick<QuarantinedRecord, 'sliceId' | 'timeline' | 'sequenceNumber' | 'subSequence'>,
): string {
  const timeline = String(record.timeline).padStart(12, '0');
  return `${record.sliceId}/${timeline}/${sortablePosition(record)}`;
}

const QUARANTINE_ID = /^[^/]{1,200}\/\d{12}\/\d{56}\.\d{10}$/;

/** The position in a quarantined record's id. */
export function positionOfQuarantineId(id: string): Position {
  const [sequence = '', sub = ''] = id.slice(id.lastIndexOf('/') + 1).split('.');
  return { sequenceNumber: BigInt(sequence).toString(), subSequence: Number(sub) };
}

/** The timeline in a quarantined record's id. */
export function timelineOfQuarantineId(id: string): number {
  return Number(id.slice(id.indexOf('/') + 1, id.lastIndexOf('/')));
}

/** True for what `quarantineId` makes. */
export function isQuarantineId(id: string): boolean {
  return QUARANTINE_ID.test(id);
}

/** A durable request to the owner of a slice: fold these quarantined records, exactly once. */
export interface RedriveRequest {
  /** `requestId`: unique, and sorts by the time at which it was made. */
  readonly id: string;
  readonly sliceId: string;
  /** Ids of quarantined records of the slice (`quarantineId`). */
  readonly records: readonly string[];
  /** What became of it; null before an owner has done it. */
  readonly done: RedriveOutcome | null;
}

export interface RedriveOutcome {
  /** The epoch that holds the outcome. */
  readonly timeline: number;
  readonly epoch: number;
  /** Ids that this request brought back. */
  readonly redriven: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
}

/**
 * Durable requests to slices' owners. A request stays until retention has passed the epoch that holds its outcome, since a
 * fallback to an epoch before it has it done again.
 */
export interface Inbox {
  /** Durable when it returns. A request that is there already is left as it is. */
  put(request: RedriveRequest): Promise<void>;
  /** Requests of a slice ordered by id, those after `after` only; at most `limit`. Consistent. */
  list(sliceId: string, after: string | null, limit: number): Promise<RedriveRequest[]>;
  /** Counts that an owner is about to do a request: how often that was, this time included. Durable when it returns. */
  begin(sliceId: string, id: string): Promise<number>;
  /** The owner that began a request lives, and did not end it: its beginnings are counted from 0 again. */
  settle(sliceId: string, id: string): Promise<void>;
  /** Sets or replaces the outcome of a request, and begins to count anew; one that is not there is left so. */
  finish(sliceId: string, id: string, done: RedriveOutcome): Promise<void>;
  /** Deletes what is there. */
  delete(sliceId: string, ids: readonly string[]): Promise<void>;
}

/** An activation of a plan: the newest one is the plan that the pipeline runs by. */
export interface ActivePlan {
  /** Counts activations from 1. A rollback is an activation too. */
  readonly ordinal: number;
  readonly hash: string;
  /** The pipeline as canonical JSON. */
  readonly pipeline: string;
}

/** The activations of a pipeline's plans (one small item with a conditional write). */
export interface PlanRegistry {
  /** The newest activation, null before the first: consistent. */
  active(): Promise<ActivePlan | null>;
  /** Applies only if `plan.ordinal` follows the newest activation's; the first is 1. Durable when it returns. */
  activate(plan: ActivePlan): Promise<'applied' | 'refused'>;
}

/** That an environment is about to fold what follows a position: if it dies before the next commit, that is found here. */
export interface Suspicion {
  readonly position: Position;
  /** Owners that began to fold here and were not seen to end it; 0: the last one survived. */
  readonly attempts: number;
  /** Records that a commit at this position takes at most; the last that was tried. */
  readonly chunkRecords: number;
}

/** One small item a slice, outside HEAD: what was last written, or null. Consistent, last writer wins. */
export interface SuspicionStore {
  read(sliceId: string): Promise<Suspicion | null>;
  /** Null clears it. Durable when it returns. */
  write(sliceId: string, suspicion: Suspicion | null): Promise<void>;
}

/** How old the oldest record of a slice's shard was that no checkpoint held, when a tick looked. */
export interface ObservedAge {
  readonly sliceId: string;
  /** 0: nothing followed HEAD's cursor. */
  readonly behindMs: number;
  /** When it was looked at, by the clock of the tick. */
  readonly atMs: number;
}

/** One small item a slice, outside HEAD, written by ticks alone, so that a question need not read the stream. */
export interface AgeStore {
  /** Replaces what was there: the last writer wins. Durable when it returns. */
  write(age: ObservedAge): Promise<void>;
  /** What was last written, by slice: consistent. A slice that no tick has looked at is absent. */
  read(sliceIds: readonly string[]): Promise<ReadonlyMap<string, ObservedAge>>;
}

const REQUEST_TIME_DIGITS = 15;

/** The id of a request that was made at `nowMs`. */
export function requestId(nowMs: number, nonce: string): string {
  return `${String(Math.max(0, nowMs)).padStart(REQUEST_TIME_DIGITS, '0')}-${nonce}`;
}

const BLOB_KEY = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}(?:\/[A-Za-z0-9_][A-Za-z0-9._-]{0,199}){0,7}$/;

/** True for up to 8 names joined by `/`: each is 1 to 200 of A-Z, a-z, 0-9, `_`, `.`, `-`, and begins with neither `.` nor `-`. */
export function isBlobKey(key: string): boolean {
  return BLOB_KEY.test(key);
}
