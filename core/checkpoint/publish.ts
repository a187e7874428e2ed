/**
 * Publishing a checkpoint: delta, base and run become durable under names that no one else can use; then HEAD flips
 * under its revision; then what follows from the delta alone.
 *
 *   1 run ─ 2 base ─ 3 delta ─ 4 HEAD ─ 5 quarantine index ─ 6 collect
 *
 * A crash before 4 leaves orphans, which go when the floor passes their epoch. After 4 the checkpoint exists: a crash
 * before 5 is made up for by the next owner before its own flip; a crash before 6 by the next compaction.
 */
import { assert } from '../assert.ts';
import { TransientFault } from '../faults.ts';
import type { Knobs } from '../knobs.ts';
import type { CheckpointStore, Clock, NonceSource } from '../ports.ts';
import { laterPosition } from '../position.ts';
import type { SliceState } from '../state/slice-state.ts';
import { encodeBase } from './base.ts';
import { type BlobStores, readBlob, writeBlob } from './blobs.ts';
import { type CompactionDecision, decideCompaction, decideRunMerge } from './compaction.ts';
import { encodeDelta } from './delta.ts';
import { assertSuccession, type Head, headItem, parseHead } from './head.ts';
import type { AbsorbedRun, Manifest, RunReference } from './manifest.ts';
import type { BlobReference } from './names.ts';
import { decideFloor } from './retention.ts';
import { encodeRun, RunReader } from './run.ts';

export interface PublishPorts {
  readonly heads: CheckpointStore;
  readonly blobs: BlobStores;
  readonly clock: Clock;
  readonly nonces: NonceSource;
  readonly knobs: Knobs;
}

/** A memory that a flip can be built on: `state` is the fold up to its position, on top of the epoch of `head`. */
export interface FlipBasis {
  readonly head: Head;
  readonly state: SliceState;
  readonly manifest: Manifest;
  readonly chain: readonly BlobReference[];
  /** Arrival time of the record at the memory's position. */
  readonly arrivalMs: number;
}

export type FlipOutcome =
  | {
      readonly outcome: 'applied';
      readonly head: Head;
      readonly manifest: Manifest;
      readonly chain: readonly BlobReference[];
      readonly compacted: boolean;
    }
  | { readonly outcome: 'refused'; readonly current: Head | null };

interface EpochName {
  readonly timeline: number;
  readonly epoch: number;
  readonly nonce: string;
}

/** Deltas before the newest base that a delta still names, so that memories there need not restore. */
const PREDECESSORS_BEFORE_BASE = 16;

/** Writes epoch + 1. The state's overlay is neither committed nor dropped: that is up to the outcome. */
export async function publish(
  basis: FlipBasis,
  ports: PublishPorts,
  baseRequested = false,
): Promise<FlipOutcome> {
  const { head, state, chain } = basis;
  const nowMs = ports.clock.nowMs();
  const name: EpochName = {
    timeline: head.timeline,
    epoch: head.epoch + 1,
    nonce: ports.nonces.nonce(),
  };
  const change = state.encodeDelta();
  const facts = {
    chainLength: head.chainLength + 1,
    chainBytes: head.chainBytes + change.length,
    baseBytes: head.base?.byteLength ?? 0,
    requested: baseRequested,
  };
  const decision = decideCompaction(facts, ports.knobs);
  const written = await writeBase(decision, basis, name, ports);
  const bytes = encodeDelta(
    {
      ...name,
      sliceId: head.sliceId,
      generation: head.generation,
      planOrdinal: head.planOrdinal,
      planHash: head.planHash,
      predecessors: predecessorsOf(head, chain),
      manifest: written?.manifest ?? null,
      requestsDone: [],
    },
    change,
  );
  const delta = await writeBlob(ports.blobs, head.sliceId, { ...name, kind: 'delta' }, bytes);
  const next = nextHead(basis, delta, written?.base ?? null, nowMs, ports.knobs);
  const current = await flip(head, next, ports.heads);
  if (current !== 'applied') return { outcome: 'refused', current };
  return {
    outcome: 'applied',
    head: next,
    manifest: written?.manifest ?? basis.manifest,
    chain: [...predecessorsOf(head, chain), delta],
    compacted: written !== null,
  };
}

/** Where the chain is cut: at the newest base, but for a few deltas. */
function predecessorsOf(head: Head, chain: readonly BlobReference[]): readonly BlobReference[] {
  const baseEpoch = head.base?.epoch ?? 0;
  const first = chain.findIndex(({ epoch }) => epoch > baseEpoch);
  const after = first < 0 ? chain.length : first;
  const kept = chain.slice(Math.max(0, after - PREDECESSORS_BEFORE_BASE));
  return kept.filter(({ epoch }) => epoch >= head.collectBelow);
}

