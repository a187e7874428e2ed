/**
 * What commits write and take when a window of many entries closes: an owner over stores in memory gets batches of the window
 * behind it, and its rows become stored results meanwhile.
 *
 *   npm run bench -- closing [records a batch] [entries …]
 */
import { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { parseHead } from '../core/checkpoint/head.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { HeadItem } from '../core/ports.ts';
import { SliceTask } from '../core/task/slice-task.ts';
import { devicePlan, deviceRecord } from './devices/device-pipeline.ts';

const SHARD = 'shardId-000000000000';
const SLICE = 'slice-000000000000';
const ROUNDS = 120;
const HOUR_MS = 3_600_000;
const [batchText = '2000', ...sizeTexts] = process.argv.slice(2);
const batchRecords = Number(batchText);
const sizes = sizeTexts.length === 0 ? [10_000, 100_000, 950_000] : sizeTexts.map(Number);
const plan = devicePlan(
  { time: { field: 't', lateness: '0s', skew: 'none' } },
  { window: { tumbling: '1h' } },
);
const EVER = () => 600_000;

console.log(
  `batches of ${batchRecords} records of as many devices, ${ROUNDS} of them, after the window closed`,
);
for (const size of sizes) await measure(size);

async function measure(size: number): Promise<void> {
  const ports = new MemoryPorts(1_000, {});
  await ports.plans.activate({ ordinal: 1, hash: plan.hash, pipeline: '{}' });
  const identity = { sliceId: SLICE, shardId: SHARD };
  const task = new SliceTask(identity, plan, createJsonDecoder(plan), ports);
  let sequence = 0;
  const deliver = async (timeMs: number, devices: readonly number[]) => {
    const batch = devices.map((device) => deviceRecord(++sequence, device, 8, timeMs));
    // What closes a gap is read from the stream: only the first batch looks.
    for (const record of batch) if (sequence <= 10_000) ports.source.append(SHARD, record);
    const beganMs = performance.now();
    const report = await task.deliver(batch, EVER);
    return { tookMs: performance.now() - beganMs, savedBytes: report.savedBytes };
  };
  for (let from = 0; from < size; from += 10_000) {
    const count = Math.min(10_000, size - from);
    await deliver(
      HOUR_MS,
      Array.from({ length: count }, (_, index) => from + index),
    );
  }
  const open = parseHead((await ports.heads.readHead(SLICE)) as HeadItem).entryCount;
  const rounds: { readonly tookMs: number; readonly savedBytes: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const devices = Array.from({ length: batchRecords }, (_, index) => index * 7);
    rounds.push(await deliver(2 * HOUR_MS + round, devices));
  }
  const tooks = rounds.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const sizesWritten = rounds.map(({ savedBytes }) => savedBytes).sort((a, b) => a - b);
  const at = (sorted: readonly number[], share: number) =>
    sorted[Math.floor(share * (ROUNDS - 1))] as number;
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(2);
  console.log(
    `${String(open).padStart(9)} entries   written a commit: median ${mib(at(sizesWritten, 0.5))}, most ${mib(at(sizesWritten, 1))} MiB,` +
      ` all ${mib(sizesWritten.reduce((sum, each) => sum + each, 0))} MiB   took: median ${at(tooks, 0.5).toFixed(1)}, 99 % ${at(tooks, 0.99).toFixed(1)}, longest ${at(tooks, 1).toFixed(1)} ms`,
  );
}
