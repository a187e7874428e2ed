/**
 * Committing a checkpoint: delta, base and run become durable under names that no one else can use; then HEAD commits
 * under its revision; then what follows from the delta alone.
 *
 *   1 run ─ 2 base ─ 3 delta ─ 4 HEAD ─ 5 quarantine index ─ 6 collect
 *
 * A crash before 4 leaves orphans, which go when the floor passes their epoch. After 4 the checkpoint exists: a crash
 * before 5 is made up for by the next owner before its own commit; a crash before 6 by the next compaction.
 */
import { assert } from '../assert.ts';
import { CorruptStateFault } from '../faults.ts';
import type { Knobs } from '../knobs.ts';
import type { Clock, NonceSource, TaskHeads } from '../ports.ts';
import type { ClosedEntry } from '../state/closed-entries.ts';
import type { SliceImage } from '../state/slice-image.ts';
import type { SliceState } from '../state/slice-state.ts';
import { encodeBase } from './base.ts';
import { type BlobStores, readBlob, writeBlob } from './blobs.ts';
import {
  type CompactionDecision,
  decideCompaction,
  decideRunMerge,
  type RunMerge,
} from './compaction.ts';
import { encodeDelta } from './delta.ts';
import { type Head, standingOf } from './head.ts';
import { writeHead } from './head-write.ts';
import type { AbsorbedRun, Manifest, RunReference } from './manifest.ts';
import type { BlobReference } from './names.ts';
import { encodeRun, RunReader } from './run.ts';
import { committing } from './transitions.ts';

export interface CommitPorts {
  readonly heads: TaskHeads;
  readonly blobs: BlobStores;
  readonly clock: Clock;
  readonly nonces: NonceSource;
  readonly knobs: Knobs;
}

/** A memory that a commit can be built on: `state` is the fold up to its position, on top of the epoch of `head`. */
export interface CommitBasis {
  readonly head: Head;
  readonly state: SliceState;
  readonly manifest: Manifest;
  readonly chain: readonly BlobReference[];
  /** Arrival time of the record at the memory's position, and whether it was read to close a gap. */
  readonly arrivalMs: number;
  readonly closesGap: boolean;
}

export interface CommitRequest {
  /** A base, whether or not the chain is long. */
  readonly base: boolean;
  /** The slice goes over to this plan, which is that of the state. */
  readonly planOrdinal?: number;
  /** Ids of the redrive requests that this epoch has done. */
  readonly requestsDone?: readonly string[];
}

/** What a commit took: what later ones may be decided by. Durations are by the injected clock, 0 where it was set back. */
export interface CommitObservation {
  /** Entries that were changed since the commit before, late partials and those of the ledger included. */
  readonly changedEntries: number;
  /** Of delta, base and run. */
  readonly writtenBytes: number;
  /** Encoding and writing these. */
  readonly writeMs: number;
  /** Writing HEAD. */
  readonly headMs: number;
}

export type CommitOutcome =
  | {
      readonly outcome: 'applied';
      readonly head: Head;
      readonly manifest: Manifest;
      readonly chain: readonly BlobReference[];
      readonly compacted: boolean;
      readonly observed: CommitObservation;
    }
  | { readonly outcome: 'refused'; readonly current: Head | null };

interface EpochName {
  readonly timeline: number;
  readonly epoch: number;
  readonly nonce: string;
}

/** Deltas before the newest base that a delta still names, so that memories there need not restore. */
const PREDECESSORS_BEFORE_BASE = 16;