function nextHead(
  { head, state, arrivalMs }: FlipBasis,
  delta: BlobReference,
  base: BlobReference | null,
  nowMs: number,
  knobs: Knobs,
): Head {
  const { position, watermarkMs, digest, counts } = state.progress;
  const chainLength = base === null ? head.chainLength + 1 : 0;
  const chainBytes = base === null ? head.chainBytes + delta.byteLength : 0;
  const delivered = laterPosition(head.delivered, position);
  const previousBaseEpoch = head.base?.epoch ?? 0;
  const floor =
    base === null ? head : decideFloor(head, previousBaseEpoch, nowMs, knobs.retentionGraceMs);
  return {
    ...head,
    epoch: head.epoch + 1,
    revision: head.revision + 1,
    nonce: delta.nonce,
    cursor: position,
    delivered,
    deliveredArrivalMs: delivered === position ? arrivalMs : head.deliveredArrivalMs,
    watermarkMs,
    digest: digest.copy(),
    counts: { ...counts },
    entryCount: state.entryCount,
    stateBytes: ((base ?? head.base)?.byteLength ?? 0) + chainBytes,
    chainLength,
    chainBytes,
    base: base ?? head.base,
    delta,
    collectBelow: floor.collectBelow,
    floor: floor.floor,
    flippedMs: nowMs,
  };
}

/** `applied`, or the HEAD that stands there instead. Our own nonce there means that an answer was lost. */
async function flip(
  before: Head,
  after: Head,
  heads: CheckpointStore,
): Promise<'applied' | Head | null> {
  assertSuccession(before, after);
  const item = headItem(after);
  let answer: Awaited<ReturnType<CheckpointStore['writeHead']>>;
  try {
    answer = await heads.writeHead(item, before.revision);
  } catch (fault) {
    if (!(fault instanceof TransientFault)) throw fault;
    // Applied or not, nobody said: asking again is safe, since the condition and the nonce are the same.
    answer = await heads.writeHead(item, before.revision);
  }
  if (answer.outcome === 'applied') return 'applied';
  const current = answer.current === null ? null : parseHead(answer.current);
  return current?.nonce === after.nonce ? 'applied' : current;
}

async function writeBase(
  decision: CompactionDecision,
  basis: FlipBasis,
  name: EpochName,
  ports: PublishPorts,
): Promise<{ base: BlobReference; manifest: Manifest } | null> {
  if (decision === 'delta') return null;
  const { sliceId, planHash } = basis.head;
  const manifest = await writeRun(basis, name, ports);
  const bytes = encodeBase({ ...name, sliceId, planHash, manifest }, basis.state.encodeBase());
  const base = await writeBlob(ports.blobs, sliceId, { ...name, kind: 'base' }, bytes);
  return { base, manifest };
}

/** The closed entries since the last base, with those of runs whose turn it is to be merged, as one new run. */
async function writeRun(
  { head, state, manifest }: FlipBasis,
  name: EpochName,
  { blobs, knobs }: PublishPorts,
): Promise<Manifest> {
  const { sliceId, collectBelow } = head;
  const absorbed = manifest.absorbed.filter(({ epoch }) => epoch > collectBelow);
  const closed = state.closedSinceBase();
  if (closed.every((entries) => entries.length === 0)) return { ...manifest, absorbed };
  const merge = decideRunMerge(manifest, knobs);
  for (const run of merge.absorbed) await addRun(closed, sliceId, run, state, blobs);
  const { views } = state.image.plan;
  const encoded = encodeRun(views.map((view, index) => ({ view, entries: closed[index] ?? [] })));
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

async function addRun(
  closed: ReturnType<SliceState['closedSinceBase']>,
  sliceId: string,
  run: RunReference,
  state: SliceState,
  blobs: BlobStores,
): Promise<void> {
  const bytes = await readBlob(blobs, sliceId, run);
  const reader = new RunReader(sliceId, run, async (from, to) => bytes.subarray(from, to));
  let entryCount = 0;
  for (const [index, view] of state.image.plan.views.entries()) {
    const entries = await reader.entries(view);
    entryCount += entries.length;
    for (const entry of entries) closed[index]?.push(entry);
  }
  assert(entryCount === run.entryCount, 'a-merge-takes-every-entry');
}
