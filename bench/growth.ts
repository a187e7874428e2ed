/**
 * What a batch takes as the state grows, at the same rate of change: fold, delta, parts and HEAD of an owner, over stores in
 * memory; and what a restore takes then. A base writes parts anew within its budget, so that the longest pause does not grow.
 * Then the same by what the commit wrote beside its delta, and how much of it was garbage collection.
 *
 *   npm run bench -- growth [records a batch] [entries …]
 */
import { PerformanceObserver } from 'node:perf_hooks';
import type { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { parseBlobKey } from '../core/checkpoint/names.ts';
import { devicePlan, deviceRecord } from './devices/device-pipeline.ts';
import { SLICE, type TimedBatch, TimedOwner } from './timed-owner.ts';

const ROUNDS = 300;
const [batchText = '2000', ...sizeTexts] = process.argv.slice(2);
const batchRecords = Number(batchText);
const sizes = sizeTexts.length === 0 ? [10_000, 100_000, 1_000_000] : sizeTexts.map(Number);
const plan = devicePlan();

/** What one batch took, and did. */
interface Batch extends TimedBatch {
  /** What its commit wrote beside its delta. */
  readonly wrote: string;
}

/** A pause for garbage collection. */
interface Collection {
  readonly startTime: number;
  readonly duration: number;
}

const collections: Collection[] = [];
new PerformanceObserver((list) => collections.push(...list.getEntries())).observe({
  entryTypes: ['gc'],
});

console.log(
  `batches of ${batchRecords} records of as many devices, ${ROUNDS} of them; milliseconds`,
);
// So that no size pays for the compilation of what the others run: bases and merged deltas included.
await measure(100_000, () => {});
for (const size of sizes) await measure(size, console.log);

async function measure(size: number, print: (line: string) => void): Promise<void> {
  const owner = await TimedOwner.of(plan);
  let sequence = 0;
  const kinds: string[] = [];
  watchKinds(owner.ports, kinds);
  const deliver = async (devices: readonly number[]): Promise<Batch> => {
    const batch = devices.map((device) => deviceRecord(++sequence, device, 8));
    kinds.length = 0;
    const timed = await owner.deliver(batch);
    return { ...timed, wrote: kinds.join(' and ') || 'delta only' };
  };
  for (let from = 0; from < size; from += 10_000) {
    const count = Math.min(10_000, size - from);
    await deliver(Array.from({ length: count }, (_, index) => from + index));
  }
  // What came before, another size too, is no garbage of these batches.
  globalThis.gc?.();
  const batches: Batch[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const devices = Array.from(
      { length: batchRecords },
      (_, index) => (round * 7_919 + index * 104_729) % size,
    );
    batches.push(await deliver(devices));
  }
  const head = await owner.head();
  const restoreMs = await owner.restoreMs();
  const savedBytes = batches.reduce((sum, batch) => sum + batch.savedBytes, 0);
  const ran = spread(batches, 'ranMs');
  const { median, most, longest } = spread(batches);
  print(
    `${String(size).padStart(9)} entries   median ${median}, 99 % ${most}, longest ${longest} (ran ${ran.median}, ${ran.most}, ${ran.longest})` +
      `   written ${(savedBytes / ROUNDS / 1024).toFixed(0)} KiB a batch   chain ${head.chainLength} deltas` +
      `   restore ${restoreMs.toFixed(0)}, ${(size / restoreMs / 1000).toFixed(2)} M entries/s`,
  );
  await observed();
  print(`${' '.repeat(18)}${profileOf(batches)}`);
}

/** Has `kinds` name what the slice writes as objects from here on, deltas apart. */
function watchKinds({ blobs: { objects } }: MemoryPorts, kinds: string[]): void {
  const create = objects.create.bind(objects);
  objects.create = (key, bytes) => {
    const kind = parseBlobKey(SLICE, key)?.kind;
    if (kind !== undefined && kind !== 'delta') kinds.push(kind);
    return create(key, bytes);
  };
}

/** Collections are told of a turn later. */
async function observed(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 50));
}

/** By what was written: batches, median, longest. Then the share of collections in the slowest percent and in all. */
function profileOf(batches: readonly Batch[]): string {
  const byKind = Map.groupBy(batches, ({ wrote }) => wrote);
  const kinds = [...byKind].map(([wrote, those]) => {
    const { median, longest } = spread(those);
    const bytes = those.reduce((sum, { savedBytes }) => sum + savedBytes, 0) / those.length;
    return `${wrote} ${those.length}: ${median}, longest ${longest}, ${(bytes / 1024).toFixed(0)} KiB`;
  });
  const slowest = [...batches].sort(byTime).slice(-Math.ceil(ROUNDS / 100));
  const each = slowest.map(
    (batch) =>
      `${batch.tookMs.toFixed(1)} (${batch.wrote}, ran ${batch.ranMs.toFixed(1)}, ${collectedMs([batch]).toFixed(1)} GC)`,
  );
  const share = (100 * collectedMs(batches)) / batches.reduce((sum, { tookMs }) => sum + tookMs, 0);
  return `${kinds.join('; ')}   slowest ${each.join(', ')}   GC ${share.toFixed(0)} % of all`;
}

function collectedMs(batches: readonly Batch[]): number {
  return batches.reduce((sum, { beganMs, tookMs }) => {
    const within = collections.filter(
      ({ startTime }) => startTime >= beganMs && startTime < beganMs + tookMs,
    );
    return within.reduce((total, { duration }) => total + duration, sum);
  }, 0);
}

function spread(batches: readonly Batch[], time: 'tookMs' | 'ranMs' = 'tookMs') {
  const sorted = batches.map((batch) => batch[time]).sort((a, b) => a - b);
  const at = (share: number) =>
    (sorted[Math.floor(share * (sorted.length - 1))] as number).toFixed(1);
  return { median: at(0.5), most: at(0.99), longest: at(1) };
}

function byTime(a: Batch, b: Batch): number {
  return a.tookMs - b.tookMs;
}
