/**
 * The number of a SQLite file's last commit. Every transaction that writes counts it up, so the page that holds it is in the
 * write-ahead log of every commit. SQLite itself does not see that a file and a log were copied at different moments, with a
 * log begun anew in between: pages are missing then, or go back. The numbers show it:
 *
 *   first number in the log ≤ number in the file + 1, else commits between the two are missing
 *   last number in the log  ≥ number in the file,     else the log would put older pages over newer ones
 *
 * In the log are those that SQLite would recover (`write-ahead-log.ts`), not what is left of a commit that never completed.
 * It proves nothing about a file that was read by a copying program while SQLite was just writing pages into it.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { CorruptStateFault } from '../../core/faults.ts';
import { versionsInLog } from './write-ahead-log.ts';

/** Shows where in a page the number lies; of a fixed length, like the number. */
const MARK = 'TdmN';
const DIGITS = 16;
/** Of a page that is a leaf of a table: the header's length, where the first cell lies being right after it. */
const LEAF_HEADER_BYTES = 8;

/** What to do with a copy that cannot be used. */
export const COPY_HINT =
  'make copies of a running pipeline with `tidemark backup`, or copy the folder after `tidemark dev` has ended; to begin again on purpose, use an empty data folder';

/** The table of the number, in the transaction that makes the schema. */
export const COMMITS_TABLE = `
  CREATE TABLE commits (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    number TEXT NOT NULL
  ) STRICT;
  INSERT INTO commits VALUES (1, '${MARK}${'0'.repeat(DIGITS)}');
`;
/** What each transaction that writes sets, once, at its end. */
export const NEXT_NUMBER = `number = printf('${MARK}%0${DIGITS}d', substr(number, ${MARK.length + 1}) + 1)`;

/**
 * Throws `CorruptStateFault` if the file and its log are copies of different moments. To be called before SQLite opens the
 * file, since the log may be taken in then. Also right while another process writes both.
 */
export function refuseTornCopy(path: string): void {
  const before = inFile(path);
  if (before === null) return;
  const log = inLog(`${path}-wal`, before.page);
  const after = inFile(path);
  if (log === null || after === null) return;
  if (log.first > after.number + 1) {
    throw torn(
      path,
      `the file ends with commit ${after.number}, its -wal begins with ${log.first}`,
    );
  }
  if (log.last < before.number) {
    throw torn(path, `the file holds commit ${before.number}, its -wal ends with ${log.last}`);
  }
}

/** The fault of a copy that was made while the file was in use. */
export function torn(path: string, how: string): CorruptStateFault {
  return new CorruptStateFault(
    `${path} is a copy that was made while it was in use, and its parts are of different moments: ${how}`,
    { hint: COPY_HINT },
  );
}

/** Runs `read` on what the file says without its log; null if it cannot be read so. */
export function withoutLog<T>(path: string, read: (database: DatabaseSync) => T): T | null {
  if (!existsSync(path)) return null;
  const url = pathToFileURL(path);
  url.search = 'immutable=1';
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(url, { readOnly: true });
    return read(database);
  } catch {
    // What is wrong with it is named where it is opened for use.
    return null;
  } finally {
    database?.close();
  }
}

function inFile(path: string): { page: number; number: number } | null {
  return withoutLog(path, (database) => {
    const found = database
      .prepare(
        `SELECT rootpage AS page, CAST(substr(number, ${MARK.length + 1}) AS INTEGER) AS number
          FROM commits, sqlite_schema WHERE sqlite_schema.name = 'commits'`,
      )
      .get();
    return found === undefined ? null : (found as { page: number; number: number });
  });
}

/** The first and the last number in the log; null if it has none. */
function inLog(path: string, page: number): { first: number; last: number } | null {
  const numbers = versionsInLog(path, page, numberIn).filter((number) => number !== null);
  const [first, last] = [numbers[0], numbers.at(-1)];
  return first === undefined || last === undefined ? null : { first, last };
}

function numberIn(page: Buffer): number | null {
  const at = page.indexOf(MARK, page.readUInt16BE(LEAF_HEADER_BYTES));
  if (at === -1) return null;
  const number = Number(page.toString('latin1', at + MARK.length, at + MARK.length + DIGITS));
  return Number.isSafeInteger(number) ? number : null;
}
