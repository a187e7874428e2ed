/**
 * The plan that a data folder runs by, read beside the process that uses the folder: nothing is written or locked.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { decodeText } from '../core/bytes.ts';
import type { ActivePlan } from '../core/ports.ts';

type PlanRow = [ordinal: number, hash: string, pipeline: Uint8Array];

/** Null where the folder has none yet. Throws what SQLite does where the file is none of ours. */
export function readActivePlan(dataFolder: string): ActivePlan | null {
  const path = join(dataFolder, 'checkpoint.db');
  if (!existsSync(path)) return null;
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const statement = database.prepare('SELECT ordinal, hash, pipeline FROM active_plan');
    statement.setReturnArrays(true);
    const row = statement.get() as unknown as PlanRow | undefined;
    if (row === undefined) return null;
    const [ordinal, hash, pipeline] = row;
    return { ordinal, hash, pipeline: decodeText(pipeline) };
  } finally {
    database.close();
  }
}
