/**
 * Writing to one shard: gives out ordinals and arrival times inside a transaction of the stream, and trims what is old.
 * What it keeps in memory is what the last commit left, plus what the running transaction staged.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { assert } from '../../../core/assert.ts';
import { ordinalDigits, sequencePrefix, sequenceSuffix } from './sequence-number.ts';
import { recordsTable, type ShardInfo } from './stream-database.ts';

export class ShardAppender {
  readonly shard: ShardInfo;
  readonly #prefix: string;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #selectArrival: StatementSync;
  readonly #saveFirst: StatementSync;
  #firstOrdinal: number;
  #committedOrdinal: number;
  #committedArrivalMs: number;
  #nextOrdinal: number;
  #arrivalMs: number;
  #suffix: string;

  constructor(database: DatabaseSync, shard: ShardInfo) {
    const table = recordsTable(shard.index);
    this.shard = shard;
    this.#prefix = sequencePrefix(shard.createdMs);
    this.#insert = database.prepare(`INSERT INTO ${table} VALUES (?, ?, ?, ?, ?)`);
    this.#delete = database.prepare(`DELETE FROM ${table} WHERE ordinal < ?`);
    this.#selectArrival = database.prepare(`SELECT arrival_ms FROM ${table} WHERE ordinal = ?`);
    this.#saveFirst = database.prepare(
      `UPDATE shards SET first_ordinal = ?, newest_arrival_ms = max(newest_arrival_ms, ?), trimmed_arrival_ms = ?
        WHERE shard = ${shard.index}`,
    );
    const row = database
      .prepare(`SELECT first_ordinal, newest_arrival_ms FROM shards WHERE shard = ${shard.index}`)
      .get() as { first_ordinal: number; newest_arrival_ms: number };
    const newest = database
      .prepare(`SELECT ordinal, arrival_ms FROM ${table} ORDER BY ordinal DESC LIMIT 1`)
      .get() as { ordinal: number; arrival_ms: number } | undefined;
    this.#firstOrdinal = row.first_ordinal;
    this.#committedOrdinal = newest === undefined ? row.first_ordinal : newest.ordinal + 1;
    this.#committedArrivalMs = newest?.arrival_ms ?? row.newest_arrival_ms;
    this.#nextOrdinal = this.#committedOrdinal;
    this.#arrivalMs = this.#committedArrivalMs;
    this.#suffix = sequenceSuffix(this.#arrivalMs, shard.index);
  }

  get firstOrdinal(): number {
    return this.#firstOrdinal;
  }

  /** The ordinal that the next record gets; everything before it is committed. */
  get nextOrdinal(): number {
    return this.#committedOrdinal;
  }

  /** Of the newest committed record, or null if none was ever appended. */
  get newestSequenceNumber(): string | null {
    if (this.#committedOrdinal === 1) return null;
    return (
      this.#prefix +
      ordinalDigits(this.#committedOrdinal - 1) +
      sequenceSuffix(this.#committedArrivalMs, this.shard.index)
    );
  }

  /** Inserts one record within the running transaction and returns its sequence number. */
  stage(
    nowMs: number,
    partitionKey: string,
    explicitHashKey: string | null,
    data: Uint8Array,
  ): string {
    if (nowMs > this.#arrivalMs) {
      this.#arrivalMs = nowMs;
      this.#suffix = sequenceSuffix(nowMs, this.shard.index);
    }
    const ordinal = this.#nextOrdinal++;
    this.#insert.run(ordinal, this.#arrivalMs, partitionKey, explicitHashKey, data);
    return this.#prefix + ordinalDigits(ordinal) + this.#suffix;
  }

  /** What was staged is committed. True if that was anything. */
  commit(): boolean {
    if (this.#nextOrdinal === this.#committedOrdinal) return false;
    this.#committedOrdinal = this.#nextOrdinal;
    this.#committedArrivalMs = this.#arrivalMs;
    return true;
  }

  /** What was staged is undone. */
  rollback(): void {
    this.#nextOrdinal = this.#committedOrdinal;
    this.#arrivalMs = this.#committedArrivalMs;
    this.#suffix = sequenceSuffix(this.#arrivalMs, this.shard.index);
  }

  /** Deletes the records before `ordinal` within the running transaction. `trimmed` follows once it is committed. */
  trimTo(ordinal: number): void {
    assert(ordinal <= this.#committedOrdinal, 'trim-stays-within-the-log');
    // What tells the last record that went from one of a copy that went its own way.
    const last = this.#selectArrival.get(ordinal - 1)?.['arrival_ms'] ?? null;
    this.#delete.run(ordinal);
    this.#saveFirst.run(ordinal, this.#committedArrivalMs, last);
  }

  trimmed(ordinal: number): void {
    this.#firstOrdinal = Math.max(this.#firstOrdinal, ordinal);
  }
}
