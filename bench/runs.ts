/**
 * Merging eight runs of one level, in a folder of files: how long batches wait for it, how long it takes in all, and the memory
 * that it needs at most. What is small is merged by a commit; the rest by ticks, in rounds.
 *
 *   npm run bench -- runs [MiB of one run …]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileObjectStore } from '../adapters/local/store/file-object-store.ts';
import { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { BlobWriter } from '../core/checkpoint/blob-writer.ts';
import { EMPTY_MANIFEST, type RunReference } from '../core/checkpoint/manifest.ts';
import { RunEncoder } from '../core/checkpoint/run-encoder.ts';
import { firstHead } from '../core/checkpoint/transitions.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import { encodeGroupKey } from '../core/state/group-key.ts';
import { SliceImage } from '../core/state/slice-image.ts';
import { ViewTable } from '../core/state/view-table.ts';
import { RunMerger } from '../core/task/run-merger.ts';
import { devicePlan } from './devices/device-pipeline.ts';

const MIB = 1024 * 1024;
/** Of a run: the rest is its index. */
const BLOCKS_SHARE = 0.97;
const SLICE = 'slice-000000000000';
const sizes = process.argv.slice(2).map(Number);
const image = new SliceImage(devicePlan());
const living = image.living();
const collectGarbage = (globalThis as { gc?: () => void }).gc ?? (() => {});

console.log(`eight runs of one level; rounds of ${DEFAULT_KNOBS.runMergeRoundMs} ms`);
for (const size of sizes.length === 0 ? [4, 31] : sizes) await measure(size);

async function measure(runMib: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-runs-'));
  try {
    const { nonces, blobs: memory } = new MemoryPorts(0, {});
    const blobs = { items: memory.items, objects: await FileObjectStore.open(folder) };
    const runs: RunReference[] = [];
    for (let run = 0; run < DEFAULT_KNOBS.runFanIn; run++) {
      const name = { kind: 'run', timeline: 0, epoch: run + 1, nonce: nonces.nonce() } as const;
      runs.push(
        await written(
          run,
          BLOCKS_SHARE * runMib * MIB,
          new BlobWriter(blobs, SLICE, name, DEFAULT_KNOBS),
        ),
      );
    }
    const head = { ...headOf(), epoch: runs.length, awaitsMerge: true };
    const memoryOf = {
      head,
      checkpoint: { manifest: { ...EMPTY_MANIFEST, runs } },
      state: { image },
    };
    const merger = new RunMerger({ blobs, nonces, knobs: DEFAULT_KNOBS });
    await merged(merger, memoryOf as unknown as Parameters<RunMerger['round']>[0], runMib);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function merged(
  merger: RunMerger,
  memory: Parameters<RunMerger['round']>[0],
  runMib: number,
): Promise<void> {
  collectGarbage();
  const before = usedMib();
  const beganMs = performance.now();
  const rounds: number[] = [];
  let peak = before;
  while (merger.finished === null) {
    if (!merger.isDue(memory.head)) throw new Error('the runs are too large to be merged');
    const roundMs = performance.now();
    await merger.round(memory, () => {
      peak = Math.max(peak, usedMib());
      return performance.now() - roundMs >= DEFAULT_KNOBS.runMergeRoundMs;
    });
    rounds.push(performance.now() - roundMs);
  }
  const tookMs = performance.now() - beganMs;
  const allMib = runMib * DEFAULT_KNOBS.runFanIn;
  console.log(
    `${String(runMib).padStart(4)} MiB each   ${rounds.length} rounds, longest ${Math.max(...rounds).toFixed(0)} ms` +
      `   in all ${(tookMs / 1000).toFixed(1)} s, ${((allMib * 1000) / tookMs).toFixed(0)} MiB/s` +
      `   ${(merger.finished.run.entryCount / 1e6).toFixed(2)} M entries   memory at most +${(peak - before).toFixed(0)} MiB`,
  );
}

/** Of heap and buffers, with what was not collected yet. */
function usedMib(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / MIB;
}

function headOf() {
  const range = { start: '0'.repeat(32), end: 'f'.repeat(32) };
  const identity = { sliceId: SLICE, shardId: 'shardId-000000000000', range };
  const plan = { planOrdinal: 1, planHash: image.plan.hash };
  return firstHead({ ...identity, streamId: '0'.repeat(16), ...plan, nonce: '0'.repeat(16) });
}

/** Each run has windows of its own of the same keys. */
async function written(run: number, bytes: number, writer: BlobWriter): Promise<RunReference> {
  const [view] = image.plan.views;
  if (view === undefined) throw new Error('the plan has no view');
  const table = new ViewTable(view);
  const accumulators = table.encoded(table.insert(0, new Uint8Array()));
  const encoder = new RunEncoder(living);
  let length = 0;
  for (let key = 0; length < bytes; key++) {
    const entryKey = encodeGroupKey(
      view.groupBy.map(() => `device-${String(key).padStart(8, '0')}`),
    );
    for (let window = 0; window < 4; window++) {
      encoder.add(0, { key: entryKey, windowStartMs: (run * 4 + window) * 60_000, accumulators });
    }
    const taken = encoder.take();
    length += taken.length;
    await writer.write(taken);
  }
  const { bytes: rest, ...ending } = encoder.finish();
  await writer.write(rest);
  return { ...(await writer.finish()), level: 0, ...ending };
}
