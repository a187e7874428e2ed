/**
 * Deleting what retention allows: classify all, then delete. Runs after a compaction. Deltas and bases are listed from the floor
 * before to the floor: what lies below the former is gone already, and a store passes slowly over what was deleted. A crash, or
 * a fault, leaves blobs below it, which the next collection from the beginning finds.
 */
import type { BlobStore } from '../ports.ts';
import { type BlobStores, blobNames } from './blobs.ts';
import type { Head } from './head.ts';
import type { Manifest } from './manifest.ts';
import { type BlobKind, type BlobName, blobKey, epochMark } from './names.ts';
import { isCollectable } from './retention.ts';

/** Deletes the slice's unreachable blobs; deltas and bases below epoch `from` are known to be gone. */
export async function collect(
  head: Head,
  manifest: Manifest,
  stores: BlobStores,
  from = 0,
): Promise<void> {
  if (head.collectBelow === 0) return;
  await collectFrom(stores.items, ['delta'], head, manifest, from);
  await collectFrom(stores.objects, ['delta', 'base', 'run'], head, manifest, from);
}

async function collectFrom(
  store: BlobStore,
  kinds: readonly BlobKind[],
  head: Head,
  manifest: Manifest,
  from: number,
): Promise<void> {
  const doomed: string[] = [];
  for (const kind of kinds) {
    // A run stays while a base lists it, whichever floor it lies below.
    const names =
      kind === 'run' ? blobNames(store, head.sliceId, kind) : belowFloor(store, kind, head, from);
    for await (const name of names) {
      if (isCollectable(name, head.collectBelow, manifest))
        doomed.push(blobKey(head.sliceId, name));
    }
  }
  if (doomed.length > 0) await store.delete(doomed);
}

/** Names come by timeline, and in a timeline by epoch: of each, those from `from` to the floor are asked for. */
async function* belowFloor(
  store: BlobStore,
  kind: BlobKind,
  { sliceId, timeline, collectBelow }: Head,
  from: number,
): AsyncGenerator<BlobName> {
  for (let at: number | null = 0; at !== null && at <= timeline; ) {
    let next: number | null = null;
    for await (const name of blobNames(store, sliceId, kind, epochMark(sliceId, kind, at, from))) {
      if (name.timeline > at) next = name.timeline;
      else if (name.epoch >= collectBelow) next = at + 1;
      if (next !== null) break;
      yield name;
    }
    at = next;
  }
}
