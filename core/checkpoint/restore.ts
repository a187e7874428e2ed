/**
 * From HEAD to an image: base and chain, or only the deltas that a memory lacks. Every byte is checked before it is
 * used, and what comes out must agree with HEAD in cursor, digest and counts.
 */
import { assert } from '../assert.ts';
import type { Plan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';
import { compareRecords, type Position, START } from '../position.ts';
import { totalRecords } from '../state/counters.ts';
import { SliceImage } from '../state/slice-image.ts';
import type { QuarantineEntry } from '../state/state-change.ts';
import { type Base, decodeBase } from './base.ts';
import { addBase } from './base-reader.ts';
import { type BlobStores, readBlob } from './blobs.ts';
import { type ChainLink, deltasOf, linksAfter, linkTo } from './chain.ts';
import { assertLinked, type Delta, decodeDelta } from './delta.ts';
import type { Head } from './head.ts';
import { chainSince, EMPTY_MANIFEST, type Manifest } from './manifest.ts';
import { type BlobName, type BlobReference, deltaOf, sameBlob } from './names.ts';
import { OpenParts } from './open-parts.ts';

/** An image at exactly the epoch of a HEAD, with what is needed to go on from there. */
export interface Checkpoint {
  readonly image: SliceImage;
  /** Of the newest base at or before the image. */
  readonly manifest: Manifest;
  readonly parts: OpenParts;
  /** What the next delta names, the newest delta last. */
  readonly chain: readonly ChainLink[];
  /** Where that base stands; START without one. */
  readonly baseCursor: Position;
  /** What the newest delta quarantined: its index entries may not be written yet. */
  readonly quarantined: readonly QuarantineEntry[];
}

/** How a memory at `known` (null: none) comes to the epoch of a HEAD. */
export type Route =
  | { readonly kind: 'current' }
  | { readonly kind: 'deltas'; readonly after: number }
  | { readonly kind: 'base' };

export function decideRoute(
  known: BlobReference | null,
  newest: BlobReference | null,
  predecessors: readonly ChainLink[],
): Route {
  if (known === null || newest === null) return { kind: 'base' };
  if (sameBlob(known, newest)) return { kind: 'current' };
  // After a rewind HEAD's base may be older than the one whose runs and parts the memory goes by.
  if (known.timeline !== newest.timeline) return { kind: 'base' };
  const after = predecessors.findIndex((reference) => sameBlob(reference, known));
  const isWhole = predecessors.every((link, index) => {
    return index <= after || link.after === predecessors[index - 1]?.epoch;
  });
  return after < 0 || !isWhole ? { kind: 'base' } : { kind: 'deltas', after };
}

/** Builds the image of `head` from the store alone. */
export async function restore(plan: Plan, head: Head, stores: BlobStores): Promise<Checkpoint> {
  const checkpoint = await load(plan, head, stores);
  return head.delta === null ? checkpoint : finish(head, checkpoint);
}

/** What names an epoch of a slice that was current once: enough to load it for as long as retention keeps it. */
export type EpochReference = Pick<Head, 'sliceId' | 'base' | 'delta'>;

/** Builds the image of an epoch, checked against the references' checksums only. */
export async function load(
  plan: Plan,
  epoch: EpochReference,
  stores: BlobStores,
): Promise<Checkpoint> {
  const { sliceId, base, delta } = epoch;
  if (delta === null) return emptyCheckpoint(plan);
  const [newestBytes, baseBytes] = await Promise.all([
    readBlob(stores, sliceId, delta),
    base === null ? null : readBlob(stores, sliceId, base),
  ]);
  const newest = decodeDelta(newestBytes, sliceId, delta);
  const opened = base === null || baseBytes === null ? null : decodeBase(baseBytes, sliceId, base);
  const chain = [...newest.predecessors, linkTo(newest.predecessors, delta)];
  const read = async (name: BlobReference) =>
    sameBlob(name, delta)
      ? decodeDelta(newestBytes, sliceId, delta)
      : readDelta(sliceId, name, stores);
  return buildFrom(plan, opened, chain, read, stores);
}

/**
 * The epoch of a chain's last delta, out of a base (null: the beginning) and the deltas of the chain that are needed beside it and
 * after it. The chain may begin earlier.
 */
export async function buildFrom(
  plan: Plan,
  base: Base | null,
  chain: readonly ChainLink[],
  read: (delta: BlobReference) => Promise<Delta>,
  stores: BlobStores,
): Promise<Checkpoint> {
  const image = new SliceImage(plan);
  const parts = new OpenParts(image, 0);
  const links = linksAfter(chain, base === null ? 0 : chainSince(base.manifest));
  if (links === null) {
    throw new CorruptStateFault(`the chain to epoch ${chain.at(-1)?.epoch} is not whole`);
  }
  const older = links.filter(({ epoch }) => epoch <= (base?.epoch ?? 0));
  const later = links.filter(({ epoch }) => epoch > (base?.epoch ?? 0));
  const deltas = await Promise.all([...older, ...later].map(read));
  if (base !== null) await addBase(image, parts, base, deltas.slice(0, older.length), stores);
  const manifest = base?.manifest ?? EMPTY_MANIFEST;
  const baseCursor = image.progress.position;
  const after = base === null ? null : deltaOf(base.reference);
  const applied = applyInOrder(image, parts, after, deltas.slice(older.length));
  // The base holds what its own delta changed; only what that delta quarantined is still of interest.
  const quarantined =
    later.length === 0 ? quarantinedIn(plan, await read(chain.at(-1) as BlobReference)) : applied;
  return { image, manifest, parts, chain, baseCursor, quarantined };
}

/** Brings a checkpoint forward to `head`. The checkpoint is of no more use if this throws. */
export async function advance(
  checkpoint: Checkpoint,
  known: BlobReference | null,
  head: Head,
  stores: BlobStores,
): Promise<Checkpoint> {
  const { plan } = checkpoint.image;
  if (head.delta === null) return restore(plan, head, stores);
  if (known !== null && sameBlob(known, head.delta)) return checkpoint;
  const newest = await readDelta(head.sliceId, head.delta, stores);
  // The newest delta may name some that were collected since it was written.
  const kept = deltasOf(newest.predecessors).filter(({ epoch }) => epoch >= head.collectBelow);
  const route = decideRoute(known, head.delta, kept);
  if (route.kind !== 'deltas') return restore(plan, head, stores);
  const missing = kept.slice(route.after + 1);
  const { image, parts } = checkpoint;
  let { manifest, baseCursor } = checkpoint;
  const deltas = await Promise.all(missing.map((name) => readDelta(head.sliceId, name, stores)));
  const quarantined = applyInOrder(image, parts, known, [...deltas, newest], (applied) => {
    if (applied.manifest === null) return;
    manifest = applied.manifest;
    parts.adopt(manifest, image, applied.epoch);
    if (manifest.runsEpoch === applied.epoch) image.forgetLate();
    baseCursor = image.progress.position;
  });
  const chain = [...newest.predecessors, linkTo(newest.predecessors, head.delta)];
  return finish(head, { image, manifest, parts, chain, baseCursor, quarantined });
}

/** Applies deltas to an image at `after`; what the last one quarantined. */
function applyInOrder(
  image: SliceImage,
  parts: OpenParts,
  after: BlobName | null,
  deltas: readonly Delta[],
  applied: (delta: Delta) => void = () => {},
): QuarantineEntry[] {
  assertLinked(after, deltas);
  let quarantined: QuarantineEntry[] = [];
  for (const delta of deltas) {
    quarantined = applyDelta(image, delta, parts);
    parts.follow(image, delta.epoch);
    applied(delta);
  }
  return quarantined;
}

/** What a delta quarantined, where the base that was written with it holds all else. */
function quarantinedIn(plan: Plan, delta: Delta): QuarantineEntry[] {
  return applyDelta(new SliceImage(plan), delta);
}

/** Advances an image by the delta that follows it; what that quarantined. `parts` takes note of what it says of their ranges. */
export function applyDelta(
  image: SliceImage,
  delta: Delta,
  parts: OpenParts | null = null,
): QuarantineEntry[] {
  const foreign = delta.planHash !== image.plan.hash;
  const quarantined = image.apply(delta.change, { foreign, epoch: delta.epoch }, parts);
  delta.change.end();
  return quarantined;
}

/** True if an image is what HEAD says of its epoch. */
export function agreesWith(head: Head, checkpoint: Checkpoint): boolean {
  const { progress } = checkpoint.image;
  return (
    compareRecords(progress.position, head.cursor) === 0 &&
    progress.digest.equals(head.digest) &&
    progress.watermarkMs === head.watermarkMs &&
    progress.recordCount === head.recordCount &&
    totalRecords(progress.counts) === progress.recordCount &&
    (head.planHash !== checkpoint.image.plan.hash ||
      checkpoint.image.openEntryCount === head.entryCount)
  );
}

function finish(head: Head, checkpoint: Checkpoint): Checkpoint {
  const { progress } = checkpoint.image;
  const { sliceId, epoch } = head;
  if (!agreesWith(head, checkpoint)) {
    const found = progress.digest.value();
    const expected = head.digest.value();
    throw new CorruptStateFault(
      `what is stored for epoch ${epoch} of ${sliceId} does not add up to HEAD: digest ${found.sum} of ${found.count} Kinesis records with ${progress.recordCount} records and ${checkpoint.image.openEntryCount} entries, expected ${expected.sum} of ${expected.count} with ${head.recordCount} and ${head.entryCount}`,
    );
  }
  assert(checkpoint.chain.length > 0, 'a-checkpoint-has-a-delta');
  return checkpoint;
}

export async function readDelta(
  sliceId: string,
  reference: BlobReference,
  stores: BlobStores,
): Promise<Delta> {
  return decodeDelta(await readBlob(stores, sliceId, reference), sliceId, reference);
}

/** Of a slice that has folded nothing. */
export function emptyCheckpoint(plan: Plan): Checkpoint {
  const image = new SliceImage(plan);
  const parts = new OpenParts(image, 0);
  return { image, manifest: EMPTY_MANIFEST, parts, chain: [], baseCursor: START, quarantined: [] };
}
