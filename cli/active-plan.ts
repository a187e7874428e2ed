/**
 * The plan that a data folder runs by, and the HEADs of its slices, read beside the process that uses the folder: nothing is
 * written or locked.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { decodeText } from '../core/bytes.ts';
import { type Head, parseHead } from '../core/checkpoint/head.ts';
import type { ActivePlan } from '../core/ports.ts';

type PlanRow = [ordinal: number, hash: string, pipeline: Uint8Array];

type HeadRow = [sliceId: string, revision: number, delivered: string, body: Uint8Array];

/** Null where the folder has none yet. Throws what SQLite does where the file is none of ours. */
export function readActivePlan(dataFolder: string): ActivePlan | null {
  const [row] = rowsOf<PlanRow>(dataFolder, 'SELECT ordinal, hash, pipeline FROM active_plan');
  if (row === undefined) return null;
  const [ordinal, hash, pipeline] = row;
  return { ordinal, hash, pipeline: decodeText(pipeline) };
}

/** None where the folder has none yet. Throws as above, and faults for a HEAD that is damaged or of another version. */
export function readHeads(dataFolder: string): Head[] {
  const rows = rowsOf<HeadRow>(
    dataFolder,
    'SELECT slice_id, revision, delivered, body FROM heads ORDER BY slice_id',
  );
  return rows.map(([sliceId, revision, delivered, body]) =>
    parseHead({ sliceId, revision, delivered, body }),
  );
}

function rowsOf<Row>(dataFolder: string, query: string): Row[] {
  const path = join(dataFolder, 'checkpoint.db');
  if (!existsSync(path)) return [];
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const statement = database.prepare(query);
    statement.setReturnArrays(true);
    return statement.all() as unknown as Row[];
  } finally {
    database.close();
  }
}
