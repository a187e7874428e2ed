/**
 * The stream by position, for replays: a read-only connection of its own, so that any thread can open one while another
 * appends. Each read is one snapshot.
 */
import type { DatabaseSync } from 'node:sqlite';
import { assert } from '../../../core/assert.ts';
import { TransientFault } from '../../../core/faults.ts';
import { GET_RECORDS_BYTES_MAX } from '../../../core/limits.ts';
import type { HashRange, RecordSource, ShardDirectory, SourceRead } from '../../../core/ports.ts';
import type { Position } from '../../../core/position.ts';
import { withLocalFaults } from '../local-faults.ts';
import { ShardLog } from './shard-log.ts';
import { openForReading, readStreamInfo } from './stream-database.ts';

export class LocalRecordSource implements RecordSource, ShardDirectory {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #streamId: string;
  readonly #logs = new Map<string, ShardLog>();

  /** Opens the file that a `LocalStream` created. `TransientFault` if there is none yet. */
  static open(path: string): LocalRecordSource {
    return new LocalRecordSource(path, openForReading(path));
  }

  private constructor(path: string, database: DatabaseSync) {
    this.#path = path;
    this.#database = database;
    const info = readStreamInfo(database);
    if (info === null) {
      database.close();
      throw new TransientFault(`the stream ${path} is not created yet`);
    }
    this.#streamId = info.id;
    for (const shard of info.shards) this.#logs.set(shard.shardId, new ShardLog(database, shard));
  }

  /**
   * Records after the one at `after`, at most `limit` and about 10 MiB of them. Sub-sequences do not count here: a position
   * inside a KPL aggregate stands for the whole record.
   *
   * Throws `StreamMismatchFault` if `after` is no position of this stream, as when its file was replaced.
   */
  async readAfter(shardId: string, after: Position, limit: number): Promise<SourceRead> {
    assert(limit > 0, 'read-limit-is-positive');
    return withLocalFaults(this.#path, `read ${shardId}`, () =>
      this.#inOneSnapshot(() => this.#read(this.#logOf(shardId), after, limit)),
    );
  }

  async hashRange(shardId: string): Promise<HashRange> {
    return this.#logOf(shardId).shard.range;
  }

  async streamId(): Promise<string> {
    return this.#streamId;
  }

  /** Shards are made with the stream, and stay. */
  async shardIds(): Promise<string[]> {
    return [...this.#logs.keys()];
  }

  close(): void {
    this.#database.close();
  }

  #read(log: ShardLog, after: Position, limit: number): SourceRead {
    const ordinal = log.ordinalAfter(after);
    const bounds = log.bounds();
    if (ordinal < bounds.firstOrdinal) {
      const isEmpty = bounds.firstOrdinal === bounds.nextOrdinal;
      const oldest = isEmpty ? null : log.sequenceNumberAt(bounds.firstOrdinal);
      return {
        outcome: 'trimmed',
        oldest: oldest === null ? null : { sequenceNumber: oldest, subSequence: 0 },
      };
    }
    const records = log.read(ordinal, { countMax: limit, bytesMax: GET_RECORDS_BYTES_MAX });
    const reachedTip = ordinal + records.length === bounds.nextOrdinal;
    assert(reachedTip || records.length > 0, 'a-read-before-the-tip-brings-records');
    return { outcome: 'records', origin: 'stream', records, reachedTip };
  }

  #logOf(shardId: string): ShardLog {
    const log = this.#logs.get(shardId);
    assert(log !== undefined, 'shard-is-of-this-stream', () => shardId);
    return log;
  }

  #inOneSnapshot<T>(read: () => T): T {
    this.#database.exec('BEGIN');
    try {
      return read();
    } finally {
      if (this.#database.isTransaction) this.#database.exec('COMMIT');
    }
  }
}
