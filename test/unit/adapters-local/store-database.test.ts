import { once } from 'node:events';
import { open, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { CheckpointDatabase } from '../../../adapters/local/store/checkpoint-database.ts';
import { LocalCheckpointStore } from '../../../adapters/local/store/local-checkpoint-store.ts';
import { LocalItemStore } from '../../../adapters/local/store/local-item-store.ts';
import { LocalPlanRegistry } from '../../../adapters/local/store/local-plan-registry.ts';
import { LocalQuarantineIndex } from '../../../adapters/local/store/local-quarantine-index.ts';
import { TransientFault } from '../../../core/faults.ts';
import type { HeadItem, QuarantinedRecord } from '../../../core/ports.ts';
import { temporaryFolder } from './temporary-folder.ts';

const clock = { nowMs: () => 1_700_000_000_000 };
const PAGE_BYTES = 4096;

const head = (revision: number, bodyBytes = 600): HeadItem => ({
  sliceId: 'slice-a',
  revision,
  delivered: '0',
  body: new Uint8Array(bodyBytes).fill(revision),
});

const quarantined = (sequence: number, dataBytes: number): QuarantinedRecord => ({
  sliceId: 'slice-a',
  shardId: 'shard',
  timeline: 0,
  epoch: 1,
  sequenceNumber: `${sequence}`,
  subSequence: 0,
  partitionKey: 'key',
  arrivalMs: 0,
  reason: 'not-json',
  detail: '',
  planHash: '',
  data: new Uint8Array(dataBytes),
});

async function databasePath(): Promise<string> {
  return join(await temporaryFolder(), 'checkpoint.db');
}

/** Creates items of 4 KiB until the store is full; the keys of those that were acknowledged, and the fault. */
async function fill(items: LocalItemStore): Promise<{ keys: string[]; fault: unknown }> {
  const keys: string[] = [];
  for (;;) {
    try {
      const key = `slice-a/delta/${keys.length}`;
      await items.create(key, new Uint8Array(PAGE_BYTES).fill(7));
      keys.push(key);
    } catch (fault) {
      return { keys, fault };
    }
  }
}

describe('a full checkpoint store', () => {
  it('is not made in part: it gets its schema once there is room', async () => {
    const path = await databasePath();
    // Each fails at another table or index.
    for (const maxPages of [2, 3, 5, 8]) {
      expect(() => CheckpointDatabase.open(path, { maxPages })).toThrow(TransientFault);
      const raw = new DatabaseSync(path);
      expect(raw.prepare('SELECT count(*) AS count FROM sqlite_schema').get()?.['count']).toBe(0);
      raw.close();
    }
    const database = CheckpointDatabase.open(path);
    const heads = new LocalCheckpointStore(database);
    await heads.createHead(head(1));
    expect(await heads.readHead('slice-a')).toEqual(head(1));
    database.close();
  });

  it('is a transient fault that says so, and keeps what was acknowledged', async () => {
    const path = await databasePath();
    const database = CheckpointDatabase.open(path, { maxPages: 60 });
    const heads = new LocalCheckpointStore(database);
    await heads.createHead(head(1));
    const { keys, fault } = await fill(new LocalItemStore(database, clock));
    expect(fault).toMatchObject({
      name: 'TransientFault',
      message: expect.stringContaining(path),
      hint: expect.stringContaining('the disk is full'),
    });
    expect(keys.length).toBeGreaterThan(10);
    database.close();

    const again = CheckpointDatabase.open(path, { maxPages: 60 });
    expect(await new LocalCheckpointStore(again).readHead('slice-a')).toEqual(head(1));
    const listed = await new LocalItemStore(again, clock).list('', null, 1000);
    expect(listed.map(({ key }) => key)).toEqual([...keys].sort());
    again.close();
  });

  it('takes more once something was deleted', async () => {
    const database = CheckpointDatabase.open(await databasePath(), { maxPages: 60 });
    const items = new LocalItemStore(database, clock);
    const { keys } = await fill(items);
    await items.delete(keys.slice(0, 5));
    expect(await items.create('slice-a/delta/next', new Uint8Array(PAGE_BYTES))).toBe('created');
    database.close();
  });

  it('refuses a HEAD whole: the old one stays', async () => {
    const database = CheckpointDatabase.open(await databasePath(), { maxPages: 60 });
    const heads = new LocalCheckpointStore(database);
    await heads.createHead(head(1));
    await fill(new LocalItemStore(database, clock));
    await expect(heads.writeHead(head(2, 20_000), 1, null)).rejects.toMatchObject({
      name: 'TransientFault',
    });
    expect(await heads.readHead('slice-a')).toEqual(head(1));
    expect(await heads.writeHead(head(2), 1, null)).toEqual({ outcome: 'applied' });
    database.close();
  });

  it('lists all of a batch of quarantined records or none, and goes on', async () => {
    const database = CheckpointDatabase.open(await databasePath(), { maxPages: 60 });
    const index = new LocalQuarantineIndex(database);
    const batch = Array.from({ length: 5 }, (_, at) => quarantined(at + 1, 100_000));
    await expect(index.put(batch)).rejects.toMatchObject({ name: 'TransientFault' });
    expect(await index.list(null, 10)).toEqual([]);
    await index.put(batch.slice(0, 1));
    expect(await index.list(null, 10)).toEqual(batch.slice(0, 1));
    database.close();
  });
});

describe('a checkpoint store file', () => {
  it('that is new and that another thread reads at this moment is waited for', async () => {
    const path = await databasePath();
    const reader = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
      const { DatabaseSync } = require('node:sqlite');
      const database = new DatabaseSync(workerData);
      database.exec('BEGIN; SELECT * FROM sqlite_schema');
      parentPort.postMessage('reading');
      setTimeout(() => database.close(), 100);`,
      { eval: true, workerData: path },
    );
    await once(reader, 'message');
    CheckpointDatabase.open(path).close();
  });

  it.each([
    [5, 'NewerFormatFault', 'upgrade'],
    [3, 'OlderFormatFault', 'start with an empty data folder'],
    [2, 'OlderFormatFault', 'start with an empty data folder'],
    [1, 'OlderFormatFault', 'start with an empty data folder'],
  ])('of format %s is refused and not touched', async (version, name, hint) => {
    const path = await databasePath();
    CheckpointDatabase.open(path).close();
    const raw = new DatabaseSync(path);
    raw.exec(`PRAGMA user_version = ${version}`);
    raw.close();
    const before = await readFile(path);
    expect(() => CheckpointDatabase.open(path)).toThrow(
      expect.objectContaining({
        name,
        message: expect.stringContaining(
          `has format ${version}; this Tidemark reads format 4 only`,
        ),
        hint: expect.stringContaining(hint),
      }),
    );
    expect(await readFile(path)).toEqual(before);
  });

  it('that another program made is refused and not touched', async () => {
    const path = await databasePath();
    const raw = new DatabaseSync(path);
    raw.exec('CREATE TABLE notes (text)');
    raw.close();
    const before = await readFile(path);
    expect(() => CheckpointDatabase.open(path)).toThrow(
      expect.objectContaining({
        name: 'CorruptStateFault',
        message: expect.stringContaining('not a Tidemark checkpoint store'),
      }),
    );
    expect(await readFile(path)).toEqual(before);
  });

  it("that is not SQLite's is refused", async () => {
    const path = await databasePath();
    await writeFile(path, 'id,name\n'.repeat(1000));
    expect(() => CheckpointDatabase.open(path)).toThrow(
      expect.objectContaining({
        name: 'CorruptStateFault',
        hint: expect.stringContaining('damaged'),
      }),
    );
  });

  it('in a folder that is not there says where', async () => {
    const path = join(await temporaryFolder(), 'missing', 'checkpoint.db');
    expect(() => CheckpointDatabase.open(path)).toThrow(
      expect.objectContaining({ name: 'TransientFault', message: expect.stringContaining(path) }),
    );
  });

  it('with damaged pages is corrupt, whatever is asked, and never gives wrong bytes', async () => {
    const path = await databasePath();
    const database = CheckpointDatabase.open(path);
    const items = new LocalItemStore(database, clock);
    for (let at = 0; at < 50; at++) {
      await items.create(`slice-a/delta/${at}`, new Uint8Array(2000).fill(at));
    }
    database.close();
    const { size } = await stat(path);
    const file = await open(path, 'r+');
    // All pages but the first, which has the schema.
    await file.write(Buffer.alloc(size - PAGE_BYTES, 0xa5), 0, size - PAGE_BYTES, PAGE_BYTES);
    await file.close();

    const damaged = CheckpointDatabase.open(path);
    const store = new LocalItemStore(damaged, clock);
    const corrupt = { name: 'CorruptStateFault', message: expect.stringContaining(path) };
    await expect(store.read('slice-a/delta/1')).rejects.toMatchObject(corrupt);
    await expect(store.list('', null, 10)).rejects.toMatchObject(corrupt);
    await expect(store.create('slice-b/x', new Uint8Array(1))).rejects.toMatchObject(corrupt);
    await expect(new LocalCheckpointStore(damaged).readHead('a')).rejects.toMatchObject(corrupt);
    damaged.close();
  });

  it('that was cut off is corrupt', async () => {
    const path = await databasePath();
    const database = CheckpointDatabase.open(path);
    const items = new LocalItemStore(database, clock);
    for (let at = 0; at < 50; at++) await items.create(`key-${at}`, new Uint8Array(2000));
    database.close();
    await truncate(path, 5 * PAGE_BYTES);
    await expect(async () => {
      const cut = CheckpointDatabase.open(path);
      try {
        await new LocalItemStore(cut, clock).list('', null, 1000);
      } finally {
        cut.close();
      }
    }).rejects.toMatchObject({ name: 'CorruptStateFault' });
  });

  it('that another connection locks for too long is a transient fault', async () => {
    const path = await databasePath();
    const database = CheckpointDatabase.open(path, { busyTimeoutMs: 50 });
    const heads = new LocalCheckpointStore(database);
    await heads.createHead(head(1));
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    await expect(heads.writeHead(head(2), 1, null)).rejects.toMatchObject({
      name: 'TransientFault',
      hint: expect.stringContaining('held the file for too long'),
    });
    // Readers do not wait for the writer.
    expect(await heads.readHead('slice-a')).toEqual(head(1));
    other.exec('ROLLBACK');
    other.close();
    expect(await heads.writeHead(head(2), 1, null)).toEqual({ outcome: 'applied' });
    database.close();
  });
});

describe('what is called a read', () => {
  it('must not write, since its commit would not be counted', async () => {
    const database = CheckpointDatabase.open(await databasePath());
    const insert = database.prepare('INSERT INTO active_plan VALUES (1, 1, ?, ?)');
    expect(() => database.read('test', () => insert.run('hash', new Uint8Array()))).toThrow(
      /each-commit-is-counted/,
    );
    database.close();
  });
});

describe('threads of one process', () => {
  it('open a new store at once, and each commit of HEAD and each activation has one winner', async () => {
    const [threads, commits] = [4, 25];
    for (let round = 0; round < 3; round++) {
      const path = await databasePath();
      const gate = new SharedArrayBuffer(4);
      const workers = Array.from({ length: threads }, (_, thread) => {
        const workerData = { path, thread, threads, commits, gate };
        return new Worker(new URL('./store-racer.ts', import.meta.url), { workerData });
      });
      const written = await Promise.all(workers.map(raceOf(gate, threads)));
      const dense = Array.from({ length: threads * commits }, (_, index) => index + 1);
      expect(written.flatMap(({ revisions }) => revisions).sort((a, b) => a - b)).toEqual(dense);
      expect(written.flatMap(({ ordinals }) => ordinals).sort((a, b) => a - b)).toEqual(dense);
      const database = CheckpointDatabase.open(path);
      const last = await new LocalCheckpointStore(database).readHead('slice-a');
      expect(last?.revision).toBe(threads * commits);
      const items = await new LocalItemStore(database, clock).list('slice-a/', null, 1000);
      expect(items).toHaveLength(threads * commits);
      const active = await new LocalPlanRegistry(database).active();
      const winner = written.findIndex(({ ordinals }) => ordinals.includes(threads * commits));
      expect(active).toEqual({ ordinal: threads * commits, hash: `${winner}`, pipeline: '{}' });
      database.close();
    }
  });
});

interface Written {
  readonly revisions: readonly number[];
  readonly ordinals: readonly number[];
}

/** What a racer wrote; all begin when the last of them is ready. */
function raceOf(gate: SharedArrayBuffer, threads: number): (worker: Worker) => Promise<Written> {
  const ready = new Int32Array(gate);
  return (worker) =>
    new Promise((resolve, reject) => {
      worker.on('error', reject);
      worker.on('message', (message: 'ready' | Written) => {
        if (message !== 'ready') resolve(message);
        else if (Atomics.add(ready, 0, 1) + 1 === threads) Atomics.notify(ready, 0);
      });
    });
}
