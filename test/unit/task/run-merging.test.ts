/** Runs that are too large for a commit are merged by ticks, beside deliveries and other environments. */
import { describe, expect, it } from 'vitest';
import type { RunReference } from '../../../core/checkpoint/manifest.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { TransientFault } from '../../../core/faults.ts';
import type { Knobs } from '../../../core/knobs.ts';
import type { ObjectStore } from '../../../core/ports.ts';
import type { SliceTask } from '../../../core/task/slice-task.ts';
import { laterPlan, smallPlan } from '../../world/small-log.ts';
import { overriding, PLENTY, TaskWorld } from './task-fixture.ts';

const LENGTH = 240;
const STEP = 30;

/** Every base writes a run, and none is merged by its commit. */
const KNOBS: Partial<Knobs> = {
  chainLengthMax: 1,
  runFanIn: 4,
  runBytesMaxToMergeInCommit: 0,
  uploadPieceBytes: 200,
};

async function runsOf(world: TaskWorld, plan = smallPlan): Promise<readonly RunReference[]> {
  return (await load(plan, await world.head(), world.blobs)).manifest.runs;
}

const levelsOf = async (world: TaskWorld) => (await runsOf(world)).map(({ level }) => level);

/** Of the runs that were merged: a base may drain what has closed since into one more. */
const mergedOf = async (world: TaskWorld) => (await levelsOf(world)).filter((level) => level > 0);

/** A slice whose lowest level is full, and how many records it has. */
async function full(more: Partial<Knobs> = {}): Promise<{ world: TaskWorld; count: number }> {
  const world = new TaskWorld(LENGTH, { ...KNOBS, ...more });
  const task = world.task();
  for (let from = 0; from < LENGTH; from += STEP) {
    await task.deliver(world.batch(from, from + STEP), PLENTY);
    if ((await world.head()).awaitsMerge) return { world, count: from + STEP };
  }
  throw new Error('the level was never full');
}

/** Ticks until nothing is left that can be done at once; how many that took. */
async function ticked(task: SliceTask, countMax = 50): Promise<number> {
  for (let count = 1; count <= countMax; count++) {
    if (!(await task.tick(PLENTY)).isUnfinished) return count;
  }
  throw new Error('ticks come to no end');
}

async function expectAll(world: TaskWorld, count: number): Promise<void> {
  expect(await world.answers(await world.head())).toEqual(world.expected(count));
}

const blobKeys = async (world: TaskWorld) =>
  (await world.blobs.objects.list('', null, 1_000)).map(({ key }) => key);

describe('a level of runs that is full', () => {
  it('is left to ticks where it is too large for a commit, and becomes one run by them', async () => {
    const { world, count } = await full();
    expect(await levelsOf(world)).toEqual([0, 0, 0, 0]);
    await expectAll(world, count);
    await ticked(world.task());
    expect(await mergedOf(world)).toEqual([1]);
    expect((await world.head()).awaitsMerge).toBe(false);
    await expectAll(world, count);
  });

  it('is merged by a commit where it is small', async () => {
    const { runBytesMaxToMergeInCommit: _, ...knobs } = KNOBS;
    const world = new TaskWorld(LENGTH, knobs);
    const task = world.task();
    for (let from = 0; from < LENGTH; from += STEP) {
      await task.deliver(world.batch(from, from + STEP), PLENTY);
      expect((await world.head()).awaitsMerge).toBe(false);
    }
    expect((await levelsOf(world)).some((level) => level > 0)).toBe(true);
    await expectAll(world, LENGTH);
  });

  it('stays as it is where it is larger than ticks merge, and no tick looks at it', async () => {
    const world = new TaskWorld(LENGTH, { ...KNOBS, runBytesMaxToMerge: 1 });
    const task = world.task();
    for (let from = 0; from < LENGTH; from += STEP) {
      await task.deliver(world.batch(from, from + STEP), PLENTY);
    }
    expect((await world.head()).awaitsMerge).toBe(false);
    expect(await task.tick(PLENTY)).toMatchObject({ isUnfinished: false, commits: 0 });
    expect(new Set(await levelsOf(world))).toEqual(new Set([0]));
    await expectAll(world, LENGTH);
  });

  it('goes on upwards, and what it absorbed is collected once the floor has passed', async () => {
    const world = new TaskWorld(600, { ...KNOBS, runFanIn: 2, retentionGraceMs: 10_000 });
    const task = world.task();
    for (let from = 0; from < 600; from += STEP) {
      world.clock.advance(20_000);
      await task.deliver(world.batch(from, from + STEP), PLENTY);
      await ticked(task);
    }
    const runs = await runsOf(world);
    expect(Math.max(...runs.map(({ level }) => level))).toBeGreaterThan(2);
    await expectAll(world, 600);
    for (let beat = 0; beat < 4; beat++) {
      world.clock.advance(20_000);
      await task.checkpoint(PLENTY);
    }
    const kept = (await blobKeys(world)).filter((key) => key.includes('/run/'));
    expect(kept).toHaveLength((await runsOf(world)).length);
    await expectAll(world, 600);
  });
});

