import { expect, it } from 'vitest';
import { findEpoch } from '../../../core/checkpoint/epoch-lookup.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { smallPlan } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from '../task/task-fixture.ts';

it('an epoch is found of a slice that went back to its beginning, and has no base since', async () => {
  const world = new TaskWorld(60);
  await world.task().deliver(world.batch(0, 10), PLENTY);
  await world.damage((await world.head()).delta!);
  const task = world.task();
  const { rewoundTo } = await task.deliver(world.batch(10, 20), PLENTY);
  expect(rewoundTo).toBe(0);
  const { epoch } = await world.head();
  for (let at = 20; at < 40; at += 10) await task.deliver(world.batch(at, at + 10), PLENTY);
  const head = await world.head();
  expect([head.base, head.timeline]).toEqual([null, 1]);
  const found = await findEpoch(head, epoch, () => true, world.blobs);
  expect(found).not.toBeNull();
  const { image } = await load(smallPlan, found!, world.blobs);
  expect(image.progress.digest.count).toBe(20);
});
