/**
 * Work on many things, a few at a time.
 */

/** What `work` resolves to for each, in order; rejections are among them. */
export async function fewAtOnce<Item, Result>(
  items: readonly Item[],
  countMax: number,
  work: (item: Item) => Promise<Result>,
): Promise<PromiseSettledResult<Result>[]> {
  const results: PromiseSettledResult<Result>[] = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      const [result] = await Promise.allSettled([work(items[index] as Item)]);
      results[index] = result;
    }
  };
  await Promise.all(Array.from({ length: Math.min(countMax, items.length) }, worker));
  return results;
}
