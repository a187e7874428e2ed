/**
 * From a base to the image at its epoch: the parts that it lists, and the deltas before it that say more than they do. What
 * comes out has as many entries as the base says. An overlay leaves the parts where they are, and holds what they do not say.
 */
import { ByteReader } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import type { TailCoverage } from '../state/change-tail.ts';
import { addOlderChange, addPart, viewOfLife } from '../state/part-entries.ts';
import { ChangeRecorder, type RecentChanges } from '../state/recent-changes.ts';
import type { SliceImage } from '../state/slice-image.ts';
import type { StoredView } from '../state/view-life.ts';
import type { Base } from './base.ts';
import type { BlobStores } from './blobs.ts';
import type { ChainChange } from './chain.ts';
import { assertFollows } from './delta.ts';
import { chainSince, type Manifest, type PackedBytes } from './manifest.ts';
import { type BlobName, deltaOf, sameBlob } from './names.ts';
import type { OpenParts } from './open-parts.ts';
import { isSound, readPart } from './part-reader.ts';
import { readInOrder } from './read-in-order.ts';

/** Into an image that holds nothing yet. `older`: the deltas after the oldest part, up to the base's own. */
export async function addBase(
  { image, parts: open, recent }: Followed,
  base: SoundBase,
  older: OlderLinks,
  stores: BlobStores,
): Promise<void> {
  const { manifest, epoch, planHash } = base;
  const isForeign = planHash !== image.plan.hash;
  image.apply(base.state, { foreign: isForeign, epoch });
  base.state.end();
  open.adopt(manifest, image, epoch);
  const read = ({ bytes }: { readonly bytes: PackedBytes | null }) =>
    readPacked(base, bytes as PackedBytes, stores);
  const wanted = manifest.parts.filter(({ bytes, layout }) => {
    return bytes !== null && viewOfLife(image, manifest.layouts[layout] as StoredView) >= 0;
  });
  const room = reserved(image, open);
  for await (const [{ layout, entryCount, from }, bytes] of readInOrder(wanted, read)) {
    const stored = manifest.layouts[layout] as StoredView;
    const found = addPart(image, stored, bytes, from, room[viewOfLife(image, stored)]);
    if (found !== entryCount) throw differs(base, `a part has ${found} entries`, entryCount);
  }
  const idParts = image.wantsIds ? manifest.ids.parts : [];
  for await (const [{ entryCount, newestMs, until }, bytes] of readInOrder(idParts, read)) {
    const reader = new ByteReader(bytes);
    const found = image.dedupeIds.decode(reader, entryCount, image.expiredMs);
    reader.end();
    if (found.newestMs !== newestMs) throw differs(base, `ids up to ${found.newestMs}`, newestMs);
    open.ids.follow(image, until);
  }
  open.ids.follow(image, manifest.ids.until);
  await addOlder({ image, parts: open, recent }, base, older);
  const { keptEntryCount } = image;
  const { entryCount } = base;
  const isCounted = older.isWhole && !isForeign && entryCount !== null;
  if (isCounted && keptEntryCount !== entryCount) {
    throw differs(base, `its parts and deltas give ${keptEntryCount} entries`, entryCount);
  }
}

/** A base whose parts can be read. Without those that cannot, there are fewer entries than it says: null. */
export interface SoundBase extends Omit<Base, 'entryCount'> {
  readonly entryCount: number | null;
}

/** What an epoch that has a base says of it without its parts: the base itself, or the delta that it was written with. */
export interface Standing extends Pick<Base, 'sliceId' | 'epoch' | 'planHash' | 'manifest'> {
  readonly reference: BlobName;
  /** At the first byte of the change. */
  readonly state: ByteReader;
}

/** The same into an overlay. */
export async function addStanding(
  followed: Followed,
  standing: Standing,
  older: OlderLinks,
): Promise<void> {
  const { manifest, epoch, planHash, state } = standing;
  const { image, parts } = followed;
  image.apply(state, { foreign: planHash !== image.plan.hash, epoch, begins: true });
  state.end();
  parts.adopt(manifest, image, epoch);
  await addOlder(followed, standing, older);
}

