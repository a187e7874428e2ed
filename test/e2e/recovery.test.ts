import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { CheckpointDatabase } from '../../adapters/local/store/checkpoint-database.ts';
import { LocalCheckpointStore } from '../../adapters/local/store/local-checkpoint-store.ts';
import { type Head, headItem, parseHead } from '../../core/checkpoint/head.ts';
import { groups, manyOrders, put, writePipeline } from './orders.ts';
import { cleanUp, Dev, newFolder, pause } from './tidemark-process.ts';

const devs: Dev[] = [];
const folders: string[] = [];

afterEach(() => cleanUp(devs, folders));

async function start(folder: string): Promise<Dev> {
  const dev = await Dev.start(folder, '--pipeline', 'shop.json', '--shards', '2');
  devs.push(dev);
  return dev;
}

/** As an owner leaves a slice that died while it recovered it. */
async function leaveRecovering(folder: string): Promise<void> {
  const database = CheckpointDatabase.open(join(folder, '.tidemark/checkpoint.db'));
  const store = new LocalCheckpointStore(database);
  const [item] = await store.listHeads();
  if (item === undefined) throw new Error('no HEAD');
  const head = parseHead(item);
  const fenced: Head = {
    ...head,
    status: 'RECOVERING',
    generation: head.generation + 1,
    revision: head.revision + 1,
    nonce: 'f'.repeat(16),
    committedMs: Date.now(),
  };
  expect(await store.writeHead(headItem(fenced), item.revision, null)).toEqual({
    outcome: 'applied',
  });
  database.close();
}

it('a slice whose recovery was killed is open again soon, and counts every record once', async () => {
  const folder = newFolder();
  folders.push(folder);
  writePipeline(folder);
  const first = await start(folder);
  await groups(first, 'by_shop', 'orders', await put(first, manyOrders('a', 100)));
  await first.end('SIGKILL');
  await leaveRecovering(folder);

  const second = await start(folder);
  const after = await put(second, manyOrders('b', 100));
  let states: string[] = [];
  for (let look = 0; look < 50 && states.join() !== 'OPEN,OPEN'; look++) {
    await pause(100);
    const { json } = await second.call('/v1/status');
    states = (json as { slices: { state: string }[] }).slices.map(({ state }) => state);
  }

  // Its lease is a minute; nobody waits for that.
  expect(states).toEqual(['OPEN', 'OPEN']);
  expect(await groups(second, 'by_shop', 'orders', after)).toEqual({ north: 100, south: 100 });
  const { json } = await second.call('/v1/status');
  expect(json).toMatchObject({ records: { folded: 200, duplicates: 0 } });
  expect(second.stderr).toBe('');
});
