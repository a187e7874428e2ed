import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import {
  CheckpointDatabase,
  type CheckpointDatabaseOptions,
} from '../../../adapters/local/store/checkpoint-database.ts';
import { LocalCheckpointStore } from '../../../adapters/local/store/local-checkpoint-store.ts';
import { LocalInbox } from '../../../adapters/local/store/local-inbox.ts';
import { LocalItemStore } from '../../../adapters/local/store/local-item-store.ts';
import { LocalPlanRegistry } from '../../../adapters/local/store/local-plan-registry.ts';
import { LocalQuarantineIndex } from '../../../adapters/local/store/local-quarantine-index.ts';
import { LocalSuspicionStore } from '../../../adapters/local/store/local-suspicion-store.ts';
import { quarantineId } from '../../../core/ports.ts';
import { START } from '../../../core/position.ts';
import { HEAD_1, ITEM_1, QUARANTINED_1, writeVersion1 } from './store-version-1.ts';
import { temporaryFolder } from './temporary-folder.ts';

const NEWEST_VERSION = 2;

async function version1(): Promise<string> {
  const path = join(await temporaryFolder(), 'checkpoint.db');
  writeVersion1(path);
  return path;
}

/** Version, and the statements that made each table and index. */
function schemaOf(path: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true });
  const version = database.prepare('PRAGMA user_version').get()?.['user_version'];
  const names = database.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all();
  database.close();
  return { version, names };
}

async function expectWhatVersion1Wrote(database: CheckpointDatabase): Promise<void> {
  const heads = new LocalCheckpointStore(database);
  expect(await heads.listHeads()).toEqual([HEAD_1]);
  const items = new LocalItemStore(database, { nowMs: () => 0 });
  const { key, createdMs, length, byte } = ITEM_1;
  expect(await items.list('', null, 10)).toEqual([{ key, createdMs, byteLength: length }]);
  expect(await items.read(key)).toEqual(new Uint8Array(length).fill(byte));
  const index = new LocalQuarantineIndex(database);
  expect(await index.list(null, 10)).toEqual([QUARANTINED_1]);
  expect(await index.get(quarantineId(QUARANTINED_1))).toEqual(QUARANTINED_1);
}

function tryToOpen(path: string, options: CheckpointDatabaseOptions): unknown {
  try {
    CheckpointDatabase.open(path, options).close();
    return null;
  } catch (fault) {
    return fault;
  }
}

describe('a checkpoint store of version 1', () => {
  it('is extended when it is opened, and keeps all that it has', async () => {
    const path = await version1();
    for (let time = 0; time < 2; time++) {
      const database = CheckpointDatabase.open(path);
      await expectWhatVersion1Wrote(database);
      database.close();
      expect(schemaOf(path)).toMatchObject({ version: NEWEST_VERSION });
    }
  });

  it('is like a new one afterwards', async () => {
    const [old, created] = [await version1(), join(await temporaryFolder(), 'new.db')];
    for (const path of [old, created]) CheckpointDatabase.open(path).close();
    expect(schemaOf(old)).toEqual(schemaOf(created));
  });

  it('takes requests, plans and suspicions, and goes on with its HEAD', async () => {
    const path = await version1();
    const before = CheckpointDatabase.open(path);
    const request = { id: '1', sliceId: 'slice-1', records: ['a'], done: null };
    await new LocalInbox(before).put(request);
    const plan = { ordinal: 1, hash: 'h', pipeline: '{}' };
    expect(await new LocalPlanRegistry(before).activate(plan)).toBe('applied');
    const suspicion = { position: START, attempts: 1, chunkRecords: 100 };
    await new LocalSuspicionStore(before).write('slice-1', suspicion);
    const next = { ...HEAD_1, revision: 43 };
    expect(await new LocalCheckpointStore(before).writeHead(next, 42)).toEqual({
      outcome: 'applied',
    });
    before.close();

    const after = CheckpointDatabase.open(path);
    expect(await new LocalInbox(after).list('slice-1', null, 10)).toEqual([request]);
    expect(await new LocalPlanRegistry(after).active()).toEqual(plan);
    expect(await new LocalSuspicionStore(after).read('slice-1')).toEqual(suspicion);
    expect(await new LocalCheckpointStore(after).readHead('slice-1')).toEqual(next);
    after.close();
  });

  it('stays as it is on a full disk, and is extended once there is room', async () => {
    const path = await version1();
    const before = schemaOf(path);
    const pages = (await readFile(path)).length / 4096;
    // Each fails at another table or index.
    for (const more of [0, 1, 2, 3, 4]) {
      expect(tryToOpen(path, { maxPages: pages + more }), `${more} pages`).toMatchObject({
        name: 'TransientFault',
        hint: expect.stringContaining('the disk is full'),
      });
      expect(schemaOf(path)).toEqual(before);
    }
    const database = CheckpointDatabase.open(path);
    await expectWhatVersion1Wrote(database);
    database.close();
    expect(schemaOf(path)).toMatchObject({ version: NEWEST_VERSION });
  });

  it('stays as it is while another connection holds it', async () => {
    const path = await version1();
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    expect(tryToOpen(path, { busyTimeoutMs: 20 })).toMatchObject({
      name: 'TransientFault',
      hint: expect.stringContaining('held the file for too long'),
    });
    other.exec('ROLLBACK');
    other.close();
    expect(schemaOf(path)).toMatchObject({ version: 1 });
    const database = CheckpointDatabase.open(path);
    await expectWhatVersion1Wrote(database);
    database.close();
  });
});
