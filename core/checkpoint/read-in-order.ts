/**
 * Reading many stored things of which each may be large: a few ahead of the one that is being used, so that memory holds no more
 * of them, and each in its turn.
 */

/** Things that are read and not used yet: a part may be half a MiB, and so may a delta. */
export const READ_AHEAD = 16;

/** Each with what was read of it, in their order. Where the loop over them ends early, it waits for those that are on their way. */
export async function* readInOrder<Item, Read>(
  items: readonly Item[],
  read: (item: Item) => Promise<Read>,
): AsyncGenerator<readonly [Item, Read], undefined> {
  const coming: Promise<Read>[] = [];
  try {
    for (const [index, item] of items.entries()) {
      for (const ahead of items.slice(index + coming.length, index + READ_AHEAD)) {
        const promise = read(ahead);
        // A failure is told of when its turn comes.
        promise.catch(() => {});
        coming.push(promise);
      }
      yield [item, await (coming.shift() as Promise<Read>)];
    }
  } finally {
    await Promise.allSettled(coming);
  }
}
