/** What is read of a write-ahead log, compared with what SQLite itself recovers of it, however it was cut or damaged. */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { versionsInLog } from '../../../adapters/local/write-ahead-log.ts';
import { temporaryFolder } from './temporary-folder.ts';

const PAGE_BYTES = 512;
const HEADER_BYTES = 32;
const FRAME_BYTES = 24 + PAGE_BYTES;
/** Bytes of each part of a frame, one of which is damaged. */
const IN_FRAME = [0, 3, 7, 8, 15, 16, 23, 24, FRAME_BYTES - 1];
const MARK = 'commit ';
/** Commits in the log; the file itself has the one before them. */
const COMMITS = 5;

/** A file and a log of some commits, each of several pages, and behind them one that was rolled back. */
async function fileAndLog() {
  const folder = await temporaryFolder();
  const [path, copy] = [join(folder, 'live.db'), join(folder, 'copy.db')];
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL`);
  database.exec("CREATE TABLE number (text TEXT); INSERT INTO number VALUES ('commit 0')");
  database.exec('CREATE TABLE rows (data BLOB); PRAGMA wal_checkpoint(TRUNCATE)');
  const { page } = database
    .prepare("SELECT rootpage AS page FROM sqlite_schema WHERE name = 'number'")
    .get() as { page: number };
  for (let number = 1; number <= COMMITS; number++) {
    database.exec(`BEGIN; INSERT INTO rows VALUES (zeroblob(${300 * number}))`);
    database.exec(`UPDATE number SET text = '${MARK}${number}'; COMMIT`);
  }
  // Pages of it are in the log.
  database.exec("PRAGMA cache_size = 10; BEGIN; UPDATE number SET text = 'commit 9'");
  database.exec('INSERT INTO rows VALUES (zeroblob(8000)); ROLLBACK');
  copyFileSync(path, copy);
  const log = readFileSync(`${path}-wal`);
  database.close();

  /** What is found with such a log, by SQLite and here. */
  const lastNumber = (bytes: Uint8Array) => {
    rmSync(`${copy}-shm`, { force: true });
    writeFileSync(`${copy}-wal`, bytes);
    const found = versionsInLog(`${copy}-wal`, page, (content) => {
      const at = content.indexOf(MARK) + MARK.length;
      return Number(content.toString('latin1', at, at + 1));
    });
    const reader = new DatabaseSync(copy, { readOnly: true });
    try {
      const { text } = reader.prepare('SELECT text FROM number').get() as { text: string };
      return { here: found.at(-1) ?? 0, sqlite: Number(text.slice(MARK.length)), all: found };
    } finally {
      reader.close();
    }
  };
  return { log, lastNumber };
}

/** The log as a machine of the other byte order writes it. */
function inOtherByteOrder(log: Buffer): Buffer {
  const made = Buffer.from(log);
  made.writeUInt8((log[3] ?? 0) ^ 1, 3);
  const isBigEndian = ((made[3] ?? 0) & 1) === 1;
  let sums: [number, number] = [0, 0];
  const add = (from: number, to: number) => {
    for (let at = from; at < to; at += 8) {
      const [one, other] = isBigEndian
        ? [made.readUInt32BE(at), made.readUInt32BE(at + 4)]
        : [made.readUInt32LE(at), made.readUInt32LE(at + 4)];
      const first = (sums[0] + one + sums[1]) >>> 0;
      sums = [first, (sums[1] + other + first) >>> 0];
    }
  };
  const put = (at: number) => made.writeUInt32BE(sums[1], made.writeUInt32BE(sums[0], at));
  add(0, 24);
  put(24);
  for (let at = HEADER_BYTES; at < made.length; at += FRAME_BYTES) {
    add(at, at + 8);
    add(at + 24, at + FRAME_BYTES);
    put(at + 16);
  }
  return made;
}

describe('the versions of a page in a log', () => {
  it('are one for each commit, in their order, and none of a transaction that was rolled back', async () => {
    const { log, lastNumber } = await fileAndLog();
    expect(lastNumber(log)).toEqual({ here: COMMITS, sqlite: COMMITS, all: [1, 2, 3, 4, 5] });
    // Otherwise nothing of the transaction that was rolled back would be in the log.
    expect(log.indexOf('commit 9')).toBeGreaterThan(0);
  });

  it('end where those of SQLite end in a log that was cut anywhere', async () => {
    const { log, lastNumber } = await fileAndLog();
    const seen = new Set<number>();
    for (let end = HEADER_BYTES; end <= log.length; end += FRAME_BYTES) {
      for (const cut of [end - 1, end]) {
        const { here, sqlite } = lastNumber(log.subarray(0, cut));
        expect([cut, here]).toEqual([cut, sqlite]);
        seen.add(here);
      }
    }
    expect([...seen]).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('end where those of SQLite end in a log with a damaged byte anywhere', async () => {
    const { log, lastNumber } = await fileAndLog();
    const places = [...Array(HEADER_BYTES).keys()].filter((at) => at < 4 || at >= 8);
    for (let at = HEADER_BYTES; at < log.length; at += FRAME_BYTES) {
      places.push(at + (IN_FRAME[places.length % IN_FRAME.length] ?? 0));
    }
    for (const at of places) {
      const damaged = Buffer.from(log);
      damaged.writeUInt8((log[at] ?? 0) ^ 1, at);
      const { here, sqlite } = lastNumber(damaged);
      expect([at, here]).toEqual([at, sqlite]);
    }
  });

  it('are the same in a log of the other byte order', async () => {
    const { log, lastNumber } = await fileAndLog();
    const { here, sqlite } = lastNumber(inOtherByteOrder(log));
    expect([here, sqlite]).toEqual([COMMITS, COMMITS]);
  });

  it('are none where there is no log', async () => {
    expect(versionsInLog(join(await temporaryFolder(), 'none'), 2, () => 1)).toEqual([]);
  });
});
