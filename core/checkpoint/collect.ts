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

/** Deletes the slice's unreachable blobs and says how many there were. */
export async function collect(head: Head, manifest: Manifest, stores: BlobStores): Promise<number> {
  if (head.collectBelow === 0) return 0;
  let count = 0;
  for (const store of [stores.items, stores.objects]) {
    count += await collectFrom(store, head, manifest);
  }
  return count;
}

async function collectFrom(store: BlobStore, head: Head, manifest: Manifest): Promise<number> {
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
  return doomed.length;
}
