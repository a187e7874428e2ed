/** What the numbers of commits in a file and its write-ahead log say, where the log has more than its commits. */
import { copyFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { refuseTornCopy } from '../../../adapters/local/commit-number.ts';
import { CheckpointDatabase } from '../../../adapters/local/store/checkpoint-database.ts';
import { LocalItemStore } from '../../../adapters/local/store/local-item-store.ts';
import { LocalQuarantineIndex } from '../../../adapters/local/store/local-quarantine-index.ts';
import { temporaryFolder } from './temporary-folder.ts';

const FRAME_BYTES = 24 + 4096;

const clock = { nowMs: () => 1_700_000_000_000 };

function open(path: string): CheckpointDatabase {
  const database = CheckpointDatabase.open(path);
  onTestFinished(() => database.close());
  return database;
}

/** One commit each, of a few pages. */
async function commit(database: CheckpointDatabase, count: number): Promise<void> {
  const items = new LocalItemStore(database, clock);
  for (let index = 0; index < count; index++) {
    await items.create(`slice-a/delta/${count}-${index}`, Buffer.from('bytes'));
  }
}

/** One commit that is larger than SQLite's cache: pages of it are in the log long before it completes. */
async function commitLarge(database: CheckpointDatabase): Promise<void> {
  const records = Array.from({ length: 3 }, (_, index) => ({
    ...{ sliceId: 'slice-a', shardId: 'shard', timeline: 0, epoch: 1, subSequence: 0 },
    ...{ partitionKey: 'key', arrivalMs: 0, reason: 'not-json' as const, detail: '', planHash: '' },
    sequenceNumber: `${index}`,
    data: new Uint8Array(1_000_000).fill(index),
  }));
  await new LocalQuarantineIndex(database).put(records);
}

/** A file that has taken a large commit in, and a copy of the file from before it, with its log: all of it, or less its end. */
async function largeCommit({ isCutOff }: { isCutOff: boolean }) {
  const path = join(await temporaryFolder(), 'checkpoint.db');
  const copy = `${path}-copy`;
  const database = open(path);
  await commit(database, 1);
  copyFileSync(path, copy);
  await commitLarge(database);
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  takeIn(path);
  if (isCutOff) truncateSync(`${copy}-wal`, statSync(`${copy}-wal`).size - FRAME_BYTES);
  return { path, copy };
}

/** As SQLite does when the log is long; the log stays as it is until the next commit begins it anew. */
function takeIn(path: string): void {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  database.close();
}

describe('the numbers of the commits in a log', () => {
  it('leave out a large commit that SIGKILL cut off, also where later ones are written over its beginning', async () => {
    const killed = (await largeCommit({ isCutOff: true })).copy;
    expect(() => refuseTornCopy(killed)).not.toThrow();
    await commit(open(killed), 5);
    expect(() => refuseTornCopy(killed)).not.toThrow();
    takeIn(killed);
    expect(() => refuseTornCopy(killed)).not.toThrow();
  });

  it('show a log that lacks the end of a commit which the file has', async () => {
    const { path, copy } = await largeCommit({ isCutOff: true });
    copyFileSync(path, copy);
    expect(() => refuseTornCopy(copy)).toThrow('the file holds commit 2, its -wal ends with 1');
  });

  it('show nothing where the log has the whole of a large commit', async () => {
    const { path, copy } = await largeCommit({ isCutOff: false });
    expect(() => refuseTornCopy(copy)).not.toThrow();
    copyFileSync(path, copy);
    expect(() => refuseTornCopy(copy)).not.toThrow();
  });
});
