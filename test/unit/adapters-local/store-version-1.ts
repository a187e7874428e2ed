/**
 * A checkpoint store as version 1 wrote it. The statements are a copy of what that version had, and never change: they stand
 * for the files that people have.
 */
import { DatabaseSync } from 'node:sqlite';
import type { HeadItem, QuarantinedRecord } from '../../../core/ports.ts';

export const HEAD_1: HeadItem = {
  sliceId: 'slice-1',
  revision: 42,
  delivered: '7',
  body: Uint8Array.from({ length: 256 }, (_, byte) => byte),
};
export const ITEM_1 = {
  key: 'slice-1/delta/1',
  createdMs: 1_700_000_000_000,
  byte: 5,
  length: 999,
};
export const QUARANTINED_1: QuarantinedRecord = {
  sliceId: 'slice-1',
  shardId: 'shard',
  timeline: 0,
  epoch: 3,
  sequenceNumber: '6',
  subSequence: 0,
  partitionKey: 'clé',
  arrivalMs: 1_700_000_000_001,
  reason: 'not-json',
  detail: 'Unexpected end',
  planHash: '0123456789abcdef0123456789abcdef',
  data: Uint8Array.of(0x7b, 0xff),
};
const QUARANTINE_ID = `slice-1/000000000000/${'6'.padStart(56, '0')}.0000000000`;

export function writeVersion1(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA journal_mode = WAL;
    BEGIN IMMEDIATE;
    CREATE TABLE heads (
      slice_id TEXT PRIMARY KEY,
      revision INTEGER NOT NULL,
      delivered TEXT NOT NULL,
      body BLOB NOT NULL
    ) STRICT;
    CREATE TABLE items (
      key TEXT PRIMARY KEY,
      created_ms INTEGER NOT NULL,
      bytes BLOB NOT NULL
    ) STRICT;
    CREATE TABLE quarantine (
      id TEXT PRIMARY KEY,
      slice_id TEXT NOT NULL,
      shard_id TEXT NOT NULL,
      timeline INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      sequence_number TEXT NOT NULL,
      sub_sequence INTEGER NOT NULL,
      arrival_ms INTEGER NOT NULL,
      partition_key BLOB NOT NULL,
      reason TEXT NOT NULL,
      detail BLOB NOT NULL,
      plan_hash TEXT NOT NULL,
      data BLOB NOT NULL
    ) STRICT;
    PRAGMA application_id = ${0x54_64_6d_43};
    PRAGMA user_version = 1;
    COMMIT;
  `);
  const head = HEAD_1;
  database
    .prepare('INSERT INTO heads VALUES (?, ?, ?, ?)')
    .run(head.sliceId, head.revision, head.delivered, head.body);
  const { key, createdMs, byte, length } = ITEM_1;
  database
    .prepare('INSERT INTO items VALUES (?, ?, ?)')
    .run(key, createdMs, new Uint8Array(length).fill(byte));
  const { partitionKey, detail, ...record } = QUARANTINED_1;
  database
    .prepare(`INSERT INTO quarantine VALUES (?${', ?'.repeat(12)})`)
    .run(
      ...[QUARANTINE_ID, record.sliceId, record.shardId, record.timeline, record.epoch],
      ...[record.sequenceNumber, record.subSequence, record.arrivalMs],
      ...[new TextEncoder().encode(partitionKey), record.reason],
      ...[new TextEncoder().encode(detail), record.planHash, record.data],
    );
  database.close();
}
