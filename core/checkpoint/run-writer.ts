/**
 * Writing closing entries and late partials that no run holds yet as a run, with those of runs whose turn it is to be merged.
 */
import { CorruptStateFault } from '../faults.ts';
import type { Knobs } from '../knobs.ts';
import { closedBytesOf, compareClosedEntries } from '../state/closed-entries.ts';
import type { Drain } from '../state/closing.ts';
import type { SliceState } from '../state/slice-state.ts';
import { BlobWriter } from './blob-writer.ts';
import { type BlobStores, readBlob } from './blobs.ts';
import { decideRunMerge } from './compaction.ts';
import type { Head } from './head.ts';
import type { Manifest, RunReference } from './manifest.ts';
import { RunReader } from './run.ts';
import { mergeRuns, type RunSource, sourceOf } from './run-merge.ts';

export interface RunsRequest {
  readonly head: Pick<Head, 'sliceId'>;
  readonly state: SliceState;
  /** Of the base before. */
  readonly manifest: Manifest;
  readonly drain: Drain;
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

/** What is drained, and the late partials that no run holds. */
interface ClosedSource extends RunSource {
  readonly isEmpty: boolean;
  readonly drains: boolean;
  /** Of memory that the late partials take, about. */
  readonly lateBytes: number;
}

/**
 * `partsSince`: the chain behind the parts begins here. A run is written for what is drained, where the chain would begin
 * earlier without one, or where late partials have become many.
 */
export async function writeRuns(
  { head, state, manifest, name, drain }: RunsRequest,
  partsSince: number,
  { blobs, knobs }: RunPorts,
): Promise<WrittenRuns> {
  const { sliceId } = head;
  const { runs, runsEpoch } = manifest;
  const { epoch } = name;
  const closed = closedOf(state, drain);
  if (closed.isEmpty) return { runs, runsEpoch: epoch, runBytes: 0 };
  const isWanted =
    closed.drains || runsEpoch < partsSince || closed.lateBytes >= knobs.chainBytesMinToCompact;
  if (!isWanted) return { runs, runsEpoch, runBytes: 0 };
  const living = state.image.living();
  const merge = decideRunMerge(manifest, knobs);
  const absorbed = await openWhole(merge.absorbed, sliceId, blobs);
  const sources = [closed, ...(absorbed ?? [])];
  const writer = new BlobWriter(blobs, sliceId, { ...name, kind: 'run' }, knobs);
  const merged = mergeRuns(living, sources, knobs.runBlockBytes);
  let next = await merged.next();
  for (; !next.done; next = await merged.next()) await writer.write(next.value);
  const run: RunReference = {
    ...(await writer.finish()),
    level: absorbed === null ? 0 : merge.level,
    ...next.value,
  };
  const gone = absorbed === null ? [] : merge.absorbed;
  return {
    runs: [...runs.filter((old) => !gone.includes(old)), run],
    runsEpoch: epoch,
    runBytes: run.byteLength,
  };
}

function closedOf(state: SliceState, drain: Drain): ClosedSource {
  const late = state.lateSinceRuns();
  let lateBytes = 0;
  for (const entries of late) for (const entry of entries) lateBytes += closedBytesOf(entry);
  const closed = late.map((entries, view) => [...(drain.entries[view] ?? []), ...entries]);
  return {
    isEmpty: closed.every(({ length }) => length === 0),
    drains: drain.entries.some(({ length }) => length > 0),
    lateBytes,
    async *scan(_view, index) {
      yield (closed[index] ?? []).sort(compareClosedEntries);
    },
    countOf: async () => closed.reduce((sum, entries) => sum + entries.length, 0),
  };
}

/**
 * Runs that are small together, each in memory. Null if one is damaged: it is left as it is, for its readers to tell of.
 */
async function openWhole(
  runs: readonly RunReference[],
  sliceId: string,
  blobs: BlobStores,
): Promise<readonly RunSource[] | null> {
  try {
    const sources: RunSource[] = [];
    for (const run of runs) {
      const bytes = await readBlob(blobs, sliceId, run);
      sources.push(
        sourceOf(new RunReader(sliceId, run, async (from, to) => bytes.subarray(from, to))),
      );
    }
    return sources;
  } catch (fault) {
    if (!(fault instanceof CorruptStateFault)) throw fault;
    return null;
  }
}
