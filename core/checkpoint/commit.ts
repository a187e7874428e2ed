/**
 * Committing a checkpoint: delta, merged delta, base and run become durable under names that no one else can use; then HEAD
 * commits under its revision; then what follows from the delta alone.
 *
 *   1 run ─ 2 base ─ 3 merged delta ─ 4 delta ─ 5 HEAD ─ 6 quarantine index ─ 7 collect
 *
 * A crash before 5 leaves orphans, which go when the floor passes their epoch. After 5 the checkpoint exists: a crash
 * before 6 is made up for by the next owner before its own commit; a crash before 7 by the next compaction.
 *
 * All of it is encoded at once, before anything is written, so that the state may be folded on meanwhile.
 */
import { assert } from '../assert.ts';
import type { Knobs } from '../knobs.ts';
import type { Clock, NonceSource, TaskHeads } from '../ports.ts';
import { closingBytes } from '../state/closing.ts';
import type { RecentChange, RecentChanges } from '../state/recent-changes.ts';
import type { SliceState } from '../state/slice-state.ts';
import type { QuarantineEntry } from '../state/state-change.ts';
import { prepareBase, type WrittenBase } from './base-writer.ts';
import { type BlobStores, writeBlob } from './blobs.ts';
import { type ChainLink, continued, cutChain } from './chain.ts';
import { decideCompaction, mergesAt, rewriteBudget } from './compaction.ts';
import { encodeDelta } from './delta.ts';
import { type Head, standingOf } from './head.ts';
import { writeHead } from './head-write.ts';
import { chainSince, type Manifest, partBytesOf } from './manifest.ts';
import { type EncodedMerge, encodeMerge } from './merge-writer.ts';
import type { MergedRun } from './merged-run.ts';
import type { BlobReference } from './names.ts';
import type { OpenParts, Touched } from './open-parts.ts';
import { committing, type NewBase } from './transitions.ts';

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
  /** See `RunsRequest`. */
  readonly mergedRun: MergedRun | null;
  readonly parts: OpenParts;
  readonly recent: RecentChanges;
  readonly chain: readonly ChainLink[];
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

/** What a commit took. Durations are by the injected clock, 0 where it was set back. */
interface CommitObservation {
  /** Entries that were changed since the commit before, late partials and those of the ledger included. */
  readonly changedEntries: number;
  /** Of delta, merged delta, base and run. */
  readonly writtenBytes: number;
  /** Encoding and writing these, with what was folded meanwhile. */
  readonly writeMs: number;
  /** Writing HEAD. */
  readonly headMs: number;
}

export type CommitOutcome =
  | {
      readonly outcome: 'applied';
      readonly head: Head;
      readonly manifest: Manifest;
      readonly chain: readonly ChainLink[];
      /** What the delta touched. */
      readonly touched: Touched;
      readonly changed: RecentChange;
      /** What the delta quarantined. */
      readonly quarantined: readonly QuarantineEntry[];
      /** With the changes after this epoch; null: nothing was merged. */
      readonly mergedAfter: number | null;
      readonly compacted: boolean;
      readonly observed: CommitObservation;
    }
  | { readonly outcome: 'refused'; readonly current: Head | null };

interface EpochName {
  readonly timeline: number;
  readonly epoch: number;
  readonly nonce: string;
}

/**
 * Encodes what epoch + 1 changes, and gives what writes it. What the state has folded is neither committed nor undone: that is up to
 * the outcome.
 */
export function prepareCommit(
  basis: CommitBasis,
  ports: CommitPorts,
  request: CommitRequest,
): () => Promise<CommitOutcome> {
  const { head, state, arrivalMs, closesGap } = basis;
  assert(state.isWhole, 'a-commit-falls-between-kinesis-records');
  const nowMs = ports.clock.nowMs();
  const encoded = encodeBlobs(basis, ports, request);
  const planHash = state.image.plan.hash;
  const { planOrdinal } = request;
  const epoch = {
    standing: standingOf(state.progress),
    arrivalMs,
    closesGap,
    entryCount: state.openEntryCount,
    switchTo: planOrdinal === undefined ? null : { planOrdinal, planHash },
    nowMs,
  };
  const { changedEntryCount } = state;
  const quarantined = [...state.quarantined];
  return async () => {
    const { base, merged, delta, chain } = await writeBlobs(basis, encoded, ports, request);
    const named = { delta, chain, base: base === null ? null : newBase(base) };
    const next = committing(head, { ...epoch, ...named }, ports.knobs);
    const writtenMs = ports.clock.nowMs();
    const commit = await writeHead(head, next, ports.heads);
    if (commit.outcome === 'refused') return commit;
    return {
      outcome: 'applied',
      head: next,
      manifest: base?.manifest ?? basis.manifest,
      chain,
      touched: encoded.touched,
      changed: encoded.changed,
      quarantined,
      mergedAfter: merged?.after ?? null,
      compacted: base !== null,
      observed: {
        changedEntries: changedEntryCount,
        writtenBytes: delta.byteLength + (merged?.byteLength ?? 0) + (base?.byteLength ?? 0),
        writeMs: Math.max(0, writtenMs - nowMs),
        headMs: Math.max(0, ports.clock.nowMs() - writtenMs),
      },
    };
  };
}

