/**
 * Writing closing entries and late partials that no run holds yet as a run, with those of runs whose turn it is to be merged. What
 * the state holds of it is taken at once: the state may go on while the run is written.
 */
import { CorruptStateFault } from '../faults.ts';
import type { Knobs } from '../knobs.ts';
import { closedBytesOf, compareClosedEntries } from '../state/closed-entries.ts';
import type { Drain } from '../state/closing.ts';
import type { SliceImage } from '../state/slice-image.ts';
import type { SliceState } from '../state/slice-state.ts';
import { BlobWriter } from './blob-writer.ts';
import { type BlobStores, readBlob } from './blobs.ts';
import { decideRunMerge, type RunGroup } from './compaction.ts';
import type { Head } from './head.ts';
import type { Manifest, RunReference } from './manifest.ts';
import { adopt, isAdoptable, type MergedRun } from './merged-run.ts';
import { RunReader } from './run.ts';
import { mergeRuns, type RunSource, sourceOf } from './run-merge.ts';

export interface RunsRequest {
  readonly head: Pick<Head, 'sliceId' | 'collectBelow'>;
  readonly state: SliceState;
  /** Of the base before. */
  readonly manifest: Manifest;
  readonly drain: Drain;
  /** What a tick has merged and no base lists yet; null: nothing. */
  readonly mergedRun: MergedRun | null;
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
  /** Of a run, about. */
  readonly storedBytes: number;
}

const NO_MERGE: RunGroup = { absorbed: [], level: 0 };

/**
 * `partsSince`: the chain behind the parts begins here. A run is written for what is drained, where the chain would begin
 * earlier without one, or where late partials have become many.
 */
export function prepareRuns(
  { head, state, manifest, mergedRun, name, drain }: RunsRequest,
  partsSince: number,
  { blobs, knobs }: RunPorts,
): () => Promise<WrittenRuns> {
  const { runsEpoch } = manifest;
  const living = state.image.living();
  const isAdopted =
    mergedRun !== null && isAdoptable(mergedRun, { head, runs: manifest.runs, living });
  const runs = isAdopted ? adopt(mergedRun, manifest.runs) : manifest.runs;
  const { epoch } = name;
  const closed = closedOf(state, drain);
  if (closed.isEmpty) return async () => ({ runs, runsEpoch: epoch, runBytes: 0 });
  const isWanted =
    closed.drains || runsEpoch < partsSince || closed.lateBytes >= knobs.chainBytesMinToCompact;
  if (!isWanted) return async () => ({ runs, runsEpoch, runBytes: 0 });
  const decided = decideRunMerge({ runs, incomingBytes: closed.storedBytes }, knobs);
  const merge = decided.kind === 'now' ? decided : NO_MERGE;
  const { sliceId } = head;
  return () => writeRun({ sliceId, name, living, closed, runs, merge }, { blobs, knobs });
}

interface PlannedRun {
  readonly sliceId: string;
  readonly name: RunsRequest['name'];
  readonly living: ReturnType<SliceImage['living']>;
  readonly closed: ClosedSource;
  readonly runs: readonly RunReference[];
  readonly merge: RunGroup;
}

async function writeRun(
  { sliceId, name, living, closed, runs, merge }: PlannedRun,
  { blobs, knobs }: RunPorts,
): Promise<WrittenRuns> {
  const absorbed = await openWhole(merge.absorbed, sliceId, blobs);
  const sources = [closed, ...(absorbed ?? [])];
  const writer = new BlobWriter(blobs, sliceId, { ...name, kind: 'run' }, knobs);
  const entries = mergeRuns(living, sources, knobs.runBlockBytes);
  let next = await entries.next();
  for (; !next.done; next = await entries.next()) await writer.write(next.value);
  const run: RunReference = {
    ...(await writer.finish()),
    level: absorbed === null ? 0 : merge.level,
    ...next.value,
  };
  const gone = absorbed === null ? [] : merge.absorbed;
  return {
    runs: [...runs.filter((old) => !gone.includes(old)), run],
    runsEpoch: name.epoch,
    runBytes: run.byteLength,
  };
}

function closedOf(state: SliceState, drain: Drain): ClosedSource {
  const late = state.lateSinceRuns();
  let lateBytes = 0;
  for (const entries of late) for (const entry of entries) lateBytes += closedBytesOf(entry);
  const closed = late.map((entries, view) => [...(drain.entries[view] ?? []), ...entries]);
  let storedBytes = 0;
  for (const entries of closed) {
    for (const { key, accumulators } of entries) storedBytes += key.length + accumulators.length;
  }
  return {
    isEmpty: closed.every(({ length }) => length === 0),
    drains: drain.entries.some(({ length }) => length > 0),
    lateBytes,
    storedBytes,
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
