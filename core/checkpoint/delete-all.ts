/**
 * Deleting every blob of a store: a pipeline that is given up for good.
 */
import type { BlobStore } from '../ports.ts';

const PAGE = 1000;

export async function deleteAll(store: BlobStore): Promise<void> {
  for (;;) {
    const page = await store.list('', null, PAGE);
    if (page.length === 0) return;
    await store.delete(page.map(({ key }) => key));
  }
}
