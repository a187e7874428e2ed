/**
 * Whether a stream's file is a copy that was made while a process had it open. While it is open, the file itself holds its
 * own number in the file system (its *home*): a copy has another number. A copy made by `tidemark backup`, or of a stream
 * that was closed, has no home.
 *
 * - A copy of an open file without its WAL lacks the newest records, and nothing else shows it: refused.
 * - One with a WAL may be of two moments: every page and every ordinal is looked at, once.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { CorruptStateFault } from '../../../core/faults.ts';
import { FileIdentity } from '../file-identity.ts';
import { recordsTable } from './stream-database.ts';

const HINT =
  'make copies of a running pipeline with `tidemark backup`, or copy the folder after `tidemark dev` has ended; to begin again on purpose, use an empty data folder';

/** Before any connection is opened, since that may take the WAL in. Throws `CorruptStateFault`. */
export function refuseLostWal(path: string): void {
  const home = homeInFile(path);
  if (home === null || home === FileIdentity.of(path)?.inode) return;
  if (existsSync(`${path}-wal`)) return;
  throw new CorruptStateFault(
    `${path} is a copy that was made while the stream was in use, without ${path}-wal: the newest records are missing`,
    { hint: HINT },
  );
}

/** The file is open from now on. Throws `CorruptStateFault` if it is a copy of two moments. */
export function settleHome(database: DatabaseSync, path: string): void {
  const home = database.prepare('SELECT home FROM stream').get()?.['home'] ?? null;
  const inode = FileIdentity.of(path)?.inode ?? null;
  if (home !== null && home !== inode) refuseTorn(database, path);
  database.prepare('UPDATE stream SET home = ?').run(inode);
  // Into the file itself: a copy without the WAL has it too.
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** It is about to be closed: what is copied from now on is whole. */
export function leaveHome(database: DatabaseSync): void {
  database.exec('UPDATE stream SET home = NULL');
}

/** As the file says without its WAL; null if it says nothing. */
function homeInFile(path: string): string | null {
  if (!existsSync(path)) return null;
  const url = pathToFileURL(path);
  url.search = 'immutable=1';
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(url, { readOnly: true });
    const home = database.prepare('SELECT home FROM stream').get()?.['home'];
    return typeof home === 'string' ? home : null;
  } catch {
    // What is wrong with it is named by those who open it to use it.
    return null;
  } finally {
    database?.close();
  }
}

function refuseTorn(database: DatabaseSync, path: string): void {
  const found = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (found !== 'ok') throw torn(path, String(found));
  const shards = database.prepare('SELECT shard, first_ordinal AS first FROM shards').all();
  for (const { shard, first } of shards) {
    const table = recordsTable(Number(shard));
    const { count, low, high } = database
      .prepare(`SELECT count(*) AS count, min(ordinal) AS low, max(ordinal) AS high FROM ${table}`)
      .get() as { count: number; low: number | null; high: number | null };
    if (count === 0) continue;
    const isDense = low === first && Number(high) - Number(low) + 1 === count;
    if (!isDense) throw torn(path, `${table} has ${count} records from ${low} to ${high}`);
  }
}

function torn(path: string, how: string): CorruptStateFault {
  return new CorruptStateFault(
    `${path} is a copy that was made while the stream was in use, and its parts are of different moments: ${how}`,
    { hint: HINT },
  );
}
