/**
 * How far the event source mapping came in each shard. Positions wait in memory for the next transaction of the stream, so
 * that a busy stream pays no extra sync for them: a crash may bring back an older position, never a newer one.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Position } from '../../../core/position.ts';

export class MappingPositions {
  readonly #select: StatementSync;
  readonly #replace: StatementSync;
  readonly #unsaved = new Map<number, Position>();

  constructor(database: DatabaseSync) {
    this.#select = database.prepare(
      'SELECT sequence_number, sub_sequence FROM mapping_positions WHERE shard = ?',
    );
    this.#replace = database.prepare('INSERT OR REPLACE INTO mapping_positions VALUES (?, ?, ?)');
  }

  get hasUnsaved(): boolean {
    return this.#unsaved.size > 0;
  }

  read(shardIndex: number): Position | null {
    const unsaved = this.#unsaved.get(shardIndex);
    if (unsaved !== undefined) return unsaved;
    const row = this.#select.get(shardIndex) as
      | { sequence_number: string; sub_sequence: number }
      | undefined;
    if (row === undefined) return null;
    return { sequenceNumber: row.sequence_number, subSequence: row.sub_sequence };
  }

  note(shardIndex: number, position: Position): void {
    this.#unsaved.set(shardIndex, position);
  }

  /** Writes what waits, within the running transaction. `saved` follows once it is committed. */
  write(): void {
    for (const [shardIndex, position] of this.#unsaved) {
      this.#replace.run(shardIndex, position.sequenceNumber, position.subSequence);
    }
  }

  saved(): void {
    this.#unsaved.clear();
  }
}
