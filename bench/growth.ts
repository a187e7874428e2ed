/**
 * What a batch takes as the state grows, at the same rate of change: fold, delta, parts and HEAD of an owner, over stores in
 * memory; and what a restore takes then. A base writes parts anew within its budget, so that the longest pause does not grow.
 *
 *   npm run bench -- growth [records a batch] [entries …]
 */
import { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { parseHead } from '../core/checkpoint/head.ts';
import { restore } from '../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { HeadItem } from '../core/ports.ts';
import { SliceTask } from '../core/task/slice-task.ts';
import { devicePlan, deviceRecord } from './devices/device-pipeline.ts';

const SHARD = 'shardId-000000000000';
const SLICE = 'slice-000000000000';
const ROUNDS = 300;
const [batchText = '2000', ...sizeTexts] = process.argv.slice(2);
const batchRecords = Number(batchText);
const sizes = sizeTexts.length === 0 ? [10_000, 100_000, 1_000_000] : sizeTexts.map(Number);
const plan = devicePlan();
const EVER = () => 600_000;

console.log(
  `batches of ${batchRecords} records of as many devices, ${ROUNDS} of them; milliseconds`,
);
for (const size of sizes) await measure(size);

async function measure(size: number): Promise<void> {
  const ports = new MemoryPorts(1_000, {});
  await ports.plans.activate({ ordinal: 1, hash: plan.hash, pipeline: '{}' });
  const identity = { sliceId: SLICE, shardId: SHARD };
  const task = new SliceTask(identity, plan, createJsonDecoder(plan), ports);
  let sequence = 0;
  const deliver = async (devices: readonly number[]) => {
    const batch = devices.map((device) => deviceRecord(++sequence, device, 8));
    // What closes a gap is read from the stream: only the first batch looks.
    for (const record of batch) if (sequence <= 10_000) ports.source.append(SHARD, record);
    const beganMs = performance.now();
    const report = await task.deliver(batch, EVER);
    return { tookMs: performance.now() - beganMs, savedBytes: report.savedBytes };
  };
  for (let from = 0; from < size; from += 10_000) {
    const count = Math.min(10_000, size - from);
    await deliver(Array.from({ length: count }, (_, index) => from + index));
  }
  const tooks: number[] = [];
  let savedBytes = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const devices = Array.from(
      { length: batchRecords },
      (_, index) => (round * 7_919 + index * 104_729) % size,
    );
    const batch = await deliver(devices);
    tooks.push(batch.tookMs);
    savedBytes += batch.savedBytes;
  }
  const head = parseHead((await ports.heads.readHead(SLICE)) as HeadItem);
  const beganMs = performance.now();
  await restore(plan, head, ports.blobs);
  const restoreMs = performance.now() - beganMs;
  tooks.sort((a, b) => a - b);
  const at = (share: number) => (tooks[Math.floor(share * (ROUNDS - 1))] as number).toFixed(1);
  console.log(
    `${String(size).padStart(9)} entries   median ${at(0.5)}, 99 % ${at(0.99)}, longest ${at(1)}` +
      `   written ${(savedBytes / ROUNDS / 1024).toFixed(0)} KiB a batch   chain ${head.chainLength} deltas` +
      `   restore ${restoreMs.toFixed(0)}, ${(size / restoreMs / 1000).toFixed(2)} M entries/s`,
  );
}
