import { describe, expect, it } from 'vitest';
import { FAULT_KINDS } from '../world/fault-switch.ts';
import { randomLog } from '../world/small-log.ts';
import { World } from '../world/world.ts';

const log = randomLog(30, 7);

describe('a world of one slice', () => {
  it('gives what a plain recount gives when nothing goes wrong', async () => {
    const world = new World({ log });
    await world.run();
    expect(world.epochsSeen.size).toBeGreaterThan(8);
    expect(world.faultSwitch.names).toContain('objects.delete');
    expect(world.faultSwitch.names).toContain('quarantine.put');
  });
});
