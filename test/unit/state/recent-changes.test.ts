import { expect, it } from 'vitest';
import type { WindowEntries } from '../../../core/state/key-table.ts';
import { type RecentChange, RecentChanges } from '../../../core/state/recent-changes.ts';
import { SliceImage } from '../../../core/state/slice-image.ts';
import { smallPlan } from '../../world/small-log.ts';

/** What epoch `epoch` has changed: one entry in each of these windows of the first view. */
function changeOf(
  image: SliceImage,
  epoch: number,
  windowStartsMs: readonly number[],
): RecentChange {
  const windows = windowStartsMs.map((windowStartMs) => {
    const keys = image.tables[0]?.window(windowStartMs) as WindowEntries;
    return { view: 0, windowStartMs, keys, ordinals: Uint32Array.of(0) };
  });
  return { after: epoch - 1, epoch, windows, tails: [] };
}

it('what was drained since the last change is in no merge', () => {
  const image = new SliceImage(smallPlan);
  const table = image.tables[0];
  if (table === undefined) throw new Error('the plan has no view');
  for (const startMs of [0, 10_000]) table.place(startMs, Uint8Array.of(1));
  table.commit();
  const recent = new RecentChanges();
  recent.add(changeOf(image, 1, [0, 10_000]), image, smallPlan.hash);
  const newest = changeOf(image, 2, [10_000]);
  const startsOf = () => recent.since(0, newest, image).windows.map((each) => each.windowStartMs);
  expect(startsOf()).toEqual([0, 10_000]);

  table.removeWindow(0);

  expect(startsOf()).toEqual([10_000]);
});