describe('a merge by ticks', () => {
  it('goes by rounds, and batches are delivered between them', async () => {
    const { world, count } = await full({ runMergeRoundMs: 0 });
    const task = world.task();
    let next = count;
    let rounds = 0;
    while ((await task.tick(PLENTY)).isUnfinished) {
      rounds++;
      await task.deliver(world.batch(next, ++next), PLENTY);
    }
    expect(rounds).toBeGreaterThan(1);
    expect(await levelsOf(world)).toContain(1);
    await expectAll(world, next);
  });

  it('is adopted by whichever commit of its environment writes the next base', async () => {
    const { world, count } = await full({ runMergeRoundMs: 1_000 });
    const task = world.task();
    await task.tick(PLENTY);
    expect(await levelsOf(world)).not.toContain(1);
    await task.deliver(world.batch(count, count + STEP), PLENTY);
    expect(await mergedOf(world)).toEqual([1]);
    expect(await task.tick(PLENTY)).toMatchObject({ isUnfinished: false, commits: 0 });
    await expectAll(world, count + STEP);
  });

  it('outlives races that it loses, without being done again', async () => {
    const { world, count } = await full({ headWriteAttemptsMax: 2 });
    let losses = 6;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (losses-- > 0) await world.rewriteHead({});
      return world.heads.writeHead(item, ifRevision, passing);
    });
    const begun = new Set<string>();
    const objects = overriding(world.blobs.objects as ObjectStore, {
      upload: (key: string) => {
        if (key.includes('/run/')) begun.add(key);
        return world.blobs.objects.upload(key);
      },
    });
    const task = world.task({ heads, blobs: { ...world.blobs, objects } });
    await task.tick(PLENTY);
    for (let tick = 0; tick < 3; tick++) {
      await expect(task.tick(PLENTY)).rejects.toThrow('won 2 races');
    }
    await ticked(task);
    expect(await mergedOf(world)).toEqual([1]);
    // Of those that its attempts at a base began, what drained what closes is an orphan: the merged one is listed by its first name.
    const [merged] = (await runsOf(world)).filter(({ level }) => level === 1);
    expect([...begun][0]).toContain(merged?.nonce);
    await expectAll(world, count);
  });

  it('is given up where another environment was faster, and the slice goes on with that', async () => {
    const { world, count } = await full({ runMergeRoundMs: 0 });
    const [slow, fast] = [world.task(), world.task()];
    await slow.tick(PLENTY);
    await ticked(fast);
    expect(await mergedOf(world)).toEqual([1]);
    const before = (await world.head()).epoch;
    await ticked(slow);
    expect((await world.head()).epoch).toBe(before);
    await expectAll(world, count);
  });

  it('that was finished too late is dropped by the next base', async () => {
    const { world, count } = await full();
    const [late, fast] = [world.task(), world.task()];
    await late.tick(PLENTY);
    await ticked(fast);
    const runs = await runsOf(world);
    await late.checkpoint(PLENTY);
    expect(await runsOf(world)).toEqual(runs);
    expect(await late.tick(PLENTY)).toMatchObject({ isUnfinished: false, commits: 0 });
    await expectAll(world, count);
  });

  it('is not listed once a floor has passed its epoch: it may have been deleted', async () => {
    const { world, count } = await full({ retentionGraceMs: 1_000 });
    const [late, other] = [world.task(), world.task()];
    await late.tick(PLENTY);
    for (let beat = 0; beat < 5; beat++) {
      world.clock.advance(5_000);
      await other.checkpoint(PLENTY);
    }
    await late.checkpoint(PLENTY);
    expect(await mergedOf(world)).toEqual([]);
    await expectAll(world, count);
    await ticked(late);
    expect(await mergedOf(world)).toEqual([1]);
    await expectAll(world, count);
  });

  it.each([
    ['is not listed where views began anew', 1_000, false],
    ['is listed where a rollback goes on from what it stands on', 1_000_000, true],
  ])('%s meanwhile', async (_, rollbackGraceMs, isListed) => {
    const { world, count } = await full({ rollbackGraceMs });
    const task = world.task();
    await task.tick(PLENTY);
    await world.activate(laterPlan);
    await world.task({}, { plan: laterPlan }).deliver(world.batch(count, count + STEP), PLENTY);
    world.clock.advance(10_000);
    await world.activate(smallPlan);
    await task.checkpoint(PLENTY);
    expect((await levelsOf(world)).includes(1)).toBe(isListed);
    await ticked(task);
    expect(await levelsOf(world)).toContain(1);
  });

  it('leaves a damaged run as it is, merges the others, and reads it once', async () => {
    const world = new TaskWorld(LENGTH, { ...KNOBS, runFanIn: 3 });
    const task = world.task();
    for (let from = 0; from < 4 * STEP; from += STEP) {
      await task.deliver(world.batch(from, from + STEP), PLENTY);
    }
    const [, damaged, ...sound] = await runsOf(world);
    expect(sound.length).toBeGreaterThanOrEqual(2);
    await world.damage(damaged!, 'changed');
    let reads = 0;
    const objects = overriding(world.blobs.objects as ObjectStore, {
      readRange: (key: string, from: number, to: number) => {
        if (key.includes(damaged!.nonce)) reads++;
        return world.blobs.objects.readRange(key, from, to);
      },
    });
    const owner = world.task({ blobs: { ...world.blobs, objects } });
    await ticked(owner);
    const runs = await runsOf(world);
    expect(runs).toContainEqual(damaged);
    expect(runs.filter(({ level }) => level === 1)).toHaveLength(1);
    const readsBefore = reads;
    for (let tick = 0; tick < 5; tick++) await ticked(owner);
    expect(reads).toBe(readsBefore);
  });

  it('of which nothing can be merged is looked at once a base', async () => {
    const { world } = await full();
    for (const run of await runsOf(world)) await world.damage(run, 'changed');
    const task = world.task();
    await ticked(task);
    const blobs = await blobKeys(world);
    for (let tick = 0; tick < 3; tick++) {
      expect(await task.tick(PLENTY)).toMatchObject({ isUnfinished: false, commits: 0 });
    }
    expect(await blobKeys(world)).toEqual(blobs);
  });

  it('is not begun where an invocation has time for a commit only', async () => {
    const { world, count } = await full();
    const task = world.task();
    const short = () => 5_000;
    for (let tick = 0; tick < 3; tick++) {
      expect(await task.tick(short)).toMatchObject({ isUnfinished: false, commits: 0 });
    }
    expect(await levelsOf(world)).not.toContain(1);
    await ticked(task);
    expect(await mergedOf(world)).toEqual([1]);
    await expectAll(world, count);
  });

  it.each(['upload', 'readRange', 'list'] as const)(
    'begins anew after a fault of its store: %s',
    async (call) => {
      const { world, count } = await full();
      let faults = 1;
      const objects = overriding(world.blobs.objects as ObjectStore, {
        [call]: async (...given: [string, never, never]) => {
          if (faults-- > 0) throw new TransientFault(`${call} did not answer`);
          return world.blobs.objects[call](...given);
        },
      });
      const task = world.task({ blobs: { ...world.blobs, objects } });
      if (call !== 'list') await expect(task.tick(PLENTY)).rejects.toThrow(TransientFault);
      await ticked(task);
      expect(await mergedOf(world)).toEqual([1]);
      await expectAll(world, count);
    },
  );
});
