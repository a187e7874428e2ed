/**
 * Writing closed entries that no run holds yet as a run, with those of runs whose turn it is to be merged.
 */
import { assert } from '../assert.ts';
import { CorruptStateFault } from '../faults.ts';
import type { Knobs } from '../knobs.ts';
import { type ClosedEntry, closedBytesOf } from '../state/closed-entries.ts';
import type { SliceImage } from '../state/slice-image.ts';
import type { SliceState } from '../state/slice-state.ts';
import { type BlobStores, readBlob, writeBlob } from './blobs.ts';
import { decideRunMerge, type RunMerge } from './compaction.ts';
import type { Head } from './head.ts';
import type { Manifest, RunReference } from './manifest.ts';
import { encodeRun, RunReader } from './run.ts';

export interface RunsRequest {
  readonly head: Pick<Head, 'sliceId'>;
  readonly state: SliceState;
  /** Of the base before. */
  readonly manifest: Manifest;
  /** Of the epoch that is being written. */
  readonly name: { readonly timeline: number; readonly epoch: number; readonly nonce: string };
}

export interface RunPorts {
  readonly blobs: BlobStores;
  readonly knobs: Knobs;
}

export interface WrittenRuns extends Pick<Manifest, 'runs' | 'runsEpoch'> {
  /** Of the run that was written; 0: none was. */
  readonly runBytes: number;
}

/**
 * `partsSince`: the chain behind the parts begins here. A run is written where the chain would begin earlier without one, or
 * where closed entries have become many.
 */
export async function writeRuns(
  { head, state, manifest, name }: RunsRequest,
  partsSince: number,
  { blobs, knobs }: RunPorts,
): Promise<WrittenRuns> {
  const { sliceId } = head;
  const { runs, runsEpoch } = manifest;
  const { epoch } = name;
  const closed = state.closedSinceRuns();
  if (closed.every((entries) => entries.length === 0))
    return { runs, runsEpoch: epoch, runBytes: 0 };
  const bytes = closed.flat().reduce((sum, entry) => sum + closedBytesOf(entry), 0);
  if (runsEpoch >= partsSince && bytes < knobs.chainBytesMinToCompact) {
    return { runs, runsEpoch, runBytes: 0 };
  }
  const merge = await readMerge(decideRunMerge(manifest, knobs), sliceId, state.image, blobs);
  for (const [index, entries] of merge.entries.entries()) {
    for (const entry of entries) closed[index]?.push(entry);
  }
  const living = state.image.living();
  const encoded = encodeRun(
    living.map((each, index) => ({ ...each, entries: closed[index] ?? [] })),
    knobs.runBlockBytes,
  );
  const reference = await writeBlob(blobs, sliceId, { ...name, kind: 'run' }, encoded.bytes);
  const run: RunReference = {
    ...reference,
    level: merge.level,
    entryCount: encoded.entryCount,
    indexOffset: encoded.indexOffset,
  };
  return {
    runs: [...runs.filter((old) => !merge.absorbed.includes(old)), run],
    runsEpoch: epoch,
    runBytes: run.byteLength,
  };
}

interface ReadMerge extends RunMerge {
  /** By index of the image's views. */
  readonly entries: readonly ClosedEntry[][];
}

/** What the merged runs hold of the plan's views. A damaged run is left as it is, for its readers to tell of. */
async function readMerge(
  merge: RunMerge,
  sliceId: string,
  image: SliceImage,
  blobs: BlobStores,
): Promise<ReadMerge> {
  const living = image.living();
  const entries: ClosedEntry[][] = living.map(() => []);
  try {
    for (const run of merge.absorbed) {
      const bytes = await readBlob(blobs, sliceId, run);
      const reader = new RunReader(sliceId, run, async (from, to) => bytes.subarray(from, to));
      let entryCount = 0;
      // Views and columns that the plan no longer has end here; a rollback reads the runs that its own base lists.
      for await (const block of reader.blocks(living)) {
        entryCount += block.entryCount;
        for (const entry of block.entries) entries[block.view]?.push(entry);
      }
      assert(entryCount === run.entryCount, 'a-merge-takes-every-entry');
    }
  } catch (fault) {
    if (!(fault instanceof CorruptStateFault)) throw fault;
    return { absorbed: [], level: 0, entries: [] };
  }
  return { ...merge, entries };
}
