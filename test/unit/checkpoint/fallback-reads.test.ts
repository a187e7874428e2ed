import { expect, it } from 'vitest';
import { soundEpochs } from '../../../core/checkpoint/fallback.ts';
import { blobKey } from '../../../core/checkpoint/names.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { SLICE, type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { overriding, PLENTY, TaskWorld } from '../task/task-fixture.ts';

const GROUPS = 1_000;
const KNOBS = {
  chainLengthMax: 10,
  mergeFanIn: 8,
  partBytesMax: 2_000,
  partBytesMinToRewrite: 2_000,
  chainBytesMinToCompact: 1e9,
};

/** How often a fallback reads a blob after so many epochs, where the pack that is listed longest cannot be read. */
async function readsAfter(epochs: number): Promise<number> {
  const log = Array.from({ length: GROUPS + 4 * epochs }, (_, id): SmallRecord => {
    return { id, t: 1_000, type: 'a', key: `group ${(id * 7) % GROUPS}`, amount: id };
  });
  const world = new TaskWorld(log, KNOBS);
  const task = world.task();
  await task.deliver(world.batch(0, GROUPS), PLENTY);
  for (let at = GROUPS; at < log.length; at += 4) {
    await task.deliver(world.batch(at, at + 4), PLENTY);
  }
  const head = await world.head();
  const { manifest } = await load(smallPlan, head, world.blobs);
  const packs = manifest.parts.flatMap(({ bytes }) => (bytes === null ? [] : [bytes.pack]));
  const [oldest] = packs.sort((a, b) => a.epoch - b.epoch);
  if (oldest === undefined) throw new Error('nothing lies in a pack');
  const bad = blobKey(SLICE, oldest);
  let reads = 0;
  const { items, objects } = world.blobs;
  const counted = {
    items: overriding(items, {
      read: async (key: string) => {
        reads++;
        return items.read(key);
      },
    }),
    objects: overriding(objects, {
      read: async (key: string) => {
        reads++;
        return key === bad ? null : objects.read(key);
      },
      readRange: async (key: string, from: number, to: number) => {
        reads++;
        return key === bad ? null : objects.readRange(key, from, to);
      },
    }),
  };
  for await (const { epoch } of soundEpochs(smallPlan, head, counted)) {
    expect(epoch).toBe(head.epoch);
    return reads;
  }
  throw new Error('no epoch is sound');
}

it('a fallback reads what is damaged a few times, not once for each epoch and base', async () => {
  const [few, many] = [await readsAfter(40), await readsAfter(120)];
  expect(many).toBeLessThan(few * 4);
});
