/** Copies of a stream that is in use, of two moments, which SQLite itself may take for sound. */
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { LocalStream } from '../../../adapters/local/stream/local-stream.ts';
import { refuseTornStream } from '../../../adapters/local/stream/stream-home.ts';
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

/** `first` of file and WAL is copied, `between` happens and is taken into the file, `after` happens, and the other is copied. */
async function tornCopy(
  between: (stream: LocalStream, numbers: string[]) => unknown,
  after: (stream: LocalStream, numbers: string[]) => unknown,
  first: 'file' | 'wal' = 'file',
): Promise<string> {
  const [path, copy] = [streamPath(), streamPath()];
  const stream = openStream({ path, shardCount: 2 });
  const numbers = [...fill(stream, FIRST_HASH, 9), ...fill(stream, LAST_HASH, 9)];
  mkdirSync(dirname(copy), { recursive: true });
  const [one, other] = first === 'file' ? ['', '-wal'] : ['-wal', ''];
  if (first === 'file') takeWalIn(path);
  copyFileSync(`${path}${one}`, `${copy}${one}`);
  await between(stream, numbers);
  takeWalIn(path);
  await after(stream, numbers);
  copyFileSync(`${path}${other}`, `${copy}${other}`);
  return copy;
}

/** A sound copy, as of a file that is in use, changed as a copying program may leave it that SQLite overtook. */
async function overtaken(change: string): Promise<string> {
  const copy = await tornCopy(
    () => {},
    (stream) => fill(stream, FIRST_HASH, 1),
  );
  const changed = streamPath();
  mkdirSync(dirname(changed), { recursive: true });
  const database = new DatabaseSync(copy);
  database.exec(change);
  // Closing it takes the WAL in.
  for (const end of ['', '-wal']) copyFileSync(copy + end, changed + end);
  database.close();
  return changed;
}

const trim = (stream: LocalStream, shardId: string, sequenceNumber = '') =>
  stream.trimBefore(shardId, { sequenceNumber, subSequence: 0 });
/** As the data folder does: what is of two moments must be refused before SQLite opens it. */
const open = (path: string) => {
  refuseTornStream(path);
  return openStream({ path, shardCount: 2 });
};
const OF_TWO_MOMENTS = /parts are of different moments/;

describe('a copy of two moments', () => {
  it('that lacks records of one shard, in pages that the WAL does not have, is refused', async () => {
    const copy = await tornCopy(
      (stream) => fill(stream, LAST_HASH, 2),
      (stream) => fill(stream, FIRST_HASH, 1),
    );
    expect(() => open(copy)).toThrow(/the file ends with commit 4, its -wal begins with 6/);
  });

  it('is refused where the WAL has nothing but a trim, or a position of the mapping', async () => {
    const position = { sequenceNumber: '1', subSequence: 0 };
    const afters = [
      (stream: LocalStream, numbers: string[]) => trim(stream, SHARD_0, numbers[4]),
      (stream: LocalStream) => {
        stream.saveMappingPosition(SHARD_0, position);
        stream.append([]);
      },
    ];
    for (const after of afters) {
      const copy = await tornCopy((stream) => fill(stream, LAST_HASH, 2), after);
      expect(() => open(copy)).toThrow(OF_TWO_MOMENTS);
    }
  });

  it('is refused where only the data of a record is not there', async () => {
    const copy = await tornCopy(
      (stream) => fill(stream, LAST_HASH, 1, 'x'.repeat(12_000)),
      (stream) => fill(stream, LAST_HASH, 1),
    );
    expect(() => open(copy)).toThrow(OF_TWO_MOMENTS);
  });

  it('is refused where the WAL is the older of the two', async () => {
    const copy = await tornCopy(
      (stream) => fill(stream, LAST_HASH, 2),
      () => {},
      'wal',
    );
    expect(() => open(copy)).toThrow(/the file holds commit \d+, its -wal ends with \d+/);
  });

  it('is refused where the file was closed when it was copied', async () => {
    const [path, copy] = [streamPath(), streamPath()];
    const first = open(path);
    fill(first, FIRST_HASH, 3);
    first.close();
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(path, copy);
    const second = open(path);
    fill(second, FIRST_HASH, 3);
    takeWalIn(path);
    fill(second, LAST_HASH, 1);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    expect(() => open(copy)).toThrow(OF_TWO_MOMENTS);
  });

  it('is refused where the stream was closed and opened again in between: its WAL is empty', async () => {
    const [path, copy, fresh] = [streamPath(), streamPath(), streamPath()];
    fill(open(path), FIRST_HASH, 3);
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(path, copy);
    writeFileSync(`${copy}-wal`, '');
    expect(() => refuseTornStream(copy)).toThrow(/with an empty \S+-wal: the newest records/);
    // The WAL of a stream that is open never is, not even of one that nothing was appended to.
    open(fresh);
    expect(statSync(`${fresh}-wal`).size).toBeGreaterThan(0);
  });

  it.each([
    ['the newest records of a shard are missing', 'DELETE FROM records_1 WHERE ordinal > 7'],
    ['records in between are missing', 'DELETE FROM records_1 WHERE ordinal = 4'],
    ['records are there that were trimmed', 'UPDATE shards SET first_ordinal = 3'],
  ])('is refused where SQLite was writing meanwhile: %s', async (_, change) => {
    const copy = await overtaken(change);
    expect(() => open(copy)).toThrow(OF_TWO_MOMENTS);
  });

  it('is refused where it was put back over the file itself, without its WAL', () => {
    const [path, copy] = [streamPath(), streamPath()];
    const stream = openStream({ path, shardCount: 2 });
    fill(stream, FIRST_HASH, 9);
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(path, copy);
    // As a process leaves it that is killed: the file at its home, and its WAL.
    fill(stream, FIRST_HASH, 9);
    const wal = readFileSync(`${path}-wal`);
    stream.close();
    copyFileSync(copy, path);
    expect(() => open(path)).toThrow(/without .*-wal: the newest records are missing/);
    writeFileSync(`${path}-wal`, wal);
    expect(() => open(path)).not.toThrow();
  });

  it('of one moment goes on', async () => {
    const copy = await tornCopy(
      () => {},
      (stream, numbers) => trim(stream, SHARD_0, numbers[4]),
    );
    const stream = open(copy);
    expect([stream.tip(SHARD_0).count, stream.tip(SHARD_1).count]).toEqual([5, 9]);
    stream.close();
    // It is at home here now, and whole.
    expect(open(copy).tip(SHARD_1).count).toBe(9);
  });

  it('of a stream that goes on meanwhile is never refused while it is the stream itself', async () => {
    const path = streamPath();
    const stream = open(path);
    for (let round = 0; round < 20; round++) {
      fill(stream, round % 2 === 0 ? FIRST_HASH : LAST_HASH, 5);
      if (round % 3 === 0) takeWalIn(path);
      refuseTornStream(path);
    }
  });
});
