import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { CheckpointDatabase } from '../../../adapters/local/store/checkpoint-database.ts';
import { FileObjectStore } from '../../../adapters/local/store/file-object-store.ts';
import { LocalCheckpointStore } from '../../../adapters/local/store/local-checkpoint-store.ts';
import { LocalInbox } from '../../../adapters/local/store/local-inbox.ts';
import { LocalItemStore } from '../../../adapters/local/store/local-item-store.ts';
import { LocalPlanRegistry } from '../../../adapters/local/store/local-plan-registry.ts';
import { LocalSuspicionStore } from '../../../adapters/local/store/local-suspicion-store.ts';
import { temporaryFolder } from './temporary-folder.ts';

const WRITER = fileURLToPath(new URL('./store-writer.ts', import.meta.url));
const REQUEST_WRITER = fileURLToPath(new URL('./store-request-writer.ts', import.meta.url));

/** Runs the writer, and kills it when it has acknowledged `commits` more; the last acknowledged number. */
async function writeUntilKilled(writer: string, folder: string, commits: number): Promise<number> {
  const child = spawn(process.execPath, [writer, folder], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [printed, complaints] = ['', ''];
  child.stderr.on('data', (chunk) => {
    complaints += chunk;
  });
  child.stdout.on('data', (chunk) => {
    printed += chunk;
    if (printed.split('\n').length > commits) child.kill('SIGKILL');
  });
  const [, signal] = await once(child, 'close');
  expect(signal, complaints).toBe('SIGKILL');
  return Number(printed.trimEnd().split('\n').at(-1));
}

it('what was acknowledged is there after SIGKILL, and HEAD never names what is not whole', async () => {
  const folder = await temporaryFolder();
  let before = 0;
  for (const commits of [1, 7, 20]) {
    const acknowledged = await writeUntilKilled(WRITER, folder, commits);
    expect(acknowledged).toBeGreaterThanOrEqual(before + commits);

    const database = CheckpointDatabase.open(join(folder, 'checkpoint.db'));
    const items = new LocalItemStore(database, { nowMs: () => 0 });
    const objects = await FileObjectStore.open(join(folder, 'objects'));
    const head = await new LocalCheckpointStore(database).readHead('slice-a');
    before = head?.revision ?? 0;
    // The kill may have come between a commit and its acknowledgement.
    expect([acknowledged, acknowledged + 1]).toContain(before);
    for (let revision = 1; revision <= before; revision++) {
      const item = (await items.read(`slice-a/delta/${revision}`)) as Uint8Array;
      expect(Buffer.compare(item, Buffer.alloc(3000, revision))).toBe(0);
    }
    for (const { key, byteLength } of await objects.list('', null, 1000)) {
      expect(byteLength, key).toBe(300_000);
    }
    expect(await objects.read(`slice-a/base/${before}`)).not.toBeNull();
    // Orphans of the commit that was cut off: the writer may not take their names again.
    const orphan = before + 1;
    await items.delete([`slice-a/delta/${orphan}`]);
    await objects.delete([`slice-a/base/${orphan}`]);
    database.close();
  }
});

it('requests, plans and suspicions that were acknowledged are there after SIGKILL, each whole', async () => {
  const folder = await temporaryFolder();
  let before = 0;
  for (const rounds of [1, 7, 20]) {
    const acknowledged = await writeUntilKilled(REQUEST_WRITER, folder, rounds);
    expect(acknowledged).toBeGreaterThanOrEqual(before + rounds);

    const database = CheckpointDatabase.open(join(folder, 'checkpoint.db'));
    const plan = await new LocalPlanRegistry(database).active();
    before = plan?.ordinal ?? 0;
    // The kill may have come between a commit and its acknowledgement.
    expect([acknowledged, acknowledged + 1]).toContain(before);
    expect(plan?.pipeline).toBe(`${before} `.repeat(2000));
    const suspicion = await new LocalSuspicionStore(database).read('slice-a');
    // Of this round, or of the next one that was cut off.
    expect([before, before + 1]).toContain(suspicion?.attempts);
    expect(suspicion?.chunkRecords).toBe(suspicion?.attempts);

    const requests = await new LocalInbox(database).list('slice-a', null, 1000);
    expect([before, before + 1]).toContain(requests.length);
    for (const [at, { id, records, done }] of requests.entries()) {
      expect(id).toBe(String(at + 1).padStart(6, '0'));
      expect(records).toEqual(Array.from({ length: 200 }, (_, index) => `${at + 1}/${index}`));
      if (done === null) expect(at).toBe(before);
      else expect(done).toEqual({ timeline: 0, epoch: at + 1, redriven: records, refused: [] });
    }
    database.close();
  }
});
