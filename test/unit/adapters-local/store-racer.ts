/**
 * A thread that commits one HEAD and activates plans in competition with others, and sends the revisions and the ordinals that
 * it wrote.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { CheckpointDatabase } from '../../../adapters/local/store/checkpoint-database.ts';
import { LocalCheckpointStore } from '../../../adapters/local/store/local-checkpoint-store.ts';
import { LocalItemStore } from '../../../adapters/local/store/local-item-store.ts';
import { LocalPlanRegistry } from '../../../adapters/local/store/local-plan-registry.ts';

const { path, thread, threads, commits, gate } = workerData as {
  path: string;
  thread: number;
  threads: number;
  commits: number;
  gate: SharedArrayBuffer;
};
const ready = new Int32Array(gate);
parentPort?.postMessage('ready');
for (let seen = Atomics.load(ready, 0); seen < threads; seen = Atomics.load(ready, 0)) {
  Atomics.wait(ready, 0, seen, 1000);
}

const database = CheckpointDatabase.open(path);
const heads = new LocalCheckpointStore(database);
const plans = new LocalPlanRegistry(database);
const items = new LocalItemStore(database, { nowMs: () => 0 });
const delivered = '0';
const body = new Uint8Array(600).fill(thread);
await heads.createHead({ sliceId: 'slice-a', revision: 0, delivered, body });
const written: number[] = [];
const ordinals: number[] = [];
for (let attempt = 0; written.length < commits; attempt++) {
  if (attempt > 100_000) throw new Error('a thread loses every race');
  const revision = ((await heads.readHead('slice-a'))?.revision ?? 0) + 1;
  const item = { sliceId: 'slice-a', revision, delivered, body };
  const answer = await heads.writeHead(item, revision - 1, null);
  if (answer.outcome === 'refused') continue;
  written.push(revision);
  await items.create(`slice-a/delta/${revision}`, body);
}
for (let attempt = 0; ordinals.length < commits; attempt++) {
  if (attempt > 100_000) throw new Error('a thread loses every race');
  const ordinal = ((await plans.active())?.ordinal ?? 0) + 1;
  const answer = await plans.activate({ ordinal, hash: `${thread}`, pipeline: '{}' });
  if (answer === 'applied') ordinals.push(ordinal);
}
database.close();
parentPort?.postMessage({ revisions: written, ordinals });
