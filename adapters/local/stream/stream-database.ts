/**
 * The stream's SQLite file: how it is opened, its schema and its version.
 *
 * - WAL with synchronous = FULL: a commit that returned survives a power cut.
 * - One table of records a shard, keyed by ordinal: appends go to the right edge of a B-tree, so pages fill up.
 * - Each transaction counts itself and the records that it appends in `commits`: a copy that lacks some is found.
 * - One connection writes. Others, in any thread, open the same file read-only.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { assert } from '../../../core/assert.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { requireFormat } from '../../../core/format-version.ts';
import { COMMITS_TABLE } from '../commit-number.ts';
import { withLocalFaults } from '../local-faults.ts';
import { cutHashRanges, type HashRange } from './hash-range.ts';

/** Version of the schema below. A file of another one is refused. */
const SCHEMA_VERSION = 3;
/** Marks the file as ours, whatever its name: "TdmS". */
const APPLICATION_ID = 0x54_64_6d_53;
const PAGE_BYTES = 8192;
/** The WAL is copied into the file when it has this many pages (16 MiB): fewer, longer copies for a log that only grows. */
const CHECKPOINT_PAGES = 2048;
const WAL_BYTES_KEPT = 64 * 1024 * 1024;
const BUSY_TIMEOUT_MS = 5_000;
const SHARD_ID_DIGITS = 12;
const ID_BYTES = 8;

export interface ShardInfo {
  /** From 0; part of the shard's name and of its sequence numbers. */
  readonly index: number;
  readonly shardId: string;
  readonly range: HashRange;
  readonly createdMs: number;
}

export interface StreamInfo {
  readonly name: string;
  /** 16 hex digits that no other stream has, one of the same name included; its copies have the same. */
  readonly id: string;
  readonly createdMs: number;
  /** By index. Their ranges tile all hash keys. */
  readonly shards: readonly ShardInfo[];
}

interface CreateOptions {
  readonly name: string;
  readonly shardCount: number;
  readonly nowMs: number;
}

/** The connection that writes. `maxPages` bounds the file (8 KiB a page); null leaves it to the disk. */
export function openForWriting(path: string, maxPages: number | null): DatabaseSync {
  return withLocalFaults(path, 'open the stream', () => {
    mkdirSync(dirname(path), { recursive: true });
    const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    return closedOnError(database, () => {
      refuseOtherFormats(database, path);
      database.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
      database.exec('PRAGMA journal_mode = WAL');
      database.exec('PRAGMA synchronous = FULL');
      database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      database.exec(`PRAGMA journal_size_limit = ${WAL_BYTES_KEPT}`);
      if (maxPages !== null) database.exec(`PRAGMA max_page_count = ${maxPages}`);
    });
  });
}

/** A connection that only reads; works beside the one that writes, from any thread. */
export function openForReading(path: string): DatabaseSync {
  return withLocalFaults(path, 'open the stream', () => {
    const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    return closedOnError(database, () => refuseOtherFormats(database, path));
  });
}

/** True if a stream was created in the file. Makes nothing. */
export function hasStream(path: string): boolean {
  if (!existsSync(path)) return false;
  const database = openForReading(path);
  try {
    return withLocalFaults(path, 'open the stream', () => readStreamInfo(database)) !== null;
  } finally {
    database.close();
  }
}

/** What the file holds; null if nothing was created in it yet. */
export function readStreamInfo(database: DatabaseSync): StreamInfo | null {
  if (pragmaNumber(database, 'user_version') === 0) return null;
  const stream = database.prepare('SELECT name, id, created_ms FROM stream').get() as
    | { name: string; id: string; created_ms: number }
    | undefined;
  assert(stream !== undefined, 'schema-and-stream-are-created-together');
  const rows = database
    .prepare('SELECT shard, created_ms, range_start, range_end FROM shards ORDER BY shard')
    .all() as { shard: number; created_ms: number; range_start: string; range_end: string }[];
  const shards = rows.map((row) => ({
    index: row.shard,
    shardId: shardIdOf(row.shard),
    range: { start: row.range_start, end: row.range_end },
    createdMs: row.created_ms,
  }));
  return { name: stream.name, id: stream.id, createdMs: stream.created_ms, shards };
}

/** Creates schema, stream and shards in one transaction: a crash leaves all or nothing. */
export function createStream(database: DatabaseSync, options: CreateOptions): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    database.exec(`
      CREATE TABLE stream (
        name TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        id TEXT NOT NULL,
        home TEXT
      ) STRICT;
      CREATE TABLE shards (
        shard INTEGER PRIMARY KEY,
        created_ms INTEGER NOT NULL,
        range_start TEXT NOT NULL,
        range_end TEXT NOT NULL,
        first_ordinal INTEGER NOT NULL,
        newest_arrival_ms INTEGER NOT NULL,
        trimmed_arrival_ms INTEGER
      ) STRICT;
      CREATE TABLE mapping_positions (
        shard INTEGER PRIMARY KEY,
        sequence_number TEXT NOT NULL,
        sub_sequence INTEGER NOT NULL
      ) STRICT;
      ${COMMITS_TABLE}
      ALTER TABLE commits ADD COLUMN appended INTEGER NOT NULL DEFAULT 0;
    `);
    const id = randomBytes(ID_BYTES).toString('hex');
    const insert = database.prepare('INSERT INTO stream VALUES (?, ?, ?, NULL)');
    insert.run(options.name, options.nowMs, id);
    const insertShard = database.prepare('INSERT INTO shards VALUES (?, ?, ?, ?, 1, 0, NULL)');
    cutHashRanges(options.shardCount).forEach((range, index) => {
      insertShard.run(index, options.nowMs, range.start, range.end);
      database.exec(`
        CREATE TABLE ${recordsTable(index)} (
          ordinal INTEGER PRIMARY KEY,
          arrival_ms INTEGER NOT NULL,
          partition_key TEXT NOT NULL,
          explicit_hash_key TEXT,
          data BLOB NOT NULL
        ) STRICT;
      `);
    });
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** The table with the records of a shard. */
export function recordsTable(shardIndex: number): string {
  assert(Number.isSafeInteger(shardIndex) && shardIndex >= 0, 'shard-index-is-an-index');
  return `records_${shardIndex}`;
}

export function shardIdOf(shardIndex: number): string {
  return `shardId-${String(shardIndex).padStart(SHARD_ID_DIGITS, '0')}`;
}

function refuseOtherFormats(database: DatabaseSync, path: string): void {
  const version = pragmaNumber(database, 'user_version');
  const tables = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get();
  const isEmpty = version === 0 && tables?.['count'] === 0;
  if (isEmpty) return;
  if (pragmaNumber(database, 'application_id') !== APPLICATION_ID) {
    throw new CorruptStateFault(`${path} is an SQLite file, but not a Tidemark stream`, {
      hint: 'Use another data folder, or move that file away.',
    });
  }
  requireFormat(`the stream ${path}`, version, SCHEMA_VERSION);
}

function pragmaNumber(database: DatabaseSync, name: 'user_version' | 'application_id'): number {
  const value = database.prepare(`PRAGMA ${name}`).get()?.[name];
  assert(typeof value === 'number', 'pragma-is-a-number', () => name);
  return value;
}

function closedOnError(database: DatabaseSync, prepare: () => void): DatabaseSync {
  try {
    prepare();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
