/**
 * Deleting what retention allows: classify all, then delete. Runs after a compaction; a crash in it leaves blobs that the
 * next one finds again.
 */
import type { BlobStore } from '../ports.ts';
import type { BlobStores } from './blobs.ts';
import type { Head } from './head.ts';
import type { Manifest } from './manifest.ts';
import { parseBlobKey } from './names.ts';
import { isCollectable } from './retention.ts';

const PAGE = 1000;

/** Deletes the slice's unreachable blobs. */
export async function collect(head: Head, manifest: Manifest, stores: BlobStores): Promise<void> {
  if (head.collectBelow === 0) return;
  await collectFrom(stores.items, head, manifest);
  await collectFrom(stores.objects, head, manifest);
}

async function collectFrom(store: BlobStore, head: Head, manifest: Manifest): Promise<void> {
  const doomed: string[] = [];
  let after: string | null = null;
  for (;;) {
    const page = await store.list(`${head.sliceId}/`, after, PAGE);
    for (const { key } of page) {
      const name = parseBlobKey(head.sliceId, key);
      if (name !== null && isCollectable(name, head.collectBelow, manifest)) doomed.push(key);
    }
    if (page.length < PAGE) break;
    after = page.at(-1)?.key ?? null;
  }
  if (doomed.length > 0) await store.delete(doomed);
}
