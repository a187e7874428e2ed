/**
 * A durable stream with the semantics of Kinesis in one SQLite file: what `tidemark dev` takes records into.
 *
 * - `append` returns when its records are on disk, all of them, in the files that the path still names; if it throws, none is
 *   acknowledged.
 * - A record's shard follows from its hash key, its place from the order of appends; neither changes any more.
 * - One `LocalStream` writes a file at a time. `LocalRecordSource` reads it from other threads.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { assert } from '../../../core/assert.ts';
import { mayHavePassed } from '../../../core/elapsed.ts';
import { LostStateFault, TransientFault } from '../../../core/faults.ts';
import { RECORD_BYTES_MAX } from '../../../core/limits.ts';
import type { Clock, StreamRecord } from '../../../core/ports.ts';
import type { Position } from '../../../core/position.ts';
import { NEXT_NUMBER } from '../commit-number.ts';
import { FileIdentity } from '../file-identity.ts';
import { localFault, withLocalFaults } from '../local-faults.ts';
import { findRange, hashKeyOfDecimal, hashKeyOfPartition } from './hash-range.ts';
import { MappingPositions } from './mapping-positions.ts';
import { formatSequenceNumber } from './sequence-number.ts';
import { ShardAppender } from './shard-appender.ts';
import { type Located, type ReadFrom, type ReadLimits, ShardLog } from './shard-log.ts';
import {
  createStream,
  openForWriting,
  readStreamInfo,
  type ShardInfo,
  type StreamInfo,
} from './stream-database.ts';
import { leaveHome, settleHome } from './stream-home.ts';

/** How long Kinesis keeps records by default. */
export const RETENTION_HOURS_DEFAULT = 24;
const SHARD_COUNT_DEFAULT = 1;
const SHARD_COUNT_MAX = 256;
const HOUR_MS = 3_600_000;
/** Records that one transaction trims: between two of them appends get their turn. */
const TRIM_CHUNK_RECORDS = 10_000;
/** Mapping positions ride on appends; without any they are written this often. */
const MAPPING_POSITION_INTERVAL_MS = 1_000;

export interface LocalStreamOptions {
  /** The file. Made if it is not there, with its folder. */
  readonly path: string;
  readonly name: string;
  /** Of a new stream (default 1). For one that is there it must be left out or be what it has. */
  readonly shardCount?: number;
  /** How long `trimExpired` leaves records (default 24, as in Kinesis); longer while a cursor has not passed them. */
  readonly retentionHours?: number;
  /** Bounds the file, in pages of 8 KiB: appends beyond it fail as on a full disk. */
  readonly maxPages?: number;
  readonly clock: Clock;
}

export interface StreamEntry {
  readonly partitionKey: string;
  /** Decimal; takes the place of the partition key's hash. */
  readonly explicitHashKey: string | null;
  readonly data: Uint8Array;
}

export interface AppendedRecord {
  readonly shardId: string;
  readonly sequenceNumber: string;
}

export interface StreamShard extends ShardInfo {
  /** Below every record's. */
  readonly startingSequenceNumber: string;
}

export interface ShardTip {
  /** Of the newest record, or null if there never was one. */
  readonly sequenceNumber: string | null;
  /** Its ordinal; 0 if there never was one. */
  readonly ordinal: number;
  /** Records that are there. */
  readonly count: number;
}

export interface ShardPage {
  readonly records: readonly StreamRecord[];
  /** Where to read on. */
  readonly nextOrdinal: number;
}

type AppendListener = (shardId: string) => void;

export class LocalStream {
  readonly name: string;
  readonly id: string;
  readonly createdMs: number;
  readonly retentionHours: number;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #database: DatabaseSync;
  readonly #shards: readonly StreamShard[];
  readonly #rangeEnds: readonly string[];
  readonly #appenders: readonly ShardAppender[];
  readonly #logs: readonly ShardLog[];
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #begin: StatementSync;
  readonly #count: StatementSync;
  readonly #commit: StatementSync;
  readonly #positions: MappingPositions;
  readonly #listeners = new Set<AppendListener>();
  #positionsSavedMs: number;
  /** The file and its WAL. */
  #files: readonly FileIdentity[] = [];