/** Adds what links up to a base say beyond its parts: they begin where the oldest part stands, and lead to the base's own delta. */
async function addOlder(
  { image, parts: open, recent }: Followed,
  standing: Omit<Standing, 'state'>,
  { older, isWhole }: OlderLinks,
): Promise<void> {
  const { manifest, epoch, reference } = standing;
  const since = chainSince(manifest);
  let ledTo = 0;
  let before: BlobName | null = null;
  for await (const change of older) {
    if (isWhole) {
      if (before === null && (change.before?.epoch ?? 0) > since) throw lacksOlder(standing);
      before = assertFollows(before ?? change.before, change);
    }
    const covered = {
      ...coverageOf(manifest, ledTo),
      hasEntry: (view: number, windowStartMs: number, key: Uint8Array) =>
        open.partOf(view, windowStartMs, key).epoch >= change.epoch,
    };
    const recorder = new ChangeRecorder(image, open);
    addOlderChange(image, change, covered, recorder);
    if (change.epoch > manifest.ids.until) open.ids.follow(image, change.epoch);
    recent.add(recorder.change(change), image, change.planHash);
    ledTo = change.epoch;
  }
  if (!isWhole || since === epoch) return;
  if (before === null || !sameBlob(before, deltaOf(reference))) throw lacksOlder(standing);
}

/**
 * Makes room for all entries that parts have. By view, how many keys a window has at most in which several parts begin: the one
 * before these and the last of them may have other windows too.
 */
function reserved(image: SliceImage, { views }: OpenParts): Map<number, number>[] {
  return views.map((parts, view) => {
    image.tables[view]?.reserve(parts.reduce((sum, { entryCount }) => sum + entryCount, 0));
    const room = new Map<number, number>();
    for (const [index, { from, entryCount }] of parts.entries()) {
      const startMs = from?.windowStartMs;
      const before = parts[index - 1];
      if (startMs === undefined || before?.from?.windowStartMs !== startMs) continue;
      const known = room.get(startMs) ?? before.entryCount + (parts[index - 2]?.entryCount ?? 0);
      room.set(startMs, known + entryCount);
    }
    return room;
  });
}

/** What follows a chain. */
export interface Followed {
  readonly image: SliceImage;
  readonly parts: OpenParts;
  readonly recent: RecentChanges;
}

/** What is needed of a chain up to a base's epoch. */
export interface OlderLinks {
  /** Each is read when its turn comes. */
  readonly older: AsyncIterable<ChainChange>;
  /** False where a link that leads on beyond the base says the rest. */
  readonly isWhole: boolean;
}

/** What of tails a manifest has, or a link that led to an epoch: the next may begin earlier. */
export function coverageOf(
  { runsEpoch, ids }: Pick<Manifest, 'runsEpoch' | 'ids'>,
  ledTo: number,
): TailCoverage {
  return { lateUntil: Math.max(runsEpoch, ledTo), idsUntil: Math.max(ids.until, ledTo) };
}

/** Bytes of a part: the base has those of its own already. */
export async function readPacked(
  { bytes, reference, sliceId }: SoundBase,
  part: PackedBytes,
  stores: BlobStores,
): Promise<Uint8Array> {
  if (sameBlob(part.pack, reference)) {
    const own = bytes.subarray(part.offset, part.offset + part.byteLength);
    if (isSound(own, part)) return own;
  }
  return readPart(sliceId, part, stores);
}

function lacksOlder({ manifest, epoch, sliceId }: Omit<Standing, 'state'>): CorruptStateFault {
  return new CorruptStateFault(
    `base ${epoch} of ${sliceId} needs the deltas after epoch ${chainSince(manifest)}, and they are not whole`,
  );
}

function differs(
  { epoch, sliceId }: SoundBase,
  found: string,
  expected: number,
): CorruptStateFault {
  return new CorruptStateFault(`base ${epoch} of ${sliceId}: ${found}, not ${expected}`);
}
