/**
 * Going on without parts that cannot be read any more, where no epoch that is kept can do without them: a part that was never
 * written again exists once. Its range is *lost* from then on: what deltas since the oldest part have said of it is exact, all else
 * is missing, and answers say so.
 *
 * Invariant: what is left out is in a lost range. Ids are never left out: without them records would count twice.
 */

import { windowSpan } from '../definition/kinds/window-kinds.ts';
import type { Plan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';
import { REDRIVEN_AHEAD_MS_MAX } from '../limits.ts';
import type { SliceImage } from '../state/slice-image.ts';
import { isSameLife, type StoredView } from '../state/view-life.ts';
import { type Base, decodeBase } from './base.ts';
import { readPacked, type SoundBase } from './base-reader.ts';
import { type BlobStores, readBlob } from './blobs.ts';
import { type ChainLink, continued } from './chain.ts';
import type { Head } from './head.ts';
import {
  chainSince,
  type LostRange,
  type LostRows,
  type Manifest,
  type PartReference,
} from './manifest.ts';
import type { OpenParts } from './open-parts.ts';
import { readInOrder } from './read-in-order.ts';
import {
  buildFrom,
  byLinksOrDeltas,
  type Checkpoint,
  readDelta,
  readLink,
  standsAt,
} from './restore.ts';

/** Each of two reads: what comes badly now and then is not given up. */
const ATTEMPTS = 8;

export interface WithoutLost {
  readonly checkpoint: Checkpoint;
  readonly partCount: number;
}

/** HEAD's epoch without the parts that cannot be read; null where that is not what is wrong with it. */
export async function loadWithoutLost(
  plan: Plan,
  head: Head,
  stores: BlobStores,
): Promise<WithoutLost | null> {
  const { sliceId, base: reference, delta } = head;
  if (reference === null || delta === null) return null;
  const newest = await readDelta(sliceId, delta, stores);
  const bytes = await readBlob(stores, sliceId, reference);
  const openBase = () => decodeBase(bytes, sliceId, reference);
  const base = openBase();
  const { manifest } = base;
  const lost = await unreadableParts(base, stores);
  if (lost.size === 0) return null;
  const chain = continued(newest.predecessors, newest.merged, delta);
  const read = (link: ChainLink) => readLink(sliceId, link, stores);
  const without = withoutParts(manifest, lost);
  const checkpoint = await byLinksOrDeltas(sliceId, chain, stores, {
    since: async () => chainSince(manifest),
    build: (links) => {
      const sound: SoundBase = { ...openBase(), manifest: without, entryCount: null };
      return buildFrom(plan, sound, links, read, stores);
    },
  });
  if (!standsAt(head, checkpoint)) return null;
  boundLost(checkpoint.parts, checkpoint.image, manifest.lost);
  return { checkpoint, partCount: lost.size };
}

/** Of entries: what of the ids cannot be read is met again, and no epoch does without it. */
async function unreadableParts(base: Base, stores: BlobStores): Promise<Set<PartReference>> {
  const lost = new Set<PartReference>();
  const stored = base.manifest.parts.filter(({ bytes }) => bytes !== null);
  const read = async (part: PartReference): Promise<Uint8Array> => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      try {
        return await readPacked(base, part.bytes as NonNullable<PartReference['bytes']>, stores);
      } catch (fault) {
        if (!(fault instanceof CorruptStateFault)) throw fault;
      }
    }
    lost.add(part);
    return new Uint8Array();
  };
  for await (const _ of readInOrder(stored, read));
  return lost;
}

/** The range of a part that is lost holds what the deltas since the oldest part say. */
function withoutParts(manifest: Manifest, lost: ReadonlySet<PartReference>): Manifest {
  const since = chainSince(manifest);
  const { layouts, parts } = manifest;
  const ranges = parts.flatMap((part, index): LostRange[] => {
    const { layout, from, bytes } = part;
    if (!lost.has(part) || bytes === null) return [];
    const next = parts[index + 1];
    const isOfView = next !== undefined && isOfOneView(layouts, layout, next.layout);
    return [{ layout, from, to: isOfView ? next.from : null, epoch: bytes.pack.epoch }];
  });
  return {
    ...manifest,
    parts: parts.map((part) =>
      lost.has(part) ? { ...part, epoch: since, entryCount: 0, bytes: null } : part,
    ),
    lost: [...manifest.lost, ...ranges],
  };
}

function isOfOneView(layouts: readonly StoredView[], a: number, b: number): boolean {
  return a === b || isSameLife(layouts[a] as StoredView, layouts[b] as StoredView);
}

/**
 * The last part of a view has no end, but windows that come later lack nothing. How late a record may be that has come is known where
 * the plan bounds it, and always has read times as it does.
 */
function boundLost(
  parts: OpenParts,
  { plan, progress, windows }: SliceImage,
  before: readonly LostRange[],
): void {
  const { skewMs } = plan;
  if (skewMs === null || Number.isFinite(progress.otherTimesUntilMs)) return;
  const aheadMs = progress.newestArrivalMs + Math.max(skewMs, REDRIVEN_AHEAD_MS_MAX);
  const newestMs = Math.max(progress.newestMs, aheadMs);
  for (const [index, rows] of parts.lost.entries()) {
    const view = plan.views[index];
    const assigner = windows[index];
    if (view === undefined || assigner === undefined || windowSpan(view.window) === null) continue;
    const windowStartMs = assigner.endOf(assigner.startOf(newestMs));
    const end = { windowStartMs, key: new Uint8Array() };
    // What was lost before has the end that it got then.
    const isKnown = ({ epoch }: LostRows) => before.some((range) => range.epoch === epoch);
    parts.lost[index] = rows.map((each) =>
      isKnown(each) ? each : { ...each, to: each.to ?? end },
    );
  }
}
