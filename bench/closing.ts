/**
 * What commits write and take when a window of many entries closes: an owner over stores in memory gets batches of the window
 * behind it, and its rows become stored results meanwhile.
 *
 *   npm run bench -- closing [records a batch] [entries …]
 */
import { devicePlan, deviceRecord } from './devices/device-pipeline.ts';
import { type TimedBatch, TimedOwner } from './timed-owner.ts';

const ROUNDS = 120;
const HOUR_MS = 3_600_000;
const [batchText = '2000', ...sizeTexts] = process.argv.slice(2);
const batchRecords = Number(batchText);
const sizes = sizeTexts.length === 0 ? [10_000, 100_000, 950_000] : sizeTexts.map(Number);
const plan = devicePlan(
  { time: { field: 't', lateness: '0s', skew: 'none' } },
  { window: { tumbling: '1h' } },
);

console.log(
  `batches of ${batchRecords} records of as many devices, ${ROUNDS} of them, after the window closed`,
);
for (const size of sizes) await measure(size);

async function measure(size: number): Promise<void> {
  const owner = await TimedOwner.of(plan);
  let sequence = 0;
  const deliver = (timeMs: number, devices: readonly number[]) =>
    owner.deliver(devices.map((device) => deviceRecord(++sequence, device, 8, timeMs)));
  for (let from = 0; from < size; from += 10_000) {
    const count = Math.min(10_000, size - from);
    await deliver(
      HOUR_MS,
      Array.from({ length: count }, (_, index) => from + index),
    );
  }
  const open = (await owner.head()).entryCount;
  const rounds: TimedBatch[] = [];
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
