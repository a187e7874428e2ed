/** Exhaustive: each kind of fault at each call of a port, in a small world that delivers, replays and checkpoints. */
import { describe, expect, it } from 'vitest';
import { runWithEachFault, runWithoutFaults } from '../world/schedules.ts';
import { randomLog } from '../world/small-log.ts';
import { World } from '../world/world.ts';

describe('a world of one slice', () => {
  it('gives what a plain recount gives when nothing goes wrong', async () => {
    const world = await runWithoutFaults('checkpoints only');
    expect(world.epochsSeen.size).toBeGreaterThan(8);
    const called = world.faultSwitch.calls.map(({ name }) => name);
    expect(called).toContain('objects.delete');
    expect(called).toContain('quarantine.put');
    expect(world.timelinesSeen.size).toBe(1);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('gives it for the random log %i too', async (seed) => {
    const log = randomLog(60, seed);
    await new World({ log, environments: 3 }).run();
    await new World({
      log,
      environments: 3,
      knobs: { unsavedAgeMsMax: 4_000 },
      tickEvery: 5,
    }).run();
  });

  it('survives every fault at every port call, with checkpoints only', async () => {
    expect(await runWithEachFault('checkpoints only')).toBeGreaterThan(300);
  });

  it.each([1, 2, 3, 4])(
    'gives it with several records inside Kinesis records: %i',
    async (seed) => {
      const log = randomLog(60, seed);
      const options = { log, environments: 3, insideSizes: [1, 4, 2, 7] };
      await new World(options).run();
      await new World({ ...options, knobs: { unsavedAgeMsMax: 4_000 }, tickEvery: 5 }).run();
    },
  );

  it('survives every fault where Kinesis records have several inside', async () => {
    const name = 'Kinesis records with several inside';
    const world = await runWithoutFaults(name);
    expect([...world.redriven].some((record) => record.includes('.'))).toBe(true);
    expect(await runWithEachFault(name)).toBeGreaterThan(150);
  });

  it('survives every fault where ticks merge runs, and write them in pieces', async () => {
    const name = 'runs that ticks merge';
    const world = await runWithoutFaults(name);
    const called = world.faultSwitch.calls.map(({ name }) => name);
    for (const call of ['upload', 'write', 'complete']) expect(called).toContain(`objects.${call}`);
    expect(await runWithEachFault(name)).toBeGreaterThan(300);
  });

  it('survives every fault where batches are only delivered, and ticks save them', async () => {
    const name = 'batches that are only delivered, and ticks';
    const [all, some] = [await runWithoutFaults('checkpoints only'), await runWithoutFaults(name)];
    expect(some.epochsSeen.size).toBeLessThan(all.epochsSeen.size);
    expect(await runWithEachFault(name)).toBeGreaterThan(300);
  });
});
