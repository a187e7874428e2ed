import { describe, expect, it } from 'vitest';
import { FAULT_KINDS } from '../world/fault-switch.ts';
import { randomLog } from '../world/small-log.ts';
import { World } from '../world/world.ts';

const log = randomLog(30, 7);

async function callsOf(options: { deliverEvery?: number }): Promise<string[]> {
  const world = new World({ log, ...options });
  await world.run();
  return world.faultSwitch.names;
}

describe('a world of one slice', () => {
  it('gives what a plain recount gives when nothing goes wrong', async () => {
    const world = new World({ log });
    await world.run();
    expect(world.epochsSeen.size).toBeGreaterThan(8);
    expect(world.faultSwitch.names).toContain('objects.delete');
    expect(world.faultSwitch.names).toContain('quarantine.put');
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('gives it for the random log %i too', async (seed) => {
    await new World({ log: randomLog(60, seed), environments: 3 }).run();
  });

  for (const deliverEvery of [0, 3]) {
    const name = deliverEvery === 0 ? 'checkpoints only' : 'batches that are only delivered';
    it(`survives every fault at every port call, with ${name}`, async () => {
      const calls = await callsOf({ deliverEvery });
      expect(calls.length).toBeGreaterThan(70);
      for (const [call, port] of calls.entries()) {
        for (const kind of FAULT_KINDS) {
          const world = new World({ log, deliverEvery, faults: new Map([[call, kind]]) });
          await world.run().catch((error: unknown) => {
            throw new Error(`${kind} at call ${call} (${port})`, { cause: error });
          });
          expect(world.faultSwitch.fired).toBe(1);
        }
      }
    });
  }

  it('survives a second fault while it recovers from the first', async () => {
    const calls = await callsOf({ deliverEvery: 4 });
    for (let first = 0; first < calls.length; first += 3) {
      for (const gap of [1, 2, 4, 7]) {
        const kinds = [first + gap, first * gap].map((n) => FAULT_KINDS[n % 4] ?? 'crash-after');
        const faults = new Map(kinds.map((kind, index) => [first + index * gap, kind]));
        await new World({ log, deliverEvery: 4, faults }).run().catch((error: unknown) => {
          throw new Error(`${kinds} at ${[...faults.keys()]}`, { cause: error });
        });
      }
    }
  });
});
