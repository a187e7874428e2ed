import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { CheckpointDatabase } from '../../../adapters/local/store/checkpoint-database.ts';
import { LocalInbox } from '../../../adapters/local/store/local-inbox.ts';
import { LocalPlanRegistry } from '../../../adapters/local/store/local-plan-registry.ts';
import { LocalSuspicionStore } from '../../../adapters/local/store/local-suspicion-store.ts';
import type { ActivePlan, RedriveRequest } from '../../../core/ports.ts';
import { START } from '../../../core/position.ts';
import { temporaryFolder } from './temporary-folder.ts';

const LARGE = 'x'.repeat(400_000);
const DISK_FULL = {
  name: 'TransientFault',
  message: expect.stringContaining('checkpoint.db'),
  hint: expect.stringContaining('the disk is full'),
};
const LOCKED = {
  name: 'TransientFault',
  message: expect.stringContaining('checkpoint.db'),
  hint: expect.stringContaining('held the file for too long'),
};

const request = (id: string, record = 'a'): RedriveRequest => ({
  id,
  sliceId: 'slice-a',
  records: [record],
  done: null,
});
const outcome = (epoch: number, id = 'a') => ({ timeline: 0, epoch, redriven: [id], refused: [] });
const plan = (ordinal: number, pipeline = '{}'): ActivePlan => ({ ordinal, hash: 'h', pipeline });
const suspicion = (attempts: number) => ({ position: START, attempts, chunkRecords: 1_250 });

function storesOf(database: CheckpointDatabase) {
  return {
    inbox: new LocalInbox(database),
    plans: new LocalPlanRegistry(database),
    suspicions: new LocalSuspicionStore(database),
  };
}

async function databasePath(): Promise<string> {
  return join(await temporaryFolder(), 'checkpoint.db');
}

describe('requests, plans and suspicions on a full disk', () => {
  it('are refused whole by a transient fault that says so, and what was there stays', async () => {
    const path = await databasePath();
    const options = { maxPages: 60 };
    const database = CheckpointDatabase.open(path, options);
    const { inbox, plans } = storesOf(database);
    await inbox.put(request('1'));
    await inbox.finish('slice-a', '1', outcome(1));
    await plans.activate(plan(1));

    await expect(inbox.put(request('2', LARGE))).rejects.toMatchObject(DISK_FULL);
    await expect(inbox.finish('slice-a', '1', outcome(2, LARGE))).rejects.toMatchObject(DISK_FULL);
    await expect(plans.activate(plan(2, LARGE))).rejects.toMatchObject(DISK_FULL);
    database.close();

    const again = CheckpointDatabase.open(path, options);
    const after = storesOf(again);
    const first = { ...request('1'), done: outcome(1) };
    expect(await after.inbox.list('slice-a', null, 10)).toEqual([first]);
    expect(await after.plans.active()).toEqual(plan(1));
    expect(await after.plans.activate(plan(2))).toBe('applied');
    again.close();
  });

  it('of which suspicions fill it are refused too, and clearing one makes room', async () => {
    const database = CheckpointDatabase.open(await databasePath(), { maxPages: 60 });
    const { suspicions } = storesOf(database);
    const slices: string[] = [];
    const fill = async () => {
      for (;;) {
        const sliceId = `${slices.length}-${'s'.repeat(10_000)}`;
        await suspicions.write(sliceId, suspicion(slices.length));
        slices.push(sliceId);
      }
    };
    await expect(fill()).rejects.toMatchObject({ name: 'TransientFault' });
    expect(slices.length).toBeGreaterThan(3);
    for (const [attempts, sliceId] of slices.entries()) {
      expect(await suspicions.read(sliceId)).toEqual(suspicion(attempts));
    }
    await suspicions.write(slices[0] as string, null);
    await suspicions.write('slice-a', suspicion(7));
    expect(await suspicions.read('slice-a')).toEqual(suspicion(7));
    database.close();
  });
});

describe('requests, plans and suspicions of a store', () => {
  it('that another connection locks for too long are transient faults; reads do not wait', async () => {
    const path = await databasePath();
    const database = CheckpointDatabase.open(path, { busyTimeoutMs: 20 });
    const { inbox, plans, suspicions } = storesOf(database);
    await inbox.put(request('1'));
    await plans.activate(plan(1));
    await suspicions.write('slice-a', suspicion(1));
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const writes: (() => Promise<unknown>)[] = [
      () => inbox.put(request('2')),
      () => inbox.finish('slice-a', '1', outcome(1)),
      () => inbox.delete('slice-a', ['1']),
      () => plans.activate(plan(2)),
      () => suspicions.write('slice-a', suspicion(2)),
      () => suspicions.write('slice-a', null),
    ];
    for (const write of writes) await expect(write()).rejects.toMatchObject(LOCKED);
    expect(await inbox.list('slice-a', null, 10)).toEqual([request('1')]);
    expect(await plans.active()).toEqual(plan(1));
    expect(await suspicions.read('slice-a')).toEqual(suspicion(1));
    other.exec('ROLLBACK');
    other.close();
    for (const write of writes) await write();
    expect(await inbox.list('slice-a', null, 10)).toEqual([request('2')]);
    database.close();
  });

  it('whose text was damaged are corrupt, and the fault names the request', async () => {
    const path = await databasePath();
    const database = CheckpointDatabase.open(path);
    const { inbox } = storesOf(database);
    for (const column of ['records', 'done']) {
      await inbox.put({ ...request(column), sliceId: column });
      const raw = new DatabaseSync(path);
      raw.exec(`UPDATE inbox SET ${column} = '["a' WHERE slice_id = CAST('${column}' AS BLOB)`);
      raw.close();
      await expect(inbox.list(column, null, 10)).rejects.toMatchObject({
        name: 'CorruptStateFault',
        message: `request ${column} to ${column} is no JSON`,
        hint: expect.stringContaining('damaged'),
      });
    }
    database.close();
  });
});
