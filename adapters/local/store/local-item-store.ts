/**
 * Small immutable blobs in SQLite.
 */
import type { StatementSync } from 'node:sqlite';
import { assert } from '../../../core/assert.ts';
import {
  type BlobStore,
  type Clock,
  type Creation,
  isBlobKey,
  type StoredObject,
} from '../../../core/ports.ts';
import type { CheckpointDatabase } from './checkpoint-database.ts';

/** Sorts after every character that follows a prefix. */
const LAST_CHARACTER = '\u{10ffff}';

export class LocalItemStore implements BlobStore {
  readonly #database: CheckpointDatabase;
  readonly #clock: Clock;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #selectRange: StatementSync;
  readonly #selectList: StatementSync;
  readonly #delete: StatementSync;

  /** `clock` says when a blob was created. */
  constructor(database: CheckpointDatabase, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
    this.#insert = database.prepareRows(
      'INSERT INTO items (key, created_ms, bytes) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#select = database.prepareRows('SELECT bytes FROM items WHERE key = ?');
    // What SQLite cuts from an empty blob is NULL.
    this.#selectRange = database.prepareRows(
      `SELECT coalesce(substr(bytes, ?, ?), x'') FROM items WHERE key = ?`,
    );
    this.#selectList = database.prepareRows(
      `SELECT key, length(bytes), created_ms FROM items
        WHERE key >= ? AND key < ? AND key > ? ORDER BY key LIMIT ?`,
    );
    this.#delete = database.prepareRows('DELETE FROM items WHERE key = ?');
  }

  async create(key: string, bytes: Uint8Array): Promise<Creation> {
    assert(isBlobKey(key), 'blob-key-is-portable', () => JSON.stringify(key));
    return this.#database.write(`create ${key}`, () => {
      const { changes } = this.#insert.run(key, this.#clock.nowMs(), bytes);
      return changes === 1 ? 'created' : 'exists';
    });
  }

  async read(key: string): Promise<Uint8Array | null> {
    return this.#database.read(`read ${key}`, () => onlyBytes(this.#select.get(key)));
  }

  async readRange(key: string, from: number, to: number): Promise<Uint8Array | null> {
    assert(
      from >= 0 && from <= to,
      'a-range-does-not-end-before-it-begins',
      () => `${from}..${to}`,
    );
    // SQL counts from 1.
    return this.#database.read(`read ${key}`, () =>
      onlyBytes(this.#selectRange.get(from + 1, to - from, key)),
    );
  }

  async list(prefix: string, after: string | null, limit: number): Promise<StoredObject[]> {
    assert(limit > 0, 'list-limit-is-positive');
    return this.#database.read(`list ${prefix}`, () => {
      const rows = this.#selectList.all(prefix, prefix + LAST_CHARACTER, after ?? '', limit);
      return (rows as unknown[] as [string, number, number][]).map(
        ([key, byteLength, createdMs]) => ({ key, byteLength, createdMs }),
      );
    });
  }

  async delete(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    this.#database.write(`delete ${keys.length} items`, () => {
      for (const key of keys) this.#delete.run(key);
    });
  }
}

function onlyBytes(row: unknown): Uint8Array | null {
  return row === undefined ? null : (row as [Uint8Array])[0];
}
