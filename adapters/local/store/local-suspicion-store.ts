/**
 * Suspicions of slices in SQLite, one row a slice. A slice's id is kept as bytes, so that any two differ.
 */
import type { StatementSync } from 'node:sqlite';
import { encodeText } from '../../../core/bytes.ts';
import type { Suspicion, SuspicionStore } from '../../../core/ports.ts';
import type { CheckpointDatabase } from './checkpoint-database.ts';

type SuspicionRow = [
  sequenceNumber: string,
  subSequence: number,
  attempts: number,
  chunkRecords: number,
];

export class LocalSuspicionStore implements SuspicionStore {
  readonly #database: CheckpointDatabase;
  readonly #select: StatementSync;
  readonly #replace: StatementSync;
  readonly #delete: StatementSync;

  constructor(database: CheckpointDatabase) {
    this.#database = database;
    this.#select = database.prepareRows(
      'SELECT sequence_number, sub_sequence, attempts, chunk_records FROM suspicions WHERE slice_id = ?',
    );
    this.#replace = database.prepareRows(
      `INSERT OR REPLACE INTO suspicions
        (slice_id, sequence_number, sub_sequence, attempts, chunk_records) VALUES (?, ?, ?, ?, ?)`,
    );
    this.#delete = database.prepareRows('DELETE FROM suspicions WHERE slice_id = ?');
  }

  async read(sliceId: string): Promise<Suspicion | null> {
    return this.#database.read(`read the suspicion of ${sliceId}`, () => {
      const row = this.#select.get(encodeText(sliceId));
      if (row === undefined) return null;
      const [sequenceNumber, subSequence, attempts, chunkRecords] = row as unknown as SuspicionRow;
      return { position: { sequenceNumber, subSequence }, attempts, chunkRecords };
    });
  }

  async write(sliceId: string, suspicion: Suspicion | null): Promise<void> {
    const key = encodeText(sliceId);
    this.#database.write(`write the suspicion of ${sliceId}`, () => {
      if (suspicion === null) {
        this.#delete.run(key);
        return;
      }
      const { position, attempts, chunkRecords } = suspicion;
      const { sequenceNumber, subSequence } = position;
      this.#replace.run(key, sequenceNumber, subSequence, attempts, chunkRecords);
    });
  }
}
