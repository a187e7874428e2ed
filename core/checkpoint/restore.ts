/**
 * From HEAD to an image: base and chain, or only the deltas that a memory lacks. Every byte is checked before it is
 * used, and what comes out must agree with HEAD in cursor, digest and counts.
 */
import { assert } from '../assert.ts';
import type { Plan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';
import { comparePositions } from '../position.ts';
import { totalRecords } from '../state/counters.ts';
import { SliceImage } from '../state/slice-image.ts';
import type { QuarantineEntry } from '../state/state-change.ts';
import { decodeBase } from './base.ts';
import { type BlobStores, readBlob } from './blobs.ts';
import { type Delta, decodeDelta } from './delta.ts';
import type { Head } from './head.ts';
import { EMPTY_MANIFEST, type Manifest } from './manifest.ts';
import { type BlobReference, sameBlob } from './names.ts';

/** An image at exactly the epoch of a HEAD, with what is needed to go on from there. */
export interface Checkpoint {
  readonly image: SliceImage;
  /** Of the newest base at or before the image. */
  readonly manifest: Manifest;
  /** The deltas that the next one names, the newest last. */
  readonly chain: readonly BlobReference[];
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
  predecessors: readonly BlobReference[],
): Route {
  if (known === null || newest === null) return { kind: 'base' };
  if (sameBlob(known, newest)) return { kind: 'current' };
  const after = predecessors.findIndex((reference) => sameBlob(reference, known));
  return after < 0 ? { kind: 'base' } : { kind: 'deltas', after };
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
  const [newest, baseBytes] = await Promise.all([
    readDelta(sliceId, delta, stores),
    base === null ? null : readBlob(stores, sliceId, base),
  ]);
  const image = new SliceImage(plan);
  let manifest = EMPTY_MANIFEST;
  if (base !== null && baseBytes !== null) {
    const opened = decodeBase(baseBytes, sliceId, base);
    image.apply(opened.state);
    opened.state.end();
    manifest = opened.manifest;
  }
  const chain = [...newest.predecessors, delta];
  if (base?.epoch === delta.epoch) {
    // The base holds what its own delta changed; only what that delta quarantined is still of interest.
    const quarantined = applyDelta(new SliceImage(plan), newest);
    return { image, manifest, chain, quarantined };
  }
  const baseEpoch = base?.epoch ?? 0;
  const missing = newest.predecessors.filter(({ epoch }) => epoch > baseEpoch);
  assertWhole(sliceId, baseEpoch, missing, newest);
  const quarantined = await applyDeltas(image, sliceId, missing, newest, stores);
  return { image, manifest, chain, quarantined };
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
  const kept = newest.predecessors.filter(({ epoch }) => epoch >= head.collectBelow);
  const route = decideRoute(known, head.delta, kept);
  if (route.kind !== 'deltas') return restore(plan, head, stores);
  const missing = kept.slice(route.after + 1);
  assertWhole(head.sliceId, (known as BlobReference).epoch, missing, newest);
  const { image } = checkpoint;
  let { manifest } = checkpoint;
  const { sliceId } = head;
  const quarantined = await applyDeltas(image, sliceId, missing, newest, stores, (applied) => {
    if (applied.manifest === null) return;
    image.forgetClosed();
    manifest = applied.manifest;
  });
  const chain = [...newest.predecessors, head.delta];
  return finish(head, { image, manifest, chain, quarantined });
}

/** Applies the missing deltas and the newest one; what the newest quarantined. */
async function applyDeltas(
  image: SliceImage,
  sliceId: string,
  missing: readonly BlobReference[],
  newest: Delta,
  stores: BlobStores,
  applied: (delta: Delta) => void = () => {},
): Promise<QuarantineEntry[]> {
  const deltas = await Promise.all(missing.map((name) => readDelta(sliceId, name, stores)));
  for (const delta of deltas) {
    applyDelta(image, delta);
    applied(delta);
  }
  const quarantined = applyDelta(image, newest);
  applied(newest);
  return quarantined;
}

/** Each delta names all before it: one that is left out would go unnoticed, as each carries totals. */
function assertWhole(
  sliceId: string,
  afterEpoch: number,
  missing: readonly BlobReference[],
  newest: Delta,
): void {
  const chain = [...missing, newest];
  const isWhole = chain.every(
    ({ epoch, timeline }, index) =>
      timeline === newest.timeline && epoch === afterEpoch + 1 + index,
  );
  if (isWhole) return;
  throw new CorruptStateFault(
    `the chain of ${sliceId} after epoch ${afterEpoch} is ${chain.map(({ epoch }) => epoch).join(', ')}: it leaves one out`,
  );
}

function applyDelta(image: SliceImage, delta: Delta): QuarantineEntry[] {
  const quarantined = image.apply(delta.change);
  delta.change.end();
  return quarantined;
}

function finish(head: Head, checkpoint: Checkpoint): Checkpoint {
  const { progress } = checkpoint.image;
  const { sliceId, epoch } = head;
  const agrees =
    comparePositions(progress.position, head.cursor) === 0 &&
    progress.digest.equals(head.digest) &&
    progress.watermarkMs === head.watermarkMs &&
    totalRecords(progress.counts) === progress.digest.count &&
    checkpoint.image.entryCount === head.entryCount;
  if (!agrees) {
    const found = progress.digest.value();
    const expected = head.digest.value();
    throw new CorruptStateFault(
      `what is stored for epoch ${epoch} of ${sliceId} does not add up to HEAD: digest ${found.sum} of ${found.count} records and ${checkpoint.image.entryCount} entries, expected ${expected.sum} of ${expected.count} and ${head.entryCount}`,
    );
  }
  assert(checkpoint.chain.length > 0, 'a-checkpoint-has-a-delta');
  return checkpoint;
}

async function readDelta(
  sliceId: string,
  reference: BlobReference,
  stores: BlobStores,
): Promise<Delta> {
  return decodeDelta(await readBlob(stores, sliceId, reference), sliceId, reference);
}

function emptyCheckpoint(plan: Plan): Checkpoint {
  return { image: new SliceImage(plan), manifest: EMPTY_MANIFEST, chain: [], quarantined: [] };
}
