/** Copies of a stream that is in use, of two moments, which SQLite itself may take for sound. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { LocalStream } from '../../../adapters/local/stream/local-stream.ts';
import { entry, openStream, SHARD_0, SHARD_1, streamPath } from './stream-fixture.ts';

const FIRST_HASH = '0';
const LAST_HASH = String(2n ** 128n - 1n);

function fill(stream: LocalStream, hash: string, count: number, data = 'data'): string[] {
  const entries = Array.from({ length: count }, () => ({
    ...entry('key', data),
    explicitHashKey: hash,
  }));
  return stream.append(entries).map(({ sequenceNumber }) => sequenceNumber);
}

/** As SQLite does when the WAL is long. */
function takeWalIn(path: string): void {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
}

/** The file is copied, `between` happens and is taken into the file, `after` happens, and the WAL is copied. */
async function tornCopy(
  between: (stream: LocalStream, numbers: string[]) => unknown,
  after: (stream: LocalStream, numbers: string[]) => unknown,
): Promise<string> {
  const [path, copy] = [streamPath(), streamPath()];
  const stream = openStream({ path, shardCount: 2 });
  const numbers = [...fill(stream, FIRST_HASH, 9), ...fill(stream, LAST_HASH, 9)];
  takeWalIn(path);
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(path, copy);
  await between(stream, numbers);
  takeWalIn(path);
  await after(stream, numbers);
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  return copy;
}

const trim = (stream: LocalStream, shardId: string, sequenceNumber = '') =>
  stream.trimBefore(shardId, { sequenceNumber, subSequence: 0 });

describe('a copy of two moments', () => {
  it('of which every page is sound is refused where its ordinals do not agree', async () => {
    const copy = await tornCopy(
      (stream, numbers) => trim(stream, SHARD_1, numbers[13]),
      (stream, numbers) => trim(stream, SHARD_0, numbers[4]),
    );
    expect(() => openStream({ path: copy, shardCount: 2 })).toThrow(
      /parts are of different moments: \S+ has 9 records from 1 to 9/,
    );
  });

  it('is refused where the ordinals agree, and pages of a record are not there', async () => {
    const copy = await tornCopy(
      (stream) => fill(stream, LAST_HASH, 1, 'x'.repeat(100_000)),
      (stream) => fill(stream, LAST_HASH, 1),
    );
    expect(() => openStream({ path: copy, shardCount: 2 })).toThrow(
      /parts are of different moments/,
    );
  });

  it('of one moment goes on', async () => {
    const copy = await tornCopy(
      () => {},
      (stream, numbers) => trim(stream, SHARD_0, numbers[4]),
    );
    const stream = openStream({ path: copy, shardCount: 2 });
    expect([stream.tip(SHARD_0).count, stream.tip(SHARD_1).count]).toEqual([5, 9]);
  });
});
