/**
 * Whether a stream's file is a copy that was made while a process had it open. While it is open, the file itself holds its
 * own number in the file system (its *home*): a copy has another number. A copy made by `tidemark backup`, or of a stream
 * that was closed, has no home. Each connection that writes must leave the home before it is closed, since its WAL goes then:
 * otherwise a copy that is whole would look like one that lost its WAL.
 *
 * - A copy of an open file without its WAL, or with an empty one, lacks the newest records, and nothing else shows it: refused.
 *   The WAL of an open stream is never empty, but for a moment while it is opened. Without a WAL the home proves nothing: a copy
 *   that is put back over the file has its number.
 * - One with a WAL of another moment is refused by the numbers of their commits (`commit-number.ts`).
 * - What is left is a file that was copied while SQLite wrote into it: pages, ordinals and the count of all records are
 *   looked at. A page that holds nothing but a part of one record's data would pass.
 */
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { CorruptStateFault } from '../../../core/faults.ts';
import { COPY_HINT, NEXT_NUMBER, refuseTornCopy, torn, withoutLog } from '../commit-number.ts';
import { FileIdentity } from '../file-identity.ts';
import { withLocalFaults } from '../local-faults.ts';
import { openForReading, recordsTable } from './stream-database.ts';

/**
 * Throws `CorruptStateFault` if the file is a copy of several moments. To be called before a connection that writes is opened:
 * closing that one takes the WAL in, and removes it.
 */
export function refuseTornStream(path: string): void {
  refuseTornCopy(path);
  const home = withoutLog(path, readHome);
  if (home === null) return;
  const isAtHome = home === inodeOf(path);
  refuseLostWal(path, isAtHome);
  if (isAtHome) return;
  const database = openForReading(path);
  try {
    withLocalFaults(path, 'look at the stream', () => refuseMixture(database, path));
  } finally {
    database.close();
  }
}

/** The file, which is not torn, is open from now on. */
export function settleHome(database: DatabaseSync, path: string): void {
  writeHome(database, inodeOf(path));
  // Into the file itself: a copy without the WAL has it too.
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  // So that the WAL is not empty from now on.
  database.exec(`UPDATE commits SET ${NEXT_NUMBER}`);
}

/** It is about to be closed: what is copied from now on is whole. */
export function leaveHome(database: DatabaseSync): void {
  if (readHome(database) !== null) writeHome(database, null);
}

function readHome(database: DatabaseSync): string | null {
  const home = database.prepare('SELECT home FROM stream').get()?.['home'];
  return typeof home === 'string' ? home : null;
}

function writeHome(database: DatabaseSync, home: string | null): void {
  database.exec('BEGIN IMMEDIATE');
  database.prepare('UPDATE stream SET home = ?').run(home);
  database.exec(`UPDATE commits SET ${NEXT_NUMBER}; COMMIT`);
}

function refuseLostWal(path: string, isAtHome: boolean): void {
  const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? null;
  if (size !== null && (size > 0 || isAtHome)) return;
  const how = size === null ? 'without' : 'with an empty';
  // A shell that closes the file of a killed process takes the WAL in and removes it.
  const shell = isAtHome
    ? '; if nothing was put back and only another SQLite program has opened it since `tidemark dev` was killed, nothing is missing: run UPDATE stream SET home = NULL in it'
    : '';
  throw new CorruptStateFault(
    `${path} is a copy that was made while the stream was in use, ${how} ${path}-wal: the newest records are missing`,
    { hint: `${COPY_HINT}${shell}` },
  );
}

function refuseMixture(database: DatabaseSync, path: string): void {
  const found = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (found !== 'ok') throw torn(path, String(found));
  const shards = database.prepare('SELECT shard, first_ordinal AS first FROM shards').all();
  let appended = 0;
  for (const { shard, first } of shards) {
    const table = recordsTable(Number(shard));
    const { count, low, high } = database
      .prepare(`SELECT count(*) AS count, min(ordinal) AS low, max(ordinal) AS high FROM ${table}`)
      .get() as { count: number; low: number | null; high: number | null };
    const isDense = count === 0 || (low === first && Number(high) - Number(low) + 1 === count);
    if (!isDense) throw torn(path, `${table} has ${count} records from ${low} to ${high}`);
    appended += high ?? Number(first) - 1;
  }
  const counted = database.prepare('SELECT appended FROM commits').get()?.['appended'];
  if (counted !== appended) {
    throw torn(path, `${counted} records were appended, and it shows ${appended}`);
  }
}

function inodeOf(path: string): string | null {
  return FileIdentity.of(path)?.inode ?? null;
}
