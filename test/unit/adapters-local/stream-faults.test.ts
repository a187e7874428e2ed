import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { LocalRecordSource } from '../../../adapters/local/stream/local-record-source.ts';
import {
  CorruptStateFault,
  NewerFormatFault,
  OlderFormatFault,
  TransientFault,
} from '../../../core/faults.ts';
import { entry, NOW_MS, openStream, SHARD_0, streamPath, TestClock } from './stream-fixture.ts';

const ALL = { countMax: 10_000, bytesMax: 100_000_000 };
const LARGE = 'x'.repeat(100_000);

describe('a local stream whose disk is full', () => {
  const fill = (stream: ReturnType<typeof openStream>): number => {
    for (let count = 0; count < 1_000; count++) {
      try {
        stream.append([entry(`fill-${count}`, LARGE)]);
      } catch (error) {
        expect(error).toBeInstanceOf(TransientFault);
        expect((error as TransientFault).message).toContain('disk is full');
        expect((error as TransientFault).hint).toContain('free space');
        return count;
      }
    }
    throw new Error('the stream never was full');
  };

  it('refuses an append whole, with a fault that says what to do, and keeps what it had', () => {
    const path = streamPath();
    const stream = openStream({ path, maxPages: 100 });
    const count = fill(stream);
    expect(count).toBeGreaterThan(1);
    expect(() => stream.append([entry('small'), entry('large', LARGE)])).toThrow(TransientFault);
    expect(stream.tip(SHARD_0)).toMatchObject({ ordinal: count, count });
    stream.close();

    const { records } = openStream({ path }).readFrom(SHARD_0, 1, ALL);
    expect(records.map((record) => record.partitionKey)).toEqual(
      Array.from({ length: count }, (_, index) => `fill-${index}`),
    );
  });

  it('takes records again, without a hole, once there is room', async () => {
    const clock = new TestClock();
    const stream = openStream({ clock, maxPages: 100 });
    const count = fill(stream);
    const newest = stream.tip(SHARD_0).sequenceNumber as string;
    clock.ms += 25 * 3_600_000;
    const keepAfter = new Map([[SHARD_0, { sequenceNumber: newest, subSequence: 0 }]]);
    expect(await stream.trimExpired(clock.ms, keepAfter)).toBe(count);
    stream.append([entry('again', LARGE)]);
    expect(stream.tip(SHARD_0)).toMatchObject({ ordinal: count + 1, count: 1 });
  });
});

describe('opening a local stream', () => {
  it('refuses the stream of another pipeline and names both', () => {
    const path = streamPath();
    openStream({ path }).close();
    expect(() => openStream({ path, name: 'orders' })).toThrow(
      /holds the stream 'flights', not 'orders': use/,
    );
  });

  it('refuses another number of shards, and takes the one that is there when none is given', () => {
    const path = streamPath();
    openStream({ path, shardCount: 3 }).close();
    expect(() => openStream({ path, shardCount: 2 })).toThrow(/has 3 shards, not 2/);
    expect(openStream({ path }).shards()).toHaveLength(3);
  });

  it.each([0, -1, 1.5, 257, Number.NaN])('refuses %s shards', (shardCount) => {
    expect(() => openStream({ shardCount })).toThrow(/has 1 to 256 shards/);
  });

  it.each([
    [4, NewerFormatFault],
    [2, OlderFormatFault],
    [1, OlderFormatFault],
  ])('refuses a file of format %s, to write and to read', (version, fault) => {
    const path = streamPath();
    openStream({ path }).close();
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA user_version = ${version}`);
    database.close();
    expect(() => openStream({ path })).toThrow(fault);
    expect(() => LocalRecordSource.open(path)).toThrow(fault);
  });

  it('refuses an SQLite file of something else and leaves it as it is', () => {
    const path = streamPath();
    openStream({ path }).close();
    const database = new DatabaseSync(path);
    database.exec('PRAGMA application_id = 7');
    database.close();
    expect(() => openStream({ path })).toThrow(/not a Tidemark stream/);
  });

  it('refuses a file that is not of SQLite', async () => {
    const path = streamPath();
    await mkdir(dirname(path));
    writeFileSync(path, 'not a database, but long enough to be one '.repeat(100));
    expect(() => openStream({ path })).toThrow(CorruptStateFault);
  });

  it('makes the stream when a first start died before anything was written', async () => {
    const path = streamPath();
    await mkdir(dirname(path));
    writeFileSync(path, '');
    const stream = openStream({ path });
    expect(stream.createdMs).toBe(NOW_MS);
  });

  it('says that a file to read is not there yet', () => {
    expect(() => LocalRecordSource.open(streamPath())).toThrow(TransientFault);
  });
});
