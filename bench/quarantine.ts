/**
 * What poison in mass costs a shard: commits of bad records until so many are in the quarantine, in one data folder on this
 * disk. The time from one commit to the next at the end, against that at the beginning, and what a restore and a listing cost.
 *
 *   npm run bench -- quarantine [records]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { CheckpointDatabase } from '../adapters/local/store/checkpoint-database.ts';
import { FileObjectStore } from '../adapters/local/store/file-object-store.ts';
import { LocalCheckpointStore } from '../adapters/local/store/local-checkpoint-store.ts';
import { LocalItemStore } from '../adapters/local/store/local-item-store.ts';
import { LocalQuarantineIndex } from '../adapters/local/store/local-quarantine-index.ts';
import { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { SourceRead, StreamRecord } from '../core/ports.ts';
import { SliceTask } from '../core/task/slice-task.ts';

const count = Number(process.argv[2] ?? 1_000_000);
const BATCH_RECORDS = 5_000;
const COMPARED = 20;

const parsed = parsePlan({
  name: 'bench',
  time: { field: 't', skew: 'none' },
  views: { by_device: { groupBy: ['device'], aggregates: { records: { count: '*' } } } },
});
if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
const { plan } = parsed;
const identity = { sliceId: 'slice-000000000000', shardId: 'shardId-000000000000' };
const encoder = new TextEncoder();
const timeLeftMs = () => 600_000;
const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'));
try {
  const clock = { nowMs: () => Date.now() };
  const database = CheckpointDatabase.open(join(folder, 'checkpoint.db'));
  const memory = new MemoryPorts(0);
  await memory.plans.activate({ ordinal: 1, hash: plan.hash, pipeline: '{}' });
  const ports = {
    ...memory,
    clock,
    heads: new LocalCheckpointStore(database),
    blobs: {
      items: new LocalItemStore(database, clock),
      objects: await FileObjectStore.open(join(folder, 'objects')),
    },
    quarantine: new LocalQuarantineIndex(database),
    // What is asked of the stream is one record at a time, of which a million need not be kept.
    source: {
      readAfter: async (): Promise<SourceRead> => ({
        outcome: 'records',
        origin: 'stream',
        records: lastRead,
        reachedTip: true,
      }),
    },
  };
  let lastRead: StreamRecord[] = [];
  const newTask = () => new SliceTask(identity, plan, createJsonDecoder(plan), ports);
  const task = newTask();
  const gapsMs: number[] = [];
  let sequence = 0;
  while (sequence < count) {
    const batch = Array.from({ length: BATCH_RECORDS }, () => badRecord(++sequence));
    lastRead = batch.slice(0, 1);
    const beganMs = performance.now();
    await task.deliver(batch, timeLeftMs);
    gapsMs.push(performance.now() - beganMs);
  }
  const median = (values: readonly number[]) =>
    [...values].sort((a, b) => a - b)[values.length >> 1] as number;
  // The first commits make files and warm up the code.
  const [first, last] = [median(gapsMs.slice(5, 5 + COMPARED)), median(gapsMs.slice(-COMPARED))];
  console.log(`${count} quarantined records, commits of ${BATCH_RECORDS}`);
  console.log(`commit, the first ${COMPARED}   ${first.toFixed(0)} ms (median)`);
  console.log(
    `commit, the last ${COMPARED}    ${last.toFixed(0)} ms, ${(last / first).toFixed(2)} times`,
  );
  console.log(`state of the shard      ${(task.heapBytes() / 2 ** 20).toFixed(1)} MiB of memory`);
  const restoreMs = await timed(() => newTask().checkpoint(timeLeftMs));
  console.log(`restore and checkpoint  ${restoreMs.toFixed(0)} ms`);
  const listMs = await timed(() => ports.quarantine.list(null, 100));
  console.log(`a page of the listing   ${listMs.toFixed(1)} ms`);
  database.close();
} finally {
  await rm(folder, { recursive: true });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}

function badRecord(sequence: number): StreamRecord {
  return {
    sequenceNumber: String(49_000_000_000_000 + sequence),
    subSequence: 0,
    partitionKey: `p-${sequence % 100}`,
    arrivalMs: 1_700_000_000_000 + sequence,
    data: encoder.encode(
      `{"t":${1_700_000_000_000 + sequence},"device":"d-${sequence % 1000}","brok`,
    ),
  };
}
