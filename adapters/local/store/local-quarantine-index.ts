/**
 * The listing of quarantined records in SQLite. Text that producers chose is kept as bytes: it need not be well-formed.
 */
import type { StatementSync } from 'node:sqlite';
import { assert } from '../../../core/assert.ts';
import { decodeText, encodeText } from '../../../core/bytes.ts';
import { type QuarantinedRecord, type QuarantineIndex, quarantineId } from '../../../core/ports.ts';
import type { CheckpointDatabase } from './checkpoint-database.ts';

const COLUMNS = [
  ...['slice_id', 'shard_id', 'timeline', 'epoch', 'sequence_number', 'sub_sequence'],
  ...['arrival_ms', 'partition_key', 'reason', 'detail', 'plan_hash', 'data'],
].join(', ');

interface QuarantineRow {
  slice_id: string;
  shard_id: string;
  timeline: number;
  epoch: number;
  sequence_number: string;
  sub_sequence: number;
  arrival_ms: number;
  partition_key: Uint8Array;
  reason: string;
  detail: Uint8Array;
  plan_hash: string;
  data: Uint8Array;
}

export class LocalQuarantineIndex implements QuarantineIndex {
  readonly #database: CheckpointDatabase;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #selectList: StatementSync;

  constructor(database: CheckpointDatabase) {
    this.#database = database;
    this.#insert = database.prepare(
      `INSERT INTO quarantine (id, ${COLUMNS}) VALUES (?${', ?'.repeat(12)}) ON CONFLICT DO NOTHING`,
    );
    this.#select = database.prepare(`SELECT ${COLUMNS} FROM quarantine WHERE id = ?`);
    this.#selectList = database.prepare(
      `SELECT ${COLUMNS} FROM quarantine WHERE id > ? ORDER BY id LIMIT ?`,
    );
  }

  async put(records: readonly QuarantinedRecord[]): Promise<void> {
    if (records.length === 0) return;
    this.#database.transaction(`list ${records.length} quarantined records`, () => {
      for (const record of records) this.#put(record);
    });
  }

  async get(id: string): Promise<QuarantinedRecord | null> {
    // SQLite would take half of a surrogate pair for U+FFFD, and find another record.
    if (!id.isWellFormed()) return null;
    return this.#database.run('read a quarantined record', () => {
      const row = this.#select.get(id);
      return row === undefined ? null : toRecord(row as unknown as QuarantineRow);
    });
  }

  async list(after: string | null, limit: number): Promise<QuarantinedRecord[]> {
    assert(limit > 0, 'list-limit-is-positive');
    return this.#database.run('read the quarantine', () => {
      const rows = this.#selectList.all(after ?? '', limit) as unknown[] as QuarantineRow[];
      return rows.map(toRecord);
    });
  }

  #put(record: QuarantinedRecord): void {
    this.#insert.run(
      ...[quarantineId(record), record.sliceId, record.shardId, record.timeline, record.epoch],
      ...[record.sequenceNumber, record.subSequence, record.arrivalMs],
      ...[encodeText(record.partitionKey), record.reason, encodeText(record.detail)],
      ...[record.planHash, record.data],
    );
  }
}

function toRecord(row: QuarantineRow): QuarantinedRecord {
  return {
    sliceId: row.slice_id,
    shardId: row.shard_id,
    timeline: row.timeline,
    epoch: row.epoch,
    sequenceNumber: row.sequence_number,
    subSequence: row.sub_sequence,
    arrivalMs: row.arrival_ms,
    partitionKey: decodeText(row.partition_key),
    reason: row.reason,
    detail: decodeText(row.detail),
    planHash: row.plan_hash,
    data: row.data,
  };
}
