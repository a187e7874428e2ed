/**
 * Deleting what retention allows: classify all, then delete. Runs after a compaction. Blobs are listed from the floor before to
 * the floor: what of those below the former had to stay is named by the manifest once it is replaced, and a store passes slowly
 * over what was deleted. A crash, or a fault, leaves blobs below it, which the next collection from the beginning finds.
 */
import type { BlobStore } from '../ports.ts';
import { type BlobStores, blobNames } from './blobs.ts';
import type { Head } from './head.ts';
import type { Manifest } from './manifest.ts';
import { type BlobKind, type BlobName, blobKey, epochMark } from './names.ts';
import { KeptBlobs } from './retention.ts';

/** Deletes the slice's unreachable blobs; what lies below epoch `from` and is in no manifest is known to be gone. */
export async function collect(
  head: Head,
  manifest: Manifest,
  stores: BlobStores,
  from = 0,
): Promise<void> {
  const { sliceId, collectBelow } = head;
  if (collectBelow === 0) return;
  const kept = new KeptBlobs(manifest, collectBelow);
  await collectFrom(stores.items, ['delta'], head, kept, from);
  await collectFrom(stores.objects, ['delta', 'merged', 'base', 'run'], head, kept, from);
  const replaced = manifest.replaced
    .filter(({ blob, epoch }) => epoch <= collectBelow && blob.epoch < from)
    .map(({ blob }) => blobKey(sliceId, blob));
  if (replaced.length > 0) await stores.objects.delete(replaced);
}

async function collectFrom(
  store: BlobStore,
  kinds: readonly BlobKind[],
  head: Head,
  kept: KeptBlobs,
  from: number,
): Promise<void> {
  const doomed: string[] = [];
  for (const kind of kinds) {
    for await (const name of belowFloor(store, kind, head, from)) {
      if (kept.isCollectable(name)) doomed.push(blobKey(head.sliceId, name));
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
