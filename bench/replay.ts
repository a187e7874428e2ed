/**
 * What a recovery takes whose stores answer after a while: it folds on while a commit is under way. Beside it what it would take
 * if each chunk waited for its commit: the replay without that time, and two writes a chunk.
 *
 *   npm run bench -- replay [records] [records a chunk]
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { type Head, headItem, parseHead } from '../core/checkpoint/head.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { BlobStore, CheckpointStore, HeadItem } from '../core/ports.ts';
import { SliceTask } from '../core/task/slice-task.ts';
import { devicePlan, deviceRecord } from './devices/device-pipeline.ts';

const SHARD = 'shardId-000000000000';
const SLICE = 'slice-000000000000';
const DEVICES = 100_000;
const [recordsText = '200000', chunkText = '10000'] = process.argv.slice(2);
const recordCount = Number(recordsText);
const replayChunkRecords = Number(chunkText);
const plan = devicePlan();
const EVER = () => 600_000;
const records = Array.from({ length: recordCount + 1 }, (_, index) =>
  deviceRecord(index + 1, (index * 104_729) % DEVICES, 8),
);

console.log(
  `${recordCount} records of ${DEVICES} devices, in chunks of ${replayChunkRecords}; milliseconds`,
);
await measure(0);
const own = await measure(0);
for (const latencyMs of [10, 30, 100]) {
  const { tookMs, commits } = await measure(latencyMs);
  // One write of blobs at least, and one of HEAD.
  const waitedMs = own.tookMs + 2 * latencyMs * (recordCount / replayChunkRecords);
  console.log(
    `each write after ${String(latencyMs).padStart(3)} ms   ${tookMs.toFixed(0)}   with each chunk waiting ${waitedMs.toFixed(0)}` +
      `   without that time ${own.tookMs.toFixed(0)}   ${commits} commits`,
  );
}

async function measure(latencyMs: number): Promise<{ tookMs: number; commits: number }> {
  const memory = new MemoryPorts(1_000, { replayChunkRecords });
  await memory.plans.activate({ ordinal: 1, hash: plan.hash, pipeline: '{}' });
  for (const record of records) memory.source.append(SHARD, record);
  const later = async <T>(write: () => Promise<T>): Promise<T> => {
    if (latencyMs > 0) await setTimeout(latencyMs);
    return write();
  };
  const { items, objects } = memory.blobs;
  const heads: CheckpointStore = {
    readHead: (sliceId) => memory.heads.readHead(sliceId),
    createHead: (item) => memory.heads.createHead(item),
    listHeads: () => memory.heads.listHeads(),
    holdHead: (sliceId, hold, instead) => memory.heads.holdHead(sliceId, hold, instead),
    writeHead: (item, revision, hold) => later(() => memory.heads.writeHead(item, revision, hold)),
  };
  const ports = {
    ...memory,
    heads,
    blobs: { items: creating(items, later), objects: creating(objects, later) },
    pauses: { ...memory.pauses, yield: () => setImmediate() },
  };
  const identity = { sliceId: SLICE, shardId: SHARD };
  const newTask = () => new SliceTask(identity, plan, createJsonDecoder(plan), ports);
  await newTask().deliver(records.slice(0, 1), EVER);
  const head = parseHead((await memory.heads.readHead(SLICE)) as HeadItem);
  await deliverAll(head, memory);
  const beganMs = performance.now();
  const report = await newTask().tick(EVER);
  return { tookMs: performance.now() - beganMs, commits: report.commits };
}

/** A store that creates blobs later. */
function creating<Store extends BlobStore>(
  store: Store,
  later: <T>(write: () => Promise<T>) => Promise<T>,
): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (name === 'create') {
        return (key: string, bytes: Uint8Array) => later(() => target.create(key, bytes));
      }
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** HEAD answers for all records, although no checkpoint has them. */
async function deliverAll(head: Head, { heads }: MemoryPorts): Promise<void> {
  const { sequenceNumber, subSequence, arrivalMs } = records.at(-1) as (typeof records)[number];
  const delivered = { sequenceNumber, subSequence };
  const after = { ...head, revision: head.revision + 1, delivered, deliveredArrivalMs: arrivalMs };
  await heads.writeHead(headItem(after), head.revision, null);
}
