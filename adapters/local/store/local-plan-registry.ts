/**
 * The newest activation of a plan in SQLite, in the only row of its table. The conditional write is one statement, so that
 * nothing can come between its condition and its effect. A pipeline is kept as bytes: it need not be well-formed.
 */
import type { StatementSync } from 'node:sqlite';
import { decodeText, encodeText } from '../../../core/bytes.ts';
import type { ActivePlan, PlanRegistry } from '../../../core/ports.ts';
import type { CheckpointDatabase } from './checkpoint-database.ts';

type PlanRow = [ordinal: number, hash: string, pipeline: Uint8Array];

export class LocalPlanRegistry implements PlanRegistry {
  readonly #database: CheckpointDatabase;
  readonly #select: StatementSync;
  readonly #activate: StatementSync;

  constructor(database: CheckpointDatabase) {
    this.#database = database;
    this.#select = database.prepareRows('SELECT ordinal, hash, pipeline FROM active_plan');
    this.#activate = database.prepareRows(
      `INSERT INTO active_plan (only_row, ordinal, hash, pipeline)
        SELECT 1, ?1, ?2, ?3 WHERE ?1 = coalesce((SELECT ordinal FROM active_plan), 0) + 1
        ON CONFLICT (only_row) DO UPDATE
        SET ordinal = excluded.ordinal, hash = excluded.hash, pipeline = excluded.pipeline`,
    );
  }

  async active(): Promise<ActivePlan | null> {
    return this.#database.read('read the active plan', () => {
      const row = this.#select.get();
      if (row === undefined) return null;
      const [ordinal, hash, pipeline] = row as unknown as PlanRow;
      return { ordinal, hash, pipeline: decodeText(pipeline) };
    });
  }

  async activate({ ordinal, hash, pipeline }: ActivePlan): Promise<'applied' | 'refused'> {
    return this.#database.write(`activate plan ${ordinal}`, () => {
      const { changes } = this.#activate.run(ordinal, hash, encodeText(pipeline));
      return changes === 1 ? 'applied' : 'refused';
    });
  }
}
