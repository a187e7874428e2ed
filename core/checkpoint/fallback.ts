/**
 * The newest epoch of a slice that can be read whole, when HEAD's own cannot: damaged or lost blobs. It is looked for among
 * the blobs that are there, never below the floor.
 *
 *   base 3 ── 4 ── 5 ── base 6 (damaged) ── 7 ── 8 = HEAD      base 3 and the deltas 4 to 8 give HEAD's epoch
 *   base 3 ── 4 ── 5 (damaged) ── base 6 (damaged) ── 7 ── 8   epoch 4 is the newest that is sound
 *
 * A delta under a name of its own may be of a commit that never was. But every delta, orphan or not, was built on a HEAD: the
 * epochs that it names before itself are epochs that were. Those, and the ones that HEAD names, are the candidates.
 */
import type { Plan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';
import type { BlobStore } from '../ports.ts';
import { type Base, decodeBase } from './base.ts';
import { type BlobStores, blobNames, DamagedBlob, openBlob, referenceOf } from './blobs.ts';
import { type ChainLink, continued, deltasOf, linksAfter, linkTo } from './chain.ts';
import { type DeltaHeader, decodeDelta } from './delta.ts';
import type { Head } from './head.ts';
import { chainSince, type Manifest, packsOf } from './manifest.ts';
import { type BlobName, type BlobReference, blobKey, deltaOf } from './names.ts';
import { buildFrom, type Checkpoint, emptyCheckpoint, readDelta, readLink } from './restore.ts';

/** An epoch that was read whole. */
export interface SoundEpoch {
  readonly checkpoint: Checkpoint;
  readonly base: BlobReference | null;
  /** The epoch's number: 0 is the state before the first record. */
  readonly epoch: number;
}

/**
 * Sound epochs, the newest first: as long as the caller finds one unfit, the next is read. Those of the plan itself come
 * before all others: an epoch of another plan, which a rollback left or a change of plan came from, lacks views that they have.
 */
export async function* soundEpochs(
  plan: Plan,
  head: Head,
  stores: BlobStores,
): AsyncGenerator<SoundEpoch> {
  const { sliceId, collectBelow } = head;
  const history = await readHistory(head, stores);
  const isOwn = (name: BlobName) =>
    history.deltas.get(blobKey(sliceId, name))?.planHash === plan.hash;
  const damage = new KnownDamage(sliceId);
  const own = history.candidates.filter(isOwn);
  const others = history.candidates.filter((name) => !isOwn(name));
  for (const candidate of [...own, ...others]) {
    const sound =
      (await readEpoch(plan, candidate, history.deltas, damage, stores)) ??
      (await readByLinks(plan, candidate, history.deltas, damage, stores));
    // One that deltas below the floor lead to, whose base is lost, goes with the next collection.
    if (sound !== null && chainSince(sound.checkpoint.manifest) >= collectBelow) yield sound;
  }
  if (collectBelow === 0) yield { checkpoint: emptyCheckpoint(plan), base: null, epoch: 0 };
}

interface Known
  extends Pick<DeltaHeader, 'planHash' | 'predecessors' | 'merged' | 'base' | 'manifest'> {
  readonly reference: BlobReference;
}

/** Deltas that are read at once: a fallback has to fit into an invocation. */
const READ_AT_ONCE = 32;

interface History {
  /** Epochs that were, the newest first. */
  readonly candidates: readonly BlobReference[];
  /** Of each delta that can be read, by key. */
  readonly deltas: ReadonlyMap<string, Known>;
}

async function readHistory(head: Head, stores: BlobStores): Promise<History> {
  const { sliceId, collectBelow } = head;
  const deltas = new Map<string, Known>();
  const candidates = new Map<string, BlobReference>();
  if (head.delta !== null) candidates.set(blobKey(sliceId, head.delta), head.delta);
  const learn = (known: Known) => {
    deltas.set(blobKey(sliceId, known.reference), known);
    for (const before of deltasOf(known.predecessors)) {
      if (before.epoch >= collectBelow) candidates.set(blobKey(sliceId, before), before);
    }
  };
  for (const store of [stores.items, stores.objects]) {
    const names: BlobName[] = [];
    for await (const name of blobNames(store, sliceId, 'delta')) {
      if (name.epoch >= collectBelow && name.epoch <= head.epoch + 1) names.push(name);
    }
    for (let at = 0; at < names.length; at += READ_AT_ONCE) {
      const some = names.slice(at, at + READ_AT_ONCE);
      const read = await Promise.all(some.map((name) => readKnown(store, sliceId, name, stores)));
      for (const known of read) if (known !== null) learn(known);
    }
  }
  // HEAD's base names the delta that was written with it.
  const ofBase = head.base === null ? undefined : deltas.get(blobKey(sliceId, deltaOf(head.base)));
  if (ofBase !== undefined) candidates.set(blobKey(sliceId, ofBase.reference), ofBase.reference);
  const newestFirst = [...candidates.values()].sort((a, b) => b.epoch - a.epoch);
  return { candidates: newestFirst, deltas };
}

async function readKnown(
  store: BlobStore,
  sliceId: string,
  name: BlobName,
  stores: BlobStores,
): Promise<Known | null> {
  const place = store === stores.items ? 'item' : 'object';
  return orNull(() =>
    openBlob(store, blobKey(sliceId, name), (bytes) => {
      const reference = referenceOf(name, place, bytes);
      const delta = decodeDelta(bytes, sliceId, reference);
      const { planHash, predecessors, merged, base, manifest } = delta;
      return { reference, planHash, predecessors, merged, base, manifest };
    }),
  );
}

/** Back to the nearest base that can be read whole, or to the first epoch; then forward. Null if anything on the way is damaged. */
async function readEpoch(
  plan: Plan,
  candidate: BlobReference,
  deltas: ReadonlyMap<string, Known>,
  damage: KnownDamage,
  stores: BlobStores,
): Promise<SoundEpoch | null> {
  const { sliceId } = damage;
  const history: ChainLink[] = [];
  for (let at: BlobReference | null = candidate; at !== null; ) {
    const known = deltas.get(blobKey(sliceId, at));
    if (known === undefined) break;
    history.push(linkTo(known.predecessors, at));
    at = known.predecessors.at(-1) ?? null;
  }
  history.reverse();
  for (let index = history.length - 1; index >= 0; index--) {
    const delta = history[index] as BlobReference;
    const manifest = deltas.get(blobKey(sliceId, delta))?.manifest ?? null;
    const needed = [baseOf(delta), ...(manifest === null ? [] : packsOf(manifest))];
    if (manifest === null || damage.has([...needed, ...after(history, manifest)])) continue;
    const base = await openBase(sliceId, delta, stores);
    if (base === null) damage.note(baseOf(delta));
    const sound = base === null ? null : await readFrom(plan, base, history, damage, stores);
    if (sound !== null) return sound;
  }
  const first = history[0];
  const isFromTheStart =
    first !== undefined && deltas.get(blobKey(sliceId, first))?.predecessors.length === 0;
  if (!isFromTheStart || damage.has(history)) return null;
  return readFrom(plan, null, history, damage, stores);
}

function after(history: readonly ChainLink[], manifest: Manifest): ChainLink[] {
  const since = chainSince(manifest);
  return history.filter(({ epoch }) => epoch > since);
}

/** Blobs that cannot be read, so that what needs one of them is not read again for each epoch. */
class KnownDamage {
  readonly sliceId: string;
  readonly #times = new Map<string, number>();

  constructor(sliceId: string) {
    this.sliceId = sliceId;
  }

  has(blobs: readonly BlobName[]): boolean {
    return blobs.some((blob) => (this.#times.get(blobKey(this.sliceId, blob)) ?? 0) >= NOTED_MIN);
  }

  note(blob: BlobName): void {
    const key = blobKey(this.sliceId, blob);
    this.#times.set(key, (this.#times.get(key) ?? 0) + 1);
  }
}

/** The first time, a blob may only have come badly. */
const NOTED_MIN = 2;

/** By the base and the links that the epoch's own delta names, where one of the deltas that it has merged is damaged. */
async function readByLinks(
  plan: Plan,
  candidate: BlobReference,
  deltas: ReadonlyMap<string, Known>,
  damage: KnownDamage,
  stores: BlobStores,
): Promise<SoundEpoch | null> {
  const { sliceId } = damage;
  const known = deltas.get(blobKey(sliceId, candidate));
  if (known === undefined) return null;
  const chain = continued(known.predecessors, known.merged, candidate);
  if (chain.every(({ kind }) => kind === 'delta')) return null;
  if (known.base !== null && damage.has([known.base])) return null;
  const base = known.base === null ? null : await openBase(sliceId, deltaOf(known.base), stores);
  if (known.base !== null && base === null) return null;
  const links = linksAfter(chain, base === null ? 0 : chainSince(base.manifest));
  const packs = base === null ? [] : packsOf(base.manifest);
  if (links === null || damage.has([...packs, ...links])) return null;
  return soundOrNull(damage, async () => {
    const read = (link: ChainLink) => readLink(sliceId, link, stores);
    const checkpoint = await buildFrom(plan, base, chain, read, stores);
    return { checkpoint, base: known.base, epoch: candidate.epoch };
  });
}

/** The epoch of the history's last delta from a base on (null: from the first epoch); null if something that it takes is damaged. */
async function readFrom(
  plan: Plan,
  base: Base | null,
  history: readonly ChainLink[],
  damage: KnownDamage,
  stores: BlobStores,
): Promise<SoundEpoch | null> {
  const begin = base === null ? 0 : Math.min(chainSince(base.manifest) + 1, base.epoch);
  const chain = history.filter(({ epoch }) => epoch >= begin);
  const read = (name: BlobReference) => readDelta(damage.sliceId, name, stores);
  return soundOrNull(damage, async () => {
    const checkpoint = await buildFrom(plan, base, chain, read, stores);
    const { epoch } = chain.at(-1) as BlobReference;
    return { checkpoint, base: base?.reference ?? null, epoch };
  });
}

async function soundOrNull(
  damage: KnownDamage,
  build: () => Promise<SoundEpoch>,
): Promise<SoundEpoch | null> {
  try {
    return await build();
  } catch (fault) {
    if (!(fault instanceof CorruptStateFault)) throw fault;
    if (fault instanceof DamagedBlob) damage.note(fault.blob);
    return null;
  }
}

function baseOf(delta: BlobName): BlobName {
  return { ...delta, kind: 'base' };
}

/** The base that was written with a delta. */
async function openBase(
  sliceId: string,
  delta: BlobName,
  stores: BlobStores,
): Promise<Base | null> {
  const name = baseOf(delta);
  return orNull(() =>
    openBlob(stores.objects, blobKey(sliceId, name), (bytes) =>
      decodeBase(bytes, sliceId, referenceOf(name, 'object', bytes)),
    ),
  );
}

async function orNull<T>(read: () => Promise<T | null>): Promise<T | null> {
  try {
    return await read();
  } catch (fault) {
    if (fault instanceof CorruptStateFault) return null;
    throw fault;
  }
}