/** Writes epoch + 1. What the state has folded is neither committed nor undone: that is up to the outcome. */
export async function commit(
  basis: CommitBasis,
  ports: CommitPorts,
  request: CommitRequest,
): Promise<CommitOutcome> {
  const { head, state, chain } = basis;
  const { plan } = state.image;
  assert(state.isWhole, 'a-commit-falls-between-kinesis-records');
  const nowMs = ports.clock.nowMs();
  const name: EpochName = {
    timeline: head.timeline,
    epoch: head.epoch + 1,
    nonce: ports.nonces.nonce(),
  };
  const changedEntries = state.changedEntryCount;
  const change = state.encodeDelta();
  const switches = request.planOrdinal !== undefined;
  const facts = {
    chainLength: head.chainLength + 1,
    chainBytes: head.chainBytes + change.length,
    baseBytes: head.base?.byteLength ?? 0,
    // Another plan's deltas lack this plan's views: a base cuts them off.
    requested: request.base || switches,
  };
  const decision = decideCompaction(facts, ports.knobs);
  const written = await writeBase(decision, basis, name, ports);
  const planOrdinal = request.planOrdinal ?? head.planOrdinal;
  const bytes = encodeDelta(
    {
      ...name,
      sliceId: head.sliceId,
      generation: head.generation,
      planOrdinal,
      planHash: plan.hash,
      predecessors: predecessorsOf(head, chain),
      manifest: written?.manifest ?? null,
      requestsDone: request.requestsDone ?? [],
    },
    change,
  );
  const delta = await writeBlob(ports.blobs, head.sliceId, { ...name, kind: 'delta' }, bytes);
  const { arrivalMs, closesGap } = basis;
  const epoch = {
    standing: standingOf(state.progress),
    arrivalMs,
    closesGap,
    entryCount: state.entryCount,
    delta,
    base: written?.base ?? null,
    switchTo: switches ? { planOrdinal, planHash: plan.hash } : null,
    nowMs,
  };
  const next = committing(head, epoch, ports.knobs);
  const writtenMs = ports.clock.nowMs();
  const commit = await writeHead(head, next, ports.heads);
  if (commit.outcome === 'refused') return commit;
  return {
    outcome: 'applied',
    head: next,
    manifest: written?.manifest ?? basis.manifest,
    chain: [...predecessorsOf(head, chain), delta],
    compacted: written !== null,
    observed: {
      changedEntries,
      writtenBytes: delta.byteLength + (written?.byteLength ?? 0),
      writeMs: Math.max(0, writtenMs - nowMs),
      headMs: Math.max(0, ports.clock.nowMs() - writtenMs),
    },
  };
}

/** Where the chain is cut: at the newest base, but for a few deltas. */
export function predecessorsOf(
  head: Pick<Head, 'base' | 'collectBelow'>,
  chain: readonly BlobReference[],
): readonly BlobReference[] {
  const baseEpoch = head.base?.epoch ?? 0;
  const first = chain.findIndex(({ epoch }) => epoch > baseEpoch);
  const after = first < 0 ? chain.length : first;
  const kept = chain.slice(Math.max(0, after - PREDECESSORS_BEFORE_BASE));
  return kept.filter(({ epoch }) => epoch >= head.collectBelow);
}

async function writeBase(
  decision: CompactionDecision,
  basis: CommitBasis,
  name: EpochName,
  ports: CommitPorts,
): Promise<{ base: BlobReference; manifest: Manifest; byteLength: number } | null> {
  if (decision === 'delta') return null;
  const { sliceId } = basis.head;
  const planHash = basis.state.image.plan.hash;
  const manifest = await writeRun(basis, name, ports);
  const bytes = encodeBase({ ...name, sliceId, planHash, manifest }, basis.state.encodeBase());
  const base = await writeBlob(ports.blobs, sliceId, { ...name, kind: 'base' }, bytes);
  const newRun = manifest.runs.find((run) => run.nonce === name.nonce);
  return { base, manifest, byteLength: base.byteLength + (newRun?.byteLength ?? 0) };
}

/** The closed entries since the last base, with those of runs whose turn it is to be merged, as one new run. */
async function writeRun(
  { head, state, manifest }: CommitBasis,
  name: EpochName,
  { blobs, knobs }: CommitPorts,
): Promise<Manifest> {
  const { sliceId, collectBelow } = head;
  const absorbed = manifest.absorbed.filter(({ epoch }) => epoch > collectBelow);
  const closed = state.closedSinceBase();
  if (closed.every((entries) => entries.length === 0)) return { ...manifest, absorbed };
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
  const nowAbsorbed: AbsorbedRun[] = merge.absorbed.map((old) => ({ run: old, epoch: name.epoch }));
  return {
    runs: [...manifest.runs.filter((old) => !merge.absorbed.includes(old)), run],
    absorbed: [...absorbed, ...nowAbsorbed],
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
