import { describe, expect, it } from 'vitest';
import { loadOverlay } from '../../../core/checkpoint/overlay.ts';
import { READ_AHEAD, readInOrder } from '../../../core/checkpoint/read-in-order.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { smallPlan } from '../../world/small-log.ts';
import { overriding, PLENTY, TaskWorld } from '../task/task-fixture.ts';

const NUMBERS = Array.from({ length: 3 * READ_AHEAD }, (_, index) => index);

/** Reads that end when they are told to. */
function reads() {
  const ends = new Map<number, { ok: () => void; bad: () => void }>();
  const read = (item: number) =>
    new Promise<string>((resolve, reject) => {
      const ok = () => resolve(`read ${item}`);
      ends.set(item, { ok, bad: () => reject(new Error(`${item} is damaged`)) });
    });
  return { ends, read };
}

describe('what is read in order', () => {
  it('comes in its turn, whichever read ends first, and no more is read than fits ahead', async () => {
    const { ends, read } = reads();
    const found: (readonly [number, string])[] = [];
    const all = readInOrder(NUMBERS, read);
    for (const item of NUMBERS) {
      const next = all.next();
      await Promise.resolve();
      expect(ends.size).toBe(Math.min(NUMBERS.length, item + READ_AHEAD));
      for (const { ok } of [...ends.values()].reverse()) ok();
      found.push((await next).value as readonly [number, string]);
    }
    expect(found).toEqual(NUMBERS.map((item) => [item, `read ${item}`]));
    expect(await all.next()).toEqual({ done: true, value: undefined });
  });

  it('fails where what is damaged has its turn, and not before', async () => {
    const found: number[] = [];
    const read = async (item: number) => {
      if (item === 5) throw new Error('5 is damaged');
      return item;
    };
    const use = async () => {
      for await (const [item] of readInOrder(NUMBERS, read)) found.push(item);
    };
    await expect(use()).rejects.toThrow('5 is damaged');
    expect(found).toEqual([0, 1, 2, 3, 4]);
  });

  it('leaves nothing on its way where its use ends early', async () => {
    const { ends, read } = reads();
    let over = false;
    const use = async () => {
      for await (const [item] of readInOrder(NUMBERS, read)) {
        if (item === 0) throw new Error('of no use');
      }
    };
    const used = use().finally(() => {
      over = true;
    });
    ends.get(0)?.ok();
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    expect(over).toBe(false);
    for (const { ok, bad } of ends.values()) (ends.size % 2 === 0 ? ok : bad)();
    await expect(used).rejects.toThrow('of no use');
    expect(ends.size).toBe(READ_AHEAD);
  });
});

describe('a long chain', () => {
  it('is not read all at once, by an owner or a reader', async () => {
    const world = new TaskWorld(200, { chainLengthMax: 60, mergeFanIn: 1_000 });
    const task = world.task();
    for (let at = 0; at < 200; at += 2) await task.deliver(world.batch(at, at + 2), PLENTY);
    const head = await world.head();
    expect(head.chainLength).toBeGreaterThan(2 * READ_AHEAD);
    let now = 0;
    let most = 0;
    const counting = (store: typeof world.blobs.items) =>
      overriding(store, {
        read: async (key) => {
          most = Math.max(most, ++now);
          await Promise.resolve();
          return store.read(key).finally(() => now--);
        },
      });
    const { items, objects } = world.blobs;
    const stores = { items: counting(items), objects: counting(objects) };
    for (const build of [load, loadOverlay]) {
      most = 0;
      await build(smallPlan, head, stores);
      expect(most).toBeGreaterThan(READ_AHEAD / 2);
      // The base and its delta come beside them.
      expect(most).toBeLessThanOrEqual(READ_AHEAD + 2);
    }
  });
});
