/**
 * HEADs in SQLite. A conditional write is one statement, so that nothing can come between its condition and its effect.
 */
import type { StatementSync } from 'node:sqlite';
import type { CheckpointStore, HeadItem, HeadWrite } from '../../../core/ports.ts';
import type { CheckpointDatabase } from './checkpoint-database.ts';

type HeadRow = [
  sliceId: string,
  revision: number,
  delivered: string,
  body: Uint8Array,
  hold: string | null,
];

export class LocalCheckpointStore implements CheckpointStore {
  readonly #database: CheckpointDatabase;
  readonly #select: StatementSync;
  readonly #selectAll: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #hold: StatementSync;

  constructor(database: CheckpointDatabase) {
    this.#database = database;
    const columns = 'slice_id, revision, delivered, body';
    this.#select = database.prepareRows(`SELECT ${columns}, hold FROM heads WHERE slice_id = ?`);
    this.#selectAll = database.prepareRows(`SELECT ${columns}, hold FROM heads ORDER BY slice_id`);
    this.#insert = database.prepareRows(
      `INSERT INTO heads (${columns}) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    );
    this.#update = database.prepareRows(
      `UPDATE heads SET revision = ?, delivered = ?, body = ?, hold = NULL
        WHERE slice_id = ? AND revision = ? AND delivered <= ? AND (hold IS NULL OR hold = ?)`,
    );
    this.#hold = database.prepareRows(
      'UPDATE heads SET hold = ? WHERE slice_id = ? AND (hold IS NULL OR hold = ?)',
    );
  }

  async readHead(sliceId: string): Promise<HeadItem | null> {
    return this.#database.read(`read HEAD of ${sliceId}`, () => this.#read(sliceId));
  }

  async createHead({ sliceId, revision, delivered, body }: HeadItem): Promise<HeadWrite> {
    return this.#database.write(`create HEAD of ${sliceId}`, () =>
      this.#answer(sliceId, this.#insert.run(sliceId, revision, delivered, body).changes),
    );
  }

  /**
   * A `delivered` that would go back under the right revision is refused like a lost race, as DynamoDB does with a condition
   * that does not hold: the caller finds HEAD as it expected it, and has broken an invariant of its own.
   */
  async writeHead(item: HeadItem, ifRevision: number, passing: string | null): Promise<HeadWrite> {
    const { sliceId, revision, delivered, body } = item;
    return this.#database.write(`write HEAD of ${sliceId}`, () => {
      const { changes } = this.#update.run(
        ...[revision, delivered, body],
        ...[sliceId, ifRevision, delivered, passing],
      );
      return this.#answer(sliceId, changes);
    });
  }

  async holdHead(sliceId: string, hold: string | null, instead: string | null): Promise<void> {
    this.#database.write(`hold HEAD of ${sliceId}`, () => {
      this.#hold.run(hold, sliceId, instead);
    });
  }

  async listHeads(): Promise<HeadItem[]> {
    return this.#database.read('list the HEADs', () => this.#selectAll.all().map(toItem));
  }

  #answer(sliceId: string, changes: number | bigint): HeadWrite {
    if (changes === 1) return { outcome: 'applied' };
    return { outcome: 'refused', current: this.#read(sliceId) };
  }

  #read(sliceId: string): HeadItem | null {
    const row = this.#select.get(sliceId);
    return row === undefined ? null : toItem(row);
  }
}

function toItem(row: unknown): HeadItem {
  const [sliceId, revision, delivered, body, hold] = row as HeadRow;
  return { sliceId, revision, delivered, body, ...(hold === null ? {} : { hold }) };
}
