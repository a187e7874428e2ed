/**
 * What merged deltas are held against: the same stores without them.
 */
import type { BlobStores } from '../../../core/checkpoint/blobs.ts';
import type { Checkpoint } from '../../../core/checkpoint/restore.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import type { ObjectStore } from '../../../core/ports.ts';
import { closedOf, mergedText } from '../state/fold-fixture.ts';

/** All that an image holds, late partials in any order. */
export function contentOf(plan: Plan, { image }: Checkpoint) {
  const late = image.late.map((entries) =>
    entries
      .map(({ windowStartMs, key, accumulators }) =>
        [windowStartMs, ...key, '=', ...accumulators].join(' '),
      )
      .sort(),
  );
  const closed = mergedText(plan, closedOf(image));
  return { open: Buffer.from(image.encode()).toString('hex'), closed, late };
}

/** The same stores, in which no merged delta can be read. */
export function withoutMerged({ items, objects }: BlobStores): BlobStores {
  return {
    items,
    objects: {
      ...boundTo(objects),
      read: async (key) => (key.includes('/merged/') ? null : objects.read(key)),
    },
  };
}

function boundTo(store: ObjectStore): ObjectStore {
  return {
    create: (key, bytes) => store.create(key, bytes),
    read: (key) => store.read(key),
    readRange: (key, from, to) => store.readRange(key, from, to),
    list: (prefix, after, limit) => store.list(prefix, after, limit),
    delete: (keys) => store.delete(keys),
    upload: (key) => store.upload(key),
  };
}
