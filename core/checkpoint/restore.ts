/**
 * From HEAD to an image: base and chain, or only the deltas that a memory lacks. Every byte is checked before it is
 * used, and what comes out must agree with HEAD in cursor, digest and counts.
 */
import { assert } from '../assert.ts';
import type { Plan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';
import { compareRecords, type Position, START } from '../position.ts';
import { type ChangeObserver, NOTHING_COVERED, type TailCoverage } from '../state/change-tail.ts';
import { totalRecords } from '../state/counters.ts';
import { ChangeRecorder, RecentChanges } from '../state/recent-changes.ts';
import { SliceImage } from '../state/slice-image.ts';
import type { QuarantineEntry } from '../state/state-change.ts';
import { decodeBase } from './base.ts';
import {
  addBase,
  addStanding,
  coverageOf,
  type Followed,
  type OlderLinks,
  type SoundBase,
  type Standing,
} from './base-reader.ts';
import { type BlobStores, DamagedBlob, readBlob } from './blobs.ts';
import { type ChainChange, type ChainLink, continued, deltasOf, linksAfter } from './chain.ts';
import { assertFollows, type Delta, decodeDelta } from './delta.ts';
import type { Head } from './head.ts';
import { chainSince, EMPTY_MANIFEST, type Manifest } from './manifest.ts';
import { decodeMergedDelta } from './merged-delta.ts';
import { type BlobName, type BlobReference, deltaOf, sameBlob } from './names.ts';
import { OpenParts } from './open-parts.ts';
import { readInOrder } from './read-in-order.ts';

/** An image at exactly the epoch of a HEAD, with what is needed to go on from there. */
export interface Checkpoint {
  readonly image: SliceImage;
  /** Of the newest base at or before the image. */
  readonly manifest: Manifest;
  readonly parts: OpenParts;
  readonly recent: RecentChanges;
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
  const openNewest = () => decodeDelta(newestBytes, sliceId, delta);
  const openBase = () =>
    base === null || baseBytes === null ? null : decodeBase(baseBytes, sliceId, base);
  const read = async (link: ChainLink) =>
    sameBlob(link, delta) ? openNewest() : readLink(sliceId, link, stores);
  const { predecessors, merged } = openNewest();
  const chain = continued(predecessors, merged, delta);
  return byLinksOrDeltas(sliceId, chain, stores, {
    since: async () => chainSince(openBase()?.manifest ?? EMPTY_MANIFEST),
    build: (links) => buildFrom(plan, openBase(), links, read, stores),
  });
}

/** How a chain becomes a checkpoint. */
interface ChainBuild {
  /** The epoch from which on the chain is needed. */
  readonly since: () => Promise<number>;
  readonly build: (chain: readonly ChainLink[]) => Promise<Checkpoint>;
}

/** By the longest links; where a merged one may be damaged, by the deltas, which say the same. */
export async function byLinksOrDeltas(
  sliceId: string,
  chain: readonly ChainLink[],
  stores: BlobStores,
  { since, build }: ChainBuild,
): Promise<Checkpoint> {
  try {
    return await build(chain);
  } catch (fault) {
    if (!maybeOfMerged(fault, chain)) throw fault;
  }
  const deltas = await deltasSince(sliceId, deltasOf(chain), await since(), stores);
  return { ...(await build(deltas)), chain };
}

/** False where something else than a merged delta of the chain is damaged. */
function maybeOfMerged(fault: unknown, chain: readonly ChainLink[]): boolean {
  if (!(fault instanceof CorruptStateFault)) return false;
  const isOfOther = fault instanceof DamagedBlob && fault.blob.kind !== 'merged';
  return !isOfOther && chain.some(({ kind }) => kind === 'merged');
}

/** The deltas of a chain, and those before them that they name, back to an epoch. */
async function deltasSince(
  sliceId: string,
  deltas: readonly ChainLink[],
  since: number,
  stores: BlobStores,
): Promise<readonly ChainLink[]> {
  let chain = deltas;
  for (;;) {
    const first = chain.findLast((link, index) => link.after !== chain[index - 1]?.epoch);
    if (first === undefined || first.after <= since) return chain;
    const before = deltasOf((await readDelta(sliceId, first, stores)).predecessors);
    if (before.at(-1)?.epoch !== first.after) {
      throw new CorruptStateFault(
        `delta ${first.epoch} of ${sliceId} does not name the one before`,
      );
    }
    chain = [...before, ...chain.slice(chain.indexOf(first))];
  }
}

/**
 * The epoch of a chain's last delta, out of a base (null: the beginning) and the links of the chain that are needed beside it and
 * after it. The chain may begin earlier.
 */
export async function buildFrom(
  plan: Plan,
  base: SoundBase | null,
  chain: readonly ChainLink[],
  read: (link: ChainLink) => Promise<ChainChange>,
  stores: BlobStores,
): Promise<Checkpoint> {
  return build(plan, base, chain, read, (followed, older) => {
    return base === null ? undefined : addBase(followed, base, older, stores);
  });
}

/** The same without what is in parts. */
export function buildOverlay(
  plan: Plan,
  standing: Standing,
  chain: readonly ChainLink[],
  read: (link: ChainLink) => Promise<ChainChange>,
): Promise<Checkpoint> {
  return build(plan, standing, chain, read, (followed, older) => {
    return addStanding(followed, standing, older);
  });
}

async function build(
  plan: Plan,
  base: Omit<Standing, 'state'> | null,
  chain: readonly ChainLink[],
  read: (link: ChainLink) => Promise<ChainChange>,
  begin: (followed: Followed, older: OlderLinks) => Promise<void> | undefined,
): Promise<Checkpoint> {
  const image = new SliceImage(plan);
  const parts = new OpenParts(image, 0);
  const recent = new RecentChanges();
  const since = base === null ? 0 : chainSince(base.manifest);
  const links = linksAfter(chain, since);
  if (links === null) {
    throw new CorruptStateFault(
      `the chain to epoch ${chain.at(-1)?.epoch} does not lead back to epoch ${since}, where the oldest part stands`,
    );
  }
  const older = links.filter(({ epoch }) => epoch <= (base?.epoch ?? 0));
  const later = links.slice(older.length);
  const manifest = base?.manifest ?? EMPTY_MANIFEST;
  const lastOlder = older.at(-1);
  let after: BlobName | null = null;
  if (base !== null) {
    const isWhole = (later[0]?.after ?? base.epoch) >= base.epoch;
    await begin({ image, parts, recent }, { older: changesOf(older, read), isWhole });
    after = deltaOf(isWhole || lastOlder === undefined ? base.reference : lastOlder);
  }
  const baseCursor = image.progress.position;
  const from = { after, ledTo: lastOlder?.epoch ?? since };
  const changes = changesOf(later, read);
  const applied = await applyInOrder({ image, parts, recent, manifest }, from, changes);
  // A base, and what is merged, hold what the newest delta changed; only what that one quarantined is still of interest.
  const newest = chain.at(-1) as ChainLink;
  const isApplied = later.at(-1)?.kind === 'delta';
  const quarantined = isApplied ? applied : applyDelta(new SliceImage(plan), await read(newest));
  return { image, manifest, parts, recent, chain, baseCursor, quarantined };
}

/** What links say, a few of them read ahead. */
async function* changesOf<Link, Change extends ChainChange>(
  links: readonly Link[],
  read: (link: Link) => Promise<Change>,
): AsyncGenerator<Change> {
  for await (const [, change] of readInOrder(links, read)) yield change;
}

/** Brings a checkpoint forward to `head`, or builds another one. It is of no more use if this throws. */
export async function advance(
  checkpoint: Checkpoint,
  known: BlobReference | null,
  head: Head,
  stores: BlobStores,
  rebuild = restore,
): Promise<Checkpoint> {
  const { plan } = checkpoint.image;
  if (head.delta === null) return rebuild(plan, head, stores);
  if (known !== null && sameBlob(known, head.delta)) return checkpoint;
  const newest = await readDelta(head.sliceId, head.delta, stores);
  // The newest delta may name some that were collected since it was written.
  const kept = deltasOf(newest.predecessors).filter(({ epoch }) => epoch >= head.collectBelow);
  const route = decideRoute(known, head.delta, kept);
  if (route.kind !== 'deltas') return rebuild(plan, head, stores);
  const missing = kept.slice(route.after + 1);
  const { image, parts, recent } = checkpoint;
  let { manifest, baseCursor } = checkpoint;
  const deltas = changesOf([...missing, head.delta], async (name) =>
    name === head.delta ? newest : readDelta(head.sliceId, name, stores),
  );
  const followed = { image, parts, recent, manifest };
  const from = { after: known, ledTo: known?.epoch ?? 0 };
  const quarantined = await applyInOrder(followed, from, deltas, (applied) => {
    if (applied.manifest === null) return;
    manifest = applied.manifest;
    parts.adopt(manifest, image, applied.epoch);
    if (manifest.runsEpoch === applied.epoch) image.forgetLate();
    baseCursor = image.progress.position;
  });
  const chain = continued(newest.predecessors, newest.merged, head.delta);
  return finish(head, { image, manifest, parts, recent, chain, baseCursor, quarantined });
}

/** Applies changes to an image at `after`, which has all tails of epochs up to `ledTo`; what the last one quarantined. */
async function applyInOrder<Change extends ChainChange>(
  { image, parts, recent, manifest }: Pick<Checkpoint, 'image' | 'parts' | 'recent' | 'manifest'>,
  from: { readonly after: BlobName | null; readonly ledTo: number },
  changes: AsyncIterable<Change>,
  applied: (change: Change) => void = () => {},
): Promise<QuarantineEntry[]> {
  let { after, ledTo } = from;
  let quarantined: QuarantineEntry[] = [];
  for await (const change of changes) {
    after = assertFollows(after, change);
    const recorder = new ChangeRecorder(image, parts);
    quarantined = applyDelta(image, change, recorder, coverageOf(manifest, ledTo));
    ledTo = change.epoch;
    parts.follow(image, change.epoch);
    recent.add(recorder.change(change), image, change.planHash);
    applied(change);
  }
  return quarantined;
}

/** Advances an image by a change that follows it; what that quarantined. `covered`: what of its tails was read from elsewhere. */
export function applyDelta(
  image: SliceImage,
  { change, planHash, epoch, tails }: ChainChange,
  observer: ChangeObserver | null = null,
  covered: TailCoverage = NOTHING_COVERED,
): QuarantineEntry[] {
  const foreign = planHash !== image.plan.hash;
  const quarantined = image.apply(change, { foreign, epoch, tails, covered }, observer);
  change.end();
  return quarantined;
}

/** Opens what a link of a chain names. */
export async function readLink(
  sliceId: string,
  link: ChainLink,
  stores: BlobStores,
): Promise<ChainChange> {
  return decodeLink(await readBlob(stores, sliceId, link), sliceId, link);
}

export function decodeLink(bytes: Uint8Array, sliceId: string, link: ChainLink): ChainChange {
  return link.kind === 'merged'
    ? decodeMergedDelta(bytes, sliceId, link)
    : decodeDelta(bytes, sliceId, link);
}

/** True if an image has folded what HEAD says of its epoch. */
export function standsAt(head: Head, { image: { progress } }: Checkpoint): boolean {
  return (
    compareRecords(progress.position, head.cursor) === 0 &&
    progress.digest.equals(head.digest) &&
    progress.watermarkMs === head.watermarkMs &&
    progress.recordCount === head.recordCount &&
    totalRecords(progress.counts) === progress.recordCount
  );
}

/** True if it has as many entries, too. */
export function agreesWith(head: Head, checkpoint: Checkpoint): boolean {
  return (
    standsAt(head, checkpoint) &&
    (checkpoint.image.isOverlay ||
      head.planHash !== checkpoint.image.plan.hash ||
      checkpoint.image.openEntryCount === head.entryCount)
  );
}

/** Throws where a checkpoint is not what HEAD says of its epoch. */
export function finish(head: Head, checkpoint: Checkpoint): Checkpoint {
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
  const recent = new RecentChanges();
  const nothing = { manifest: EMPTY_MANIFEST, chain: [], baseCursor: START, quarantined: [] };
  return { image, parts, recent, ...nothing };
}
