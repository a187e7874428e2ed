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
import type { Knobs } from '../knobs.ts';
import type { Clock, NonceSource, TaskHeads } from '../ports.ts';
import { closingBytes } from '../state/closing.ts';
import type { SliceState } from '../state/slice-state.ts';
import { type WrittenBase, writeBase } from './base-writer.ts';
import { type BlobStores, writeBlob } from './blobs.ts';
import { type ChainLink, cutChain, linkTo } from './chain.ts';
import { decideCompaction } from './compaction.ts';
import { encodeDelta } from './delta.ts';
import { type Head, standingOf } from './head.ts';
import { writeHead } from './head-write.ts';
import { chainSince, type Manifest, partBytesOf } from './manifest.ts';
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
  readonly parts: OpenParts;
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
      readonly chain: readonly ChainLink[];
      /** What the delta touched. */
      readonly touched: Touched;
      readonly compacted: boolean;
      readonly observed: CommitObservation;
    }
  | { readonly outcome: 'refused'; readonly current: Head | null };

interface EpochName {
  readonly timeline: number;
  readonly epoch: number;
  readonly nonce: string;
}

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
  const touched = basis.parts.touchedBy(state);
  const switches = request.planOrdinal !== undefined;
  const facts = {
    chainLength: head.chainLength + 1,
    chainBytes: head.chainBytes + change.length,
    partBytes: head.stateBytes - head.chainBytes,
    closingBytes: closingBytes(state.image),
    // A base says which life each view has from here on.
    requested: request.base || switches,
  };
  const decision = decideCompaction(facts, ports.knobs);
  const rewrites = decision === 'delta-and-base';
  const written =
    decision === 'delta' ? null : await writeBase({ ...basis, name, touched, rewrites }, ports);
  const planOrdinal = request.planOrdinal ?? head.planOrdinal;
  const predecessors = cutChain(chain, head);
  const bytes = encodeDelta(
    {
      ...name,
      sliceId: head.sliceId,
      generation: head.generation,
      planOrdinal,
      planHash: plan.hash,
      predecessors,
      base: written?.base ?? head.base,
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
    entryCount: state.openEntryCount,
    delta,
    chain: [...chain, linkTo(chain, delta)],
    base: written === null ? null : newBase(written),
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
    chain: [...predecessors, linkTo(chain, delta)],
    touched,
    compacted: written !== null,
    observed: {
      changedEntries,
      writtenBytes: delta.byteLength + (written?.byteLength ?? 0),
      writeMs: Math.max(0, writtenMs - nowMs),
      headMs: Math.max(0, ports.clock.nowMs() - writtenMs),
    },
  };
}

function newBase({ base, manifest }: WrittenBase): NewBase {
  return {
    reference: base,
    chainSince: chainSince(manifest),
    partBytes: partBytesOf(manifest),
  };
}
