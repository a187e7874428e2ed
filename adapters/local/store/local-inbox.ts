/**
 * Requests to slices' owners in SQLite, one row each. Ids are kept as bytes, so that any two differ; lists are JSON text,
 * which escapes what is not well-formed.
 */
import type { StatementSync } from 'node:sqlite';
import { assert } from '../../../core/assert.ts';
import { decodeText, encodeText } from '../../../core/bytes.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import type { Inbox, RedriveOutcome, RedriveRequest } from '../../../core/ports.ts';
import type { CheckpointDatabase } from './checkpoint-database.ts';

/** SQLite orders every text before every blob, and ids are blobs. */
const BEFORE_ALL_IDS = '';

type RequestRow = [id: Uint8Array, records: string, done: string | null];

export class LocalInbox implements Inbox {
  readonly #database: CheckpointDatabase;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #begin: StatementSync;
  readonly #settle: StatementSync;
  readonly #finish: StatementSync;
  readonly #delete: StatementSync;

  constructor(database: CheckpointDatabase) {
    this.#database = database;
    this.#insert = database.prepareRows(
      'INSERT INTO inbox (slice_id, id, records, done) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#select = database.prepareRows(
      'SELECT id, records, done FROM inbox WHERE slice_id = ? AND id > ? ORDER BY id LIMIT ?',
    );
    this.#begin = database.prepareRows(
      'UPDATE inbox SET begun = begun + 1 WHERE slice_id = ? AND id = ? RETURNING begun',
    );
    this.#settle = database.prepareRows('UPDATE inbox SET begun = 0 WHERE slice_id = ? AND id = ?');
    this.#finish = database.prepareRows(
      'UPDATE inbox SET done = ?, begun = 0 WHERE slice_id = ? AND id = ?',
    );
    this.#delete = database.prepareRows('DELETE FROM inbox WHERE slice_id = ? AND id = ?');
  }

  async put({ sliceId, id, records, done }: RedriveRequest): Promise<void> {
    const doneText = done === null ? null : JSON.stringify(done);
    this.#database.write(`put a request to ${sliceId}`, () => {
      this.#insert.run(encodeText(sliceId), encodeText(id), JSON.stringify(records), doneText);
    });
  }

  async list(sliceId: string, after: string | null, limit: number): Promise<RedriveRequest[]> {
    assert(limit > 0, 'list-limit-is-positive');
    return this.#database.read(`list the requests to ${sliceId}`, () => {
      const from = after === null ? BEFORE_ALL_IDS : encodeText(after);
      const rows = this.#select.all(encodeText(sliceId), from, limit);
      return (rows as unknown[] as RequestRow[]).map((row) => toRequest(sliceId, row));
    });
  }

  async begin(sliceId: string, id: string): Promise<number> {
    return this.#database.write(`begin a request to ${sliceId}`, () => {
      const row = this.#begin.get(encodeText(sliceId), encodeText(id));
      return row === undefined ? 1 : (row as unknown as [begun: number])[0];
    });
  }

  async settle(sliceId: string, id: string): Promise<void> {
    this.#database.write(`settle a request to ${sliceId}`, () => {
      this.#settle.run(encodeText(sliceId), encodeText(id));
    });
  }

  async finish(sliceId: string, id: string, done: RedriveOutcome): Promise<void> {
    this.#database.write(`finish a request to ${sliceId}`, () => {
      this.#finish.run(JSON.stringify(done), encodeText(sliceId), encodeText(id));
    });
  }

  async delete(sliceId: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    this.#database.write(`delete ${ids.length} requests to ${sliceId}`, () => {
      for (const id of ids) this.#delete.run(encodeText(sliceId), encodeText(id));
    });
  }
}

function toRequest(sliceId: string, [idBytes, records, done]: RequestRow): RedriveRequest {
  const id = decodeText(idBytes);
  try {
    return {
      id,
      sliceId,
      records: JSON.parse(records),
      done: done === null ? null : JSON.parse(done),
    };
  } catch (cause) {
    throw new CorruptStateFault(`request ${id} to ${sliceId} is no JSON`, {
      hint: 'the checkpoint store is damaged: put back a copy of it, or use another data folder',
      cause,
    });
  }
}
