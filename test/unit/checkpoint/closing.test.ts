/** A window of many entries closes: no commit writes them whole, and they are answered the same until runs have all of them. */
import { describe, expect, it } from 'vitest';
import { readBlob } from '../../../core/checkpoint/blobs.ts';
import type { Head } from '../../../core/checkpoint/head.ts';
import { chainSince } from '../../../core/checkpoint/manifest.ts';
import { parseBlobKey } from '../../../core/checkpoint/names.ts';
import { advance, load, restore } from '../../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { Knobs } from '../../../core/knobs.ts';
import { CHAIN_EPOCHS_MAX } from '../../../core/limits.ts';
import { laterPlan, SLICE, type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { closedOf, mergedText } from '../state/fold-fixture.ts';
import { overriding, PLENTY, TaskWorld } from '../task/task-fixture.ts';

const GROUPS = 300;
const DRAIN_BYTES = 2_000;
const KNOBS: Partial<Knobs> = { drainBytesMin: DRAIN_BYTES, partBytesMax: 2_000, runFanIn: 100 };

/** So many groups in one window; then single records of the next windows, each of which closes one before it. */
function log(after = 60): SmallRecord[] {
  const first = Array.from({ length: GROUPS }, (_, id): SmallRecord => {
    return {
      id,
      t: 1_000,
      type: 'a',
      key: `group ${String((id * 7) % GROUPS).padStart(4, '0')}`,
      amount: id,
    };
  });
  const later = Array.from({ length: after }, (_, index): SmallRecord => {
    return {
      id: GROUPS + index,
      t: 20_000 + index,
      type: 'a',
      key: `later ${index % 5}`,
      amount: 1,
    };
  });
  return [...first, ...later];
}

async function filled(knobs: Partial<Knobs> = KNOBS): Promise<TaskWorld> {
  const world = new TaskWorld(log(), knobs);
  await world.task().deliver(world.batch(0, GROUPS), PLENTY);
  return world;
}

/** Bytes of all blobs of the epoch of HEAD. */
async function writtenBytes(world: TaskWorld, { epoch }: Head): Promise<number> {
  let bytes = 0;
  for (const [key, blob] of await world.allBlobs()) {
    if (parseBlobKey(SLICE, key)?.epoch === epoch) bytes += blob.length;
  }
  return bytes;
}

const keptOf = async (world: TaskWorld) => {
  const { image } = await load(smallPlan, await world.head(), world.blobs);
  return image.keptEntryCount - image.openEntryCount;
};

describe('a window that closes', () => {
  it('is in no delta: only what was touched is, whether or not the watermark has passed its window', async () => {
    const world = await filled({ drainBytesMin: 1_000_000 });
    await world.task().deliver(world.batch(GROUPS, GROUPS + 1), PLENTY);
    const head = await world.head();
    expect((await readBlob(world.blobs, SLICE, head.delta!)).length).toBeLessThan(1_500);
    expect(head.entryCount).toBe(GROUPS + 3);
    expect(await keptOf(world)).toBe(2 * GROUPS);
    expect(await world.answers(head)).toEqual(world.expected(GROUPS + 1));
  });

  it('in the batch that touched it is in its delta, and drained by a later one', async () => {
    const world = new TaskWorld(log(), { drainBytesMin: 1_000_000 });
    await world.task().deliver(world.batch(0, GROUPS + 1), PLENTY);
    expect(await keptOf(world)).toBe(2 * GROUPS);
    await world.task().checkpoint(PLENTY);
    expect(await keptOf(world)).toBe(0);
    expect(await world.answers(await world.head())).toEqual(world.expected(GROUPS + 1));
  });

  it('is drained by one commit after the other, each within its budget, and by no more commits than it takes', async () => {
    const world = await filled();
    const task = world.task();
    const left: number[] = [];
    for (let at = GROUPS; at < GROUPS + 40; at++) {
      await task.deliver(world.batch(at, at + 1), PLENTY);
      const head = await world.head();
      // Budget, delta, manifest, and what the blocks of a run say of themselves.
      expect(await writtenBytes(world, head)).toBeLessThan(2 * DRAIN_BYTES + 2_500);
      expect(await world.answers(head)).toEqual(world.expected(at + 1));
      expect(head.entryCount).toBe(world.expectedOpenCount(at + 1));
      left.push(await keptOf(world));
    }
    expect(left[0]).toBe(2 * GROUPS);
    const draining = left.filter(
      (count, index) => index > 0 && count < (left[index - 1] as number),
    );
    expect(draining.length).toBeGreaterThan(5);
    // The rest is less than what is a reason for a base.
    expect(left.at(-1)).toBeLessThan(2 * GROUPS - 5 * 20);
    expect(left.at(-1)! * 30).toBeLessThan(DRAIN_BYTES);
    await task.checkpoint(PLENTY);
    expect(await keptOf(world)).toBe(0);
    expect(await world.answers(await world.head())).toEqual(world.expected(GROUPS + 40));
  });

  it('needs no parts written anew: a base that only drains writes none', async () => {
    const world = await filled();
    await world.task().deliver(world.batch(GROUPS, GROUPS + 1), PLENTY);
    await world.task().deliver(world.batch(GROUPS + 1, GROUPS + 2), PLENTY);
    const head = await world.head();
    const { manifest } = await load(smallPlan, head, world.blobs);
    expect(head.base?.epoch).toBe(head.epoch);
    expect(manifest.runs).toHaveLength(1);
    expect(manifest.parts.filter(({ bytes }) => bytes !== null)).toEqual([]);
    expect(chainSince(manifest)).toBe(0);
  });

  it('is neither drained twice nor counted by a memory that follows, whichever of several owners commit', async () => {
    const world = await filled();
    const owners = [world.task(), world.task(), world.task()];
    let follower = await load(smallPlan, await world.head(), world.blobs);
    let known = (await world.head()).delta;
    for (let at = GROUPS; at < GROUPS + 30; at++) {
      await owners[(at * at) % 3]?.deliver(world.batch(at, at + 1), PLENTY);
      const head = await world.head();
      follower = await advance(follower, known, head, world.blobs);
      known = head.delta;
      const restored = await restore(smallPlan, head, world.blobs);
      expect(mergedText(smallPlan, closedOf(follower.image))).toEqual(
        mergedText(smallPlan, closedOf(restored.image)),
      );
      expect(await world.answers(head)).toEqual(world.expected(at + 1));
    }
  });

  it('is still there where a commit that drained it lost its race', async () => {
    const world = await filled();
    const loser = world.task({
      heads: world.headsThatWrite(async (item, revision, hold) => {
        const isBase = item.body.length > 0 && losing;
        losing = false;
        if (isBase) await world.task().deliver(world.batch(GROUPS + 1, GROUPS + 2), PLENTY);
        return world.heads.writeHead(item, revision, hold);
      }),
    });
    let losing = false;
    await loser.deliver(world.batch(GROUPS, GROUPS + 1), PLENTY);
    losing = true;
    await loser.deliver(world.batch(GROUPS + 1, GROUPS + 3), PLENTY);
    for (let at = GROUPS + 3; at < GROUPS + 20; at++) {
      await loser.deliver(world.batch(at, at + 1), PLENTY);
      expect(await world.answers(await world.head())).toEqual(world.expected(at + 1));
    }
  });
});

describe('what is drained', () => {
  /** Drained in part: so many commits after it began. */
  async function draining(commits: number): Promise<TaskWorld> {
    const world = await filled();
    const task = world.task();
    for (let at = GROUPS; at < GROUPS + commits; at++) {
      await task.deliver(world.batch(at, at + 1), PLENTY);
    }
    return world;
  }

  it.each([1, 2, 4])(
    'comes back with the older base that a fallback goes on from, over %i newer ones',
    async (bases) => {
      const world = await draining(8);
      const kept = await keptOf(world);
      const newest = [...(await world.allBlobs()).keys()].filter((key) => key.includes('/base/'));
      await world.blobs.objects.delete(newest.slice(-bases));
      const report = await world.task().deliver(world.batch(GROUPS + 8, GROUPS + 9), PLENTY);
      expect(report.rewoundTo).not.toBeNull();
      // The newer bases drained more than the one that it went back to, which was followed by one since.
      expect(await keptOf(world)).toBeGreaterThanOrEqual(kept);
      expect(await world.answers(await world.head())).toEqual(world.expected(GROUPS + 9));
      const task = world.task();
      for (let at = GROUPS + 9; at < GROUPS + 30; at++) {
        await task.deliver(world.batch(at, at + 1), PLENTY);
        expect(await world.answers(await world.head())).toEqual(world.expected(at + 1));
      }
    },
  );

  it('is the same for who reads an epoch before', async () => {
    const world = await filled();
    const task = world.task();
    const heads: Head[] = [];
    for (let at = GROUPS; at < GROUPS + 10; at++) {
      await task.deliver(world.batch(at, at + 1), PLENTY);
      heads.push(await world.head());
    }
    for (const [index, head] of heads.entries()) {
      expect(await world.answers(head)).toEqual(world.expected(GROUPS + 1 + index));
    }
  });

  it('goes on under another plan where it was, and begins anew with a view that comes back', async () => {
    const world = await draining(8);
    const code = (plan: typeof smallPlan) => ({ plan, decoder: createJsonDecoder(plan) });
    const boundsOf = async (plan: typeof smallPlan) => {
      const { image } = await load(plan, await world.head(), world.blobs);
      return plan.views.map(({ name }, view) => [name, image.drained.get(view)] as const);
    };
    const before = new Map(await boundsOf(smallPlan));
    expect([before.get('updated'), before.get('dropped')]).not.toContain(null);
    await world.activate(laterPlan);
    await world.task({}, code(laterPlan)).tick(PLENTY);
    const between = new Map(await boundsOf(laterPlan));
    expect(between.get('updated')!.windowStartMs).toBeGreaterThanOrEqual(
      before.get('updated')!.windowStartMs,
    );
    // A second plan change: no rollback to the first one any more.
    const task = world.task({}, code(laterPlan));
    for (let at = GROUPS + 8; at < GROUPS + 16; at++) {
      await task.deliver(world.batch(at, at + 1), PLENTY);
    }
    world.clock.advance(25 * 3_600_000);
    await world.activate(smallPlan);
    await world.task({}, code(smallPlan)).tick(PLENTY);
    expect(new Map(await boundsOf(smallPlan)).get('dropped')).toBeNull();
    const { open } = await world.answers(await world.head());
    const reader = await load(smallPlan, await world.head(), world.blobs);
    expect(Buffer.from(reader.image.encode()).toString('hex')).toBe(open);
  });

  it('is written once: a retry after a failed write of HEAD drains the same again', async () => {
    const world = await draining(3);
    let fails = true;
    const heads = overriding(world.heads, {
      writeHead: async (...args) => {
        if (fails) throw new Error('the network is away');
        return world.heads.writeHead(...args);
      },
    });
    const task = world.task({ heads });
    await expect(task.deliver(world.batch(GROUPS + 3, GROUPS + 4), PLENTY)).rejects.toThrow();
    fails = false;
    for (let at = GROUPS + 3; at < GROUPS + 12; at++) {
      await task.deliver(world.batch(at, at + 1), PLENTY);
      expect(await world.answers(await world.head())).toEqual(world.expected(at + 1));
    }
  });
});

describe('bases that only drain', () => {
  it('do not keep the chain from being cut: it leads over no more epochs than others', async () => {
    const cold = Array.from({ length: 300 }, (_, id): SmallRecord => {
      return { id, t: 100_000, type: 'a', key: `cold ${id}`, amount: 1 };
    });
    const hot = Array.from({ length: 1_200 }, (_, index): SmallRecord => {
      return { id: 300 + index, t: 120_000 + 200 * index, type: 'a', key: 'hot', amount: 1 };
    });
    const world = new TaskWorld([...cold, ...hot], {
      chainLengthMax: 1_000,
      partBytesMax: 1_000,
      partBytesMinToRewrite: 2_000,
      drainBytesMin: 1,
    });
    const task = world.task();
    await task.deliver(world.batch(0, 300), PLENTY);
    await task.checkpoint(PLENTY);
    let drains = 0;
    for (let at = 300; at < 1_500; at++) {
      await task.deliver(world.batch(at, at + 1), PLENTY);
      const { epoch, base, chainSince } = await world.head();
      expect(epoch - chainSince).toBeLessThan(CHAIN_EPOCHS_MAX);
      if (base?.epoch === epoch) drains++;
    }
    expect(drains).toBeGreaterThan(10);
  });
});
