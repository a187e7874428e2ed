import { expect, it } from 'vitest';
import type { WindowEntries } from '../../../core/state/key-table.ts';
import { type RecentChange, RecentChanges } from '../../../core/state/recent-changes.ts';
import { SliceImage } from '../../../core/state/slice-image.ts';
import { smallPlan } from '../../world/small-log.ts';

/** What epoch `epoch` has changed: these entries in each of these windows of the first view. */
function changeOf(
  image: SliceImage,
  epoch: number,
  windowStartsMs: readonly number[],
  ordinals: readonly number[] = [0],
): RecentChange {
  const windows = windowStartsMs.map((windowStartMs) => {
    const keys = image.tables[0]?.window(windowStartMs) as WindowEntries;
    return { view: 0, windowStartMs, keys, ordinals: Uint32Array.from(ordinals) };
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
  const startsOf = () => {
    const since = recent.since(0, newest, image, 10);
    return since?.windows.map((each) => each.windowStartMs);
  };
  expect(startsOf()).toEqual([0, 10_000]);

  table.removeWindow(0);

  expect(startsOf()).toEqual([10_000]);
});

it('several changes are one with each entry once, ascending, unless they are too many', () => {
  const image = new SliceImage(smallPlan);
  const table = image.tables[0];
  if (table === undefined) throw new Error('the plan has no view');
  for (const startMs of [0, 10_000]) {
    for (let key = 0; key < 70; key++) table.place(startMs, Uint8Array.of(key));
  }
  table.commit();
  const recent = new RecentChanges();
  recent.add(changeOf(image, 1, [0], [63, 31, 5]), image, smallPlan.hash);
  recent.add(changeOf(image, 2, [0, 10_000], [64, 5, 32, 69]), image, smallPlan.hash);
  const newest = changeOf(image, 3, [10_000], [0, 69]);
  const since = (entriesMax: number) =>
    recent.since(0, newest, image, entriesMax)?.windows.map(({ windowStartMs, ordinals }) => {
      return [windowStartMs, [...ordinals]];
    });

  const merged = [
    [0, [5, 31, 32, 63, 64, 69]],
    [10_000, [0, 5, 32, 64, 69]],
  ];
  expect(since(11)).toEqual(merged);
  expect(since(10)).toBeUndefined();
  expect(since(5)).toBeUndefined();

  recent.merge(0);
  expect(recent.beginnings).toEqual([0]);
  expect(since(11)).toEqual(merged);
});