  /**
   * Opens the stream in a file, which `refuseTornStream` has passed, or creates it there. Throws an `Error` if the file holds
   * another stream, `NewerFormatFault`, `CorruptStateFault` or `TransientFault`.
   */
  static open(options: LocalStreamOptions): LocalStream {
    const { path, name, shardCount, clock } = options;
    refuseShardCount(shardCount);
    const database = openForWriting(path, options.maxPages ?? null);
    try {
      const info = withLocalFaults(path, 'open the stream', () => {
        if (readStreamInfo(database) === null) {
          const count = shardCount ?? SHARD_COUNT_DEFAULT;
          createStream(database, { name, shardCount: count, nowMs: clock.nowMs() });
        }
        return readStreamInfo(database);
      });
      assert(info !== null, 'stream-is-created');
      refuseOtherStream(info, options);
      withLocalFaults(path, 'open the stream', () => settleHome(database, path));
      return new LocalStream(database, info, options);
    } catch (error) {
      database.close();
      throw error;
    }
  }

  private constructor(database: DatabaseSync, info: StreamInfo, options: LocalStreamOptions) {
    this.name = info.name;
    this.id = info.id;
    this.createdMs = info.createdMs;
    this.retentionHours = options.retentionHours ?? RETENTION_HOURS_DEFAULT;
    this.#path = options.path;
    this.#clock = options.clock;
    this.#database = database;
    this.#shards = info.shards.map((shard) => ({
      ...shard,
      startingSequenceNumber: startOf(shard),
    }));
    this.#rangeEnds = info.shards.map((shard) => shard.range.end);
    this.#appenders = info.shards.map((shard) => new ShardAppender(database, shard));
    this.#logs = info.shards.map((shard) => new ShardLog(database, shard));
    this.#indexes = new Map(info.shards.map((shard) => [shard.shardId, shard.index]));
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#count = database.prepare(`UPDATE commits SET ${NEXT_NUMBER}, appended = appended + ?`);
    this.#commit = database.prepare('COMMIT');
    this.#positions = new MappingPositions(database);
    this.#positionsSavedMs = options.clock.nowMs();
    const file = FileIdentity.of(options.path);
    assert(file !== null, 'an-open-stream-has-a-file');
    this.#files = [file];
  }

  /** By index, all open. */
  shards(): readonly StreamShard[] {
    return this.#shards;
  }

  /**
   * Takes records in, in order. They are on disk when it returns. `TransientFault` when the disk is full or fails: none of
   * them is. `LostStateFault` when the file was removed or replaced: they are in no file that is found again. The result is
   * in the order of the entries.
   */
  append(entries: readonly StreamEntry[]): AppendedRecord[] {
    const nowMs = this.#clock.nowMs();
    const appended = this.#inTransaction('append records', entries.length, () => {
      const results = entries.map((entry) => this.#stage(entry, nowMs));
      this.#positions.write();
      return results;
    });
    this.#positionsSaved();
    for (const appender of this.#appenders) {
      if (appender.commit()) this.#notify(appender.shard.shardId);
    }
    // After the commit: what is acknowledged was in a file with this name when it was durable.
    withLocalFaults(this.#path, 'append records', () => this.#assertFilesAreSame());
    return appended;
  }

  /** Calls `listener` soon after each append that brought records to a shard. Returns what ends that. */
  onAppend(listener: AppendListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The ordinal to begin to read at, or why the sequence number is none of this shard's. */
  locate(shardId: string, from: ReadFrom): Located {
    return withLocalFaults(this.#path, `read ${shardId}`, () => this.#logOf(shardId).locate(from));
  }

  /** Records from an ordinal on, or from the oldest that is left if it is trimmed; in order. */
  readFrom(shardId: string, ordinal: number, limits: ReadLimits): ShardPage {
    const from = Math.max(ordinal, this.#appenderOf(shardId).firstOrdinal);
    return withLocalFaults(this.#path, `read ${shardId}`, () => {
      const records = this.#logOf(shardId).read(from, limits);
      return { records, nextOrdinal: from + records.length };
    });
  }

  /** Without reading the disk. */
  tip(shardId: string): ShardTip {
    const appender = this.#appenderOf(shardId);
    return {
      sequenceNumber: appender.newestSequenceNumber,
      ordinal: appender.nextOrdinal - 1,
      count: appender.nextOrdinal - appender.firstOrdinal,
    };
  }

  /** How far the event source mapping came in a shard, as saved last; null if it never was. */
  mappingPosition(shardId: string): Position | null {
    const index = this.#indexOf(shardId);
    return withLocalFaults(this.#path, `read ${shardId}`, () => this.#positions.read(index));
  }

  /**
   * Notes how far the event source mapping came. Written with the next append, or after a second, or at `close`: a crash
   * may bring back an older position, never a newer one, and the mapping then delivers some records again. A disk that
   * does not take it now is asked again next time.
   */
  saveMappingPosition(shardId: string, position: Position): void {
    this.#positions.note(this.#indexOf(shardId), position);
    const nowMs = this.#clock.nowMs();
    if (!mayHavePassed(this.#positionsSavedMs, MAPPING_POSITION_INTERVAL_MS, nowMs)) return;
    try {
      this.#flushPositions();
    } catch (error) {
      if (!(error instanceof TransientFault)) throw error;
    }
  }

  /** Trims the records before a position, not the one at it. Resolves to how many went. */
  async trimBefore(shardId: string, position: Position): Promise<number> {
    const log = this.#logOf(shardId);
    // The record at the position is the last one up to it, so what comes after goes back by one.
    return this.#trimTo(this.#appenderOf(shardId), log.ordinalAfter(position) - 1);
  }

  /**
   * Trims what is older than the retention, but nothing after the position that `keepAfter` gives for the shard; a shard
   * without one keeps all. To be called at start-up and then hourly. Resolves to how many records went.
   */
  async trimExpired(nowMs: number, keepAfter: ReadonlyMap<string, Position>): Promise<number> {
    const cutoffMs = nowMs - this.retentionHours * HOUR_MS;
    let count = 0;
    for (const appender of this.#appenders) {
      const position = keepAfter.get(appender.shard.shardId);
      if (position === undefined) continue;
      const log = this.#logOf(appender.shard.shardId);
      const expired = log.firstArrivedAt(cutoffMs, log.bounds());
      count += await this.#trimTo(appender, Math.min(expired, log.ordinalAfter(position)));
    }
    return count;
  }

  /** Saves what is unsaved and closes the file. Nothing else may be called afterwards. */
  close(): void {
    try {
      this.#flushPositions();
      leaveHome(this.#database);
    } finally {
      this.#database.close();
    }
  }

  #stage(entry: StreamEntry, nowMs: number): AppendedRecord {
    const { partitionKey, explicitHashKey, data } = entry;
    assert(data.byteLength <= RECORD_BYTES_MAX, 'record-is-within-the-quota');
    const appender = this.#appenders[this.#route(partitionKey, explicitHashKey)] as ShardAppender;
    return {
      shardId: appender.shard.shardId,
      sequenceNumber: appender.stage(nowMs, partitionKey, explicitHashKey, data),
    };
  }

  #route(partitionKey: string, explicitHashKey: string | null): number {
    if (this.#rangeEnds.length === 1) return 0;
    if (explicitHashKey === null)
      return findRange(this.#rangeEnds, hashKeyOfPartition(partitionKey));
    const hashKey = hashKeyOfDecimal(explicitHashKey);
    assert(hashKey !== null, 'explicit-hash-key-is-valid', () => explicitHashKey);
    return findRange(this.#rangeEnds, hashKey);
  }

  #inTransaction<T>(what: string, appended: number, action: () => T): T {
    try {
      this.#begin.run();
      const result = action();
      this.#count.run(appended);
      this.#commit.run();
      return result;
    } catch (error) {
      // SQLite has rolled back by itself after some errors (a full disk among them).
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      for (const appender of this.#appenders) appender.rollback();
      throw localFault(this.#path, what, error);
    }
  }

  #assertFilesAreSame(): void {
    // Once a transaction was committed, the WAL is there for as long as the connection is.
    for (const file of this.#files) file.assertSame();
    if (this.#files.length === 1) this.#files = [...this.#files, walOf(this.#path)];
  }

  #notify(shardId: string): void {
    for (const listener of this.#listeners) {
      // The records are taken, whatever a listener does: it must not fail the append.
      queueMicrotask(() => listener(shardId));
    }
  }

  #flushPositions(): void {
    if (!this.#positions.hasUnsaved) return;
    this.#inTransaction('save the mapping positions', 0, () => this.#positions.write());
    this.#positionsSaved();
  }

  #positionsSaved(): void {
    if (!this.#positions.hasUnsaved) return;
    this.#positions.saved();
    this.#positionsSavedMs = this.#clock.nowMs();
  }

  async #trimTo(appender: ShardAppender, ordinal: number): Promise<number> {
    const from = appender.firstOrdinal;
    while (this.#database.isOpen && appender.firstOrdinal < ordinal) {
      const next = Math.min(ordinal, appender.firstOrdinal + TRIM_CHUNK_RECORDS);
      this.#inTransaction('trim records', 0, () => appender.trimTo(next));
      appender.trimmed(next);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return appender.firstOrdinal - from;
  }

  #indexOf(shardId: string): number {
    const index = this.#indexes.get(shardId);
    assert(index !== undefined, 'shard-is-of-this-stream', () => shardId);
    return index;
  }

  #logOf(shardId: string): ShardLog {
    return this.#logs[this.#indexOf(shardId)] as ShardLog;
  }

  #appenderOf(shardId: string): ShardAppender {
    return this.#appenders[this.#indexOf(shardId)] as ShardAppender;
  }
}

function walOf(path: string): FileIdentity {
  const wal = FileIdentity.of(`${path}-wal`);
  if (wal !== null) return wal;
  throw new LostStateFault(`${path}-wal was removed while it was in use`, {
    hint: 'start again: it held the newest records, and none was acknowledged since',
  });
}

function startOf(shard: ShardInfo): string {
  const { index, createdMs } = shard;
  return formatSequenceNumber({
    shardCreatedMs: createdMs,
    ordinal: 0,
    arrivalMs: createdMs,
    shardIndex: index,
  });
}

function refuseShardCount(shardCount: number | undefined): void {
  if (shardCount === undefined) return;
  if (Number.isSafeInteger(shardCount) && shardCount >= 1 && shardCount <= SHARD_COUNT_MAX) return;
  throw new Error(`a local stream has 1 to ${SHARD_COUNT_MAX} shards, not ${shardCount}`);
}

function refuseOtherStream(info: StreamInfo, options: LocalStreamOptions): void {
  if (info.name !== options.name) {
    throw new Error(
      `${options.path} holds the stream '${info.name}', not '${options.name}': use the data folder of this pipeline, or a new one`,
    );
  }
  if (options.shardCount !== undefined && options.shardCount !== info.shards.length) {
    throw new Error(
      `the stream '${info.name}' has ${info.shards.length} shards, not ${options.shardCount}: leave the number of shards out, or use a new data folder`,
    );
  }
}
