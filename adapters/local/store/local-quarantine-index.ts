/**
 * The quarantine in SQLite, a row for each record. Text that producers chose is kept as bytes: it need not be well-formed. A
 * row that is marked as purged has no data.
 */
import type { StatementSync } from 'node:sqlite';
import { assert } from '../../../core/assert.ts';
import { decodeText, encodeText } from '../../../core/bytes.ts';
import {
  type QuarantinedPlace,
  type QuarantinedRecord,
  type QuarantineIndex,
  type QuarantineSelection,
  quarantineId,
} from '../../../core/ports.ts';
import { QuarantinePage } from '../../quarantine-page.ts';
import type { CheckpointDatabase } from './checkpoint-database.ts';

const PLACE_COLUMNS = [
  ...['slice_id', 'shard_id', 'timeline', 'epoch', 'sequence_number', 'sub_sequence'],
  ...['arrival_ms', 'partition_key', 'reason', 'detail', 'plan_hash'],
].join(', ');
const COLUMNS = `${PLACE_COLUMNS}, data`;
const KEPT = 'purged = 0';

interface PlaceRow {
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
}

interface QuarantineRow extends PlaceRow {
  data: Uint8Array;
  purged: number;
}

export class LocalQuarantineIndex implements QuarantineIndex {
  readonly #database: CheckpointDatabase;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #selectList: StatementSync;
  readonly #selectPlaces: StatementSync;
  readonly #empty: StatementSync;
  readonly #delete: StatementSync;

  constructor(database: CheckpointDatabase) {
    this.#database = database;
    this.#insert = database.prepare(
      `INSERT INTO quarantine (id, ${COLUMNS}) VALUES (?${', ?'.repeat(12)}) ON CONFLICT DO NOTHING`,
    );
    this.#select = database.prepare(`SELECT ${COLUMNS}, purged FROM quarantine WHERE id = ?`);
    this.#selectList = database.prepare(
      `SELECT ${COLUMNS} FROM quarantine WHERE id > ? AND ${KEPT} ORDER BY id`,
    );
    this.#selectPlaces = database.prepare(
      `SELECT ${PLACE_COLUMNS} FROM quarantine
        WHERE id > ?1 AND ${KEPT} AND (?2 IS NULL OR reason = ?2)
          AND (?3 IS NULL OR arrival_ms >= ?3) AND (?4 IS NULL OR arrival_ms < ?4)
        ORDER BY id LIMIT ?5`,
    );
    const mine = 'WHERE id = ? AND slice_id = ?';
    this.#empty = database.prepare(
      `UPDATE quarantine SET data = x'', purged = 1 ${mine} AND epoch >= ?`,
    );
    this.#delete = database.prepare(`DELETE FROM quarantine ${mine} AND epoch < ?`);
  }

  async put(records: readonly QuarantinedRecord[]): Promise<void> {
    if (records.length === 0) return;
    this.#database.write(`keep ${records.length} quarantined records`, () => {
      for (const record of records) this.#put(record);
    });
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, QuarantinedRecord | 'purged'>> {
    return this.#database.read('read quarantined records', () => {
      const found = new Map<string, QuarantinedRecord | 'purged'>();
      for (const id of ids) {
        // SQLite would take half of a surrogate pair for U+FFFD, and find another record.
        const row = id.isWellFormed() ? this.#select.get(id) : undefined;
        if (row === undefined) continue;
        const { purged } = row as unknown as QuarantineRow;
        found.set(id, purged ? 'purged' : toRecord(row as unknown as QuarantineRow));
      }
      return found;
    });
  }

  async list(after: string | null, limit: number): Promise<QuarantinedRecord[]> {
    const page = new QuarantinePage(limit);
    return this.#database.read('read the quarantine', () => {
      for (const row of this.#selectList.iterate(after ?? '')) {
        page.add(toRecord(row as unknown as QuarantineRow));
        if (page.isFull) break;
      }
      return page.records;
    });
  }

  async describe(
    after: string | null,
    limit: number,
    { reason, fromMs, toMs }: QuarantineSelection,
  ): Promise<QuarantinedPlace[]> {
    assert(limit > 0, 'list-limit-is-positive');
    return this.#database.read('read the quarantine', () => {
      const rows = this.#selectPlaces.all(after ?? '', reason, fromMs, toMs, limit);
      return (rows as unknown[] as PlaceRow[]).map(toPlace);
    });
  }

  async purge(sliceId: string, ids: readonly string[], forgetBelow: number): Promise<void> {
    if (ids.length === 0) return;
    this.#database.write(`purge ${ids.length} quarantined records`, () => {
      for (const id of ids.filter((each) => each.isWellFormed())) {
        this.#empty.run(id, sliceId, forgetBelow);
        this.#delete.run(id, sliceId, forgetBelow);
      }
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

function toPlace(row: PlaceRow): QuarantinedPlace {
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
  };
}

function toRecord(row: QuarantineRow): QuarantinedRecord {
  return { ...toPlace(row), data: row.data };
}
