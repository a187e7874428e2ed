/**
 * A redrive beside deliveries: how long it takes, and how long a new record of the same shard waits meanwhile, with stores in
 * memory. Batches come at a steady pace and take turns with the rounds of the redrive, as in an environment that does both.
 *
 *   npm run bench -- redrive [records]
 */
import { performance } from 'node:perf_hooks';
import { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { RecordDecoder } from '../core/decode/record-decoder.ts';
import { parsePlan } from '../core/definition/parse-plan.ts';
import { BATCH_RECORDS_MAX, REDRIVE_REQUEST_IDS_MAX } from '../core/limits.ts';
import { quarantineId, requestId, type StreamRecord } from '../core/ports.ts';
import { SliceTask } from '../core/task/slice-task.ts';
import { streamRecord } from './devices/device-pipeline.ts';

const count = Number(process.argv[2] ?? 10_000);
const BATCH_EVERY_MS = 20;
const BATCH_RECORDS = 20;

const parsed = parsePlan({
  name: 'bench',
  time: { field: 't', skew: 'none' },
  views: {
    by_device: {
      groupBy: ['device'],
      aggregates: { records: { count: '*' }, total: { sum: 'amount' } },
    },
  },
});
if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
const { plan } = parsed;
const identity = { sliceId: 'slice-000000000000', shardId: 'shardId-000000000000' };
const encoder = new TextEncoder();
const timeLeftMs = () => 600_000;

const memory = new MemoryPorts(0);
const ports = Object.assign(memory, { clock: { nowMs: () => performance.now() } });
let sequence = 0;
await memory.plans.activate({ ordinal: 1, hash: plan.hash, pipeline: '{}' });

const refusing: RecordDecoder = {
  decode: () => ({ reason: 'wrong-type', detail: 'the field was not known yet' }),
};
const before = new SliceTask(identity, plan, refusing, ports);
for (let left = count; left > 0; left -= BATCH_RECORDS_MAX) {
  await before.deliver(recordsOf(Math.min(left, BATCH_RECORDS_MAX)), timeLeftMs);
}
const ids = (await ports.quarantine.list(null, count)).map(quarantineId);
for (let at = 0; at < count; at += REDRIVE_REQUEST_IDS_MAX) {
  const records = ids.slice(at, at + REDRIVE_REQUEST_IDS_MAX);
  const id = requestId(at, ports.nonces.nonce());
  await ports.inbox.put({ id, sliceId: identity.sliceId, records, done: null });
}

const task = new SliceTask(identity, plan, createJsonDecoder(plan), ports);
await task.deliver([], timeLeftMs);
const waitsMs: number[] = [];
const roundsMs: number[] = [];
const beganMs = performance.now();
let batchDueMs = beganMs;
for (let isUnfinished = true; isUnfinished; ) {
  const roundBeganMs = performance.now();
  ({ isUnfinished } = await task.tick(timeLeftMs));
  roundsMs.push(performance.now() - roundBeganMs);
  while (batchDueMs <= performance.now()) {
    await task.deliver(recordsOf(BATCH_RECORDS), timeLeftMs);
    waitsMs.push(performance.now() - batchDueMs);
    batchDueMs += BATCH_EVERY_MS;
  }
}
const tookMs = performance.now() - beganMs;
const longest = (values: readonly number[]) => Math.max(...values).toFixed(0);
console.log(`${count} records redriven in ${(tookMs / 1000).toFixed(2)} s`);
console.log(`${roundsMs.length} rounds, the longest ${longest(roundsMs)} ms`);
console.log(
  `${waitsMs.length} batches meanwhile, a new record waited ${longest(waitsMs)} ms at most`,
);

function recordsOf(length: number): StreamRecord[] {
  const records = Array.from({ length }, () => {
    sequence++;
    const event = { t: 1_700_000_000_000 + sequence, device: `d-${sequence % 1000}`, amount: 1 };
    return streamRecord(sequence, encoder.encode(JSON.stringify(event)));
  });
  for (const record of records) ports.source.append(identity.shardId, record);
  return records;
}
