/**
 * The SQLite file of HEADs and all small items beside them: how it is opened, its schema and its version.
 *
 * - WAL with synchronous = FULL: a commit that returned survives a power cut.
 * - What is read and written is in the file that the path still names: a call on one that was removed or replaced throws.
 * - Each transaction that writes counts itself in `commits`: a copy of two moments is found (`commit-number.ts`).
 * - Every thread opens a connection of its own. Each call is one transaction, and they queue for the one writer's place.
 * - A new file gets its schema in one transaction: a crash leaves all or nothing.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { assert } from '../../../core/assert.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import { requireFormat } from '../../../core/format-version.ts';
import { COMMITS_TABLE, NEXT_NUMBER } from '../commit-number.ts';
import { FileIdentity } from '../file-identity.ts';
import { isBusy, withLocalFaults } from '../local-faults.ts';

/** Marks the file as ours, whatever its name: "TdmC". */
const APPLICATION_ID = 0x54_64_6d_43;
/** A transaction takes milliseconds. Who waits this long waits for something that hangs. */
const BUSY_TIMEOUT_MS_DEFAULT = 5_000;
const BUSY_PAUSE_MS = 5;
/** What the WAL may keep of the disk after a large transaction. */
const WAL_BYTES_KEPT = 16 * 1024 * 1024;

const SCHEMA = `${COMMITS_TABLE}
  CREATE TABLE heads (
    slice_id TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    delivered TEXT NOT NULL,
    body BLOB NOT NULL,
    hold TEXT
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
    data BLOB NOT NULL,
    purged INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE inbox (
    slice_id BLOB NOT NULL,
    id BLOB NOT NULL,
    records TEXT NOT NULL,
    begun INTEGER NOT NULL DEFAULT 0,
    done TEXT,
    PRIMARY KEY (slice_id, id)
  ) STRICT;
  CREATE TABLE active_plan (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    ordinal INTEGER NOT NULL,
    hash TEXT NOT NULL,
    pipeline BLOB NOT NULL
  ) STRICT;
  CREATE TABLE suspicions (
    slice_id BLOB PRIMARY KEY NOT NULL,
    sequence_number TEXT NOT NULL,
    sub_sequence INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    chunk_records INTEGER NOT NULL
  ) STRICT;
`;
/** Version of the schema. A file of another one is refused. */
const SCHEMA_VERSION = 4;

export interface CheckpointDatabaseOptions {
  /** Bounds the file, in pages of 4 KiB: a full one answers as a full disk does. Null leaves it to the disk. */
  readonly maxPages?: number | null;
  /** How long a call waits for its turn to write (default 5 s). */
  readonly busyTimeoutMs?: number;
}

export class CheckpointDatabase {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #file: FileIdentity | null;
  readonly #changes: StatementSync;
  readonly #count: StatementSync;

  /** Opens the file, and creates it if it is missing; its folder must be there. */
  static open(path: string, options: CheckpointDatabaseOptions = {}): CheckpointDatabase {
    const { maxPages = null, busyTimeoutMs = BUSY_TIMEOUT_MS_DEFAULT } = options;
    return withLocalFaults(path, 'open the checkpoint store', () => {
      const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
      try {
        refuseOtherFormats(database, path);
        switchToWal(database, busyTimeoutMs);
        prepare(database, maxPages);
      } catch (error) {
        database.close();
        throw error;
      }
      return new CheckpointDatabase(path, database);
    });
  }

  private constructor(path: string, database: DatabaseSync) {
    this.#path = path;
    this.#database = database;
    this.#file = FileIdentity.of(path);
    this.#changes = database.prepare('SELECT total_changes() AS count');
    this.#count = database.prepare(`UPDATE commits SET ${NEXT_NUMBER}`);
  }

  /** A statement that gives its rows as objects. */
  prepare(sql: string): StatementSync {
    return this.#run('prepare a statement', () => this.#database.prepare(sql));
  }

  /** A statement that gives its rows as arrays. */
  prepareRows(sql: string): StatementSync {
    const statement = this.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  /** Runs statements that only read, to `what`; their errors become faults. Throws `LostStateFault` if the file is not there any more. */
  read<T>(what: string, action: () => T): T {
    return this.#run(what, () => {
      const before = this.#changeCount();
      const result = action();
      assert(this.#changeCount() === before, 'each-commit-is-counted', () => what);
      return result;
    });
  }

  /** The same for statements that write, in one transaction: all of it is kept, or nothing. */
  write<T>(what: string, action: () => T): T {
    return this.#run(what, () =>
      inTransaction(this.#database, () => {
        const before = this.#changeCount();
        const result = action();
        // One that changes nothing needs no commit.
        if (this.#changeCount() !== before) this.#count.run();
        return result;
      }),
    );
  }

  close(): void {
    this.#database.close();
  }

  #run<T>(what: string, action: () => T): T {
    return withLocalFaults(this.#path, what, () => {
      const result = action();
      this.#file?.assertSame();
      return result;
    });
  }

  #changeCount(): unknown {
    return this.#changes.get()?.['count'];
  }
}

function prepare(database: DatabaseSync, maxPages: number | null): void {
  database.exec('PRAGMA synchronous = FULL');
  database.exec(`PRAGMA journal_size_limit = ${WAL_BYTES_KEPT}`);
  if (maxPages !== null) {
    assert(Number.isSafeInteger(maxPages) && maxPages > 0, 'a-page-count-is-positive');
    database.exec(`PRAGMA max_page_count = ${maxPages}`);
  }
  if (pragmaNumber(database, 'user_version') === SCHEMA_VERSION) return;
  inTransaction(database, () => {
    // Asked again: another connection may have been first.
    if (pragmaNumber(database, 'user_version') === SCHEMA_VERSION) return;
    database.exec(SCHEMA);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  });
  // Into the file itself: whether a WAL follows it is told by its schema.
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

function refuseOtherFormats(database: DatabaseSync, path: string): void {
  const tables = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get();
  const version = pragmaNumber(database, 'user_version');
  if (version === 0 && tables?.['count'] === 0) return;
  if (pragmaNumber(database, 'application_id') !== APPLICATION_ID) {
    throw new CorruptStateFault(`${path} is an SQLite file, but not a Tidemark checkpoint store`, {
      hint: 'use another data folder, or move that file away',
    });
  }
  requireFormat(`the checkpoint store ${path}`, version, SCHEMA_VERSION);
}

/** The file stays in WAL mode; SQLite does not wait by itself when several connections switch a new file at once. */
function switchToWal(database: DatabaseSync, timeoutMs: number): void {
  for (let waitedMs = 0; ; waitedMs += BUSY_PAUSE_MS) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || waitedMs >= timeoutMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS);
    }
  }
}

function inTransaction<T>(database: DatabaseSync, action: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = action();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // A full disk has rolled back already.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function pragmaNumber(database: DatabaseSync, name: 'user_version' | 'application_id'): number {
  const value = database.prepare(`PRAGMA ${name}`).get()?.[name];
  assert(typeof value === 'number', 'pragma-is-a-number', () => name);
  return value;
}