interface EncodedBlobs {
  readonly name: EpochName;
  readonly planHash: string;
  readonly change: Uint8Array;
  readonly merge: EncodedMerge | null;
  readonly touched: Touched;
  readonly changed: RecentChange;
  /** Null: none is written. */
  readonly writeBase: (() => Promise<WrittenBase>) | null;
}

function encodeBlobs(basis: CommitBasis, ports: CommitPorts, request: CommitRequest): EncodedBlobs {
  const { head, state } = basis;
  const { sliceId, timeline } = head;
  const name: EpochName = { timeline, epoch: head.epoch + 1, nonce: ports.nonces.nonce() };
  const { bytes: change, tailFrom, tailTo, windows } = state.encodeDelta();
  const touched = basis.parts.touchedBy(windows);
  const partBytes = head.stateBytes - head.chainBytes;
  const facts = {
    chainLength: head.chainLength + 1,
    chainBytes: head.chainBytes + change.length,
    partBytes,
    closingBytes: closingBytes(state.image),
    chainEpochs: name.epoch - head.chainSince,
    // A base says which life each view has from here on.
    requested: request.base || request.planOrdinal !== undefined,
  };
  const afters = mergesAt(name.epoch, partBytes, ports.knobs);
  const decision = decideCompaction({ ...facts, merges: afters.length > 0 }, ports.knobs);
  const budget = decision === 'delta-and-base' ? rewriteBudget(tailTo, ports.knobs) : 0;
  const tails = [{ epoch: name.epoch, bytes: change.slice(tailFrom, tailTo) }];
  const changed = { after: head.epoch, epoch: name.epoch, windows, tails };
  const entryBytes = tailFrom / Math.max(1, state.changedEntryCount);
  const merge = encodeMerge({ ...basis, name, sliceId, changed, entryBytes, afters });
  const planHash = state.image.plan.hash;
  const writeBase =
    decision === 'delta' ? null : prepareBase({ ...basis, name, touched, budget }, ports);
  return { name, planHash, change, merge, touched, changed, writeBase };
}

interface WrittenBlobs {
  readonly base: WrittenBase | null;
  readonly merged: ChainLink | null;
  readonly delta: BlobReference;
  /** What the next delta names. */
  readonly chain: readonly ChainLink[];
}

/** All that HEAD is to name. */
async function writeBlobs(
  basis: CommitBasis,
  { name, planHash, change, merge, writeBase }: EncodedBlobs,
  ports: CommitPorts,
  request: CommitRequest,
): Promise<WrittenBlobs> {
  const { head } = basis;
  const { sliceId, generation } = head;
  const base = writeBase === null ? null : await writeBase();
  let merged: ChainLink | null = null;
  if (merge !== null) {
    const mergedName = { ...name, kind: 'merged' } as const;
    const reference = await writeBlob(ports.blobs, sliceId, mergedName, merge.bytes);
    merged = { ...reference, after: merge.after };
  }
  const predecessors = cutChain(basis.chain, head);
  const header = {
    ...name,
    sliceId,
    generation,
    planOrdinal: request.planOrdinal ?? head.planOrdinal,
    planHash,
    predecessors,
    merged,
    base: base?.base ?? head.base,
    manifest: base?.manifest ?? null,
    requestsDone: request.requestsDone ?? [],
  };
  const bytes = encodeDelta(header, change);
  const delta = await writeBlob(ports.blobs, sliceId, { ...name, kind: 'delta' }, bytes);
  return { base, merged, delta, chain: continued(predecessors, merged, delta) };
}

function newBase({ base, manifest, awaitsMerge }: WrittenBase): NewBase {
  return {
    awaitsMerge,
    reference: base,
    chainSince: chainSince(manifest),
    partBytes: partBytesOf(manifest),
  };
}
