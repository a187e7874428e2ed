/**
 * Deleting what retention allows: classify all, then delete. Runs after a compaction; a crash in it leaves blobs that the
 * next one finds again.
 */
import type { BlobStore } from '../ports.ts';
import { type BlobStores, blobNames } from './blobs.ts';
import type { Head } from './head.ts';
import type { Manifest } from './manifest.ts';
import { blobKey } from './names.ts';
import { isCollectable } from './retention.ts';

/** Deletes the slice's unreachable blobs. */
export async function collect(head: Head, manifest: Manifest, stores: BlobStores): Promise<void> {
  if (head.collectBelow === 0) return;
  await collectFrom(stores.items, head, manifest);
  await collectFrom(stores.objects, head, manifest);
}

async function collectFrom(store: BlobStore, head: Head, manifest: Manifest): Promise<void> {
  const doomed: string[] = [];
  for await (const name of blobNames(store, head.sliceId)) {
    if (isCollectable(name, head.collectBelow, manifest)) doomed.push(blobKey(head.sliceId, name));
  }
  if (doomed.length > 0) await store.delete(doomed);
}
