/** A record that kills, while commits of the records before it are under way: it is isolated in finite tries, and nothing else with it. */
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { Random } from '../../../simulation/random.ts';
import { Crash, type Life } from '../../world/fault-switch.ts';
import { type SmallRecord, smallPlan, soundLog } from '../../world/small-log.ts';
import { slowStores, turn, turns } from './slow-stores.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

describe('a record that kills while a commit is under way', () => {
  it('is quarantined alone', async () => {
    let worst = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const random = new Random(`kills ${seed}`);
      const world = new TaskWorld(soundLog(80), {
        replayChunkRecords: random.pick([1, 2, 5, 10, 30]),
        chainLengthMax: random.pick([2, 64]),
      });
      await world.task().deliver(world.batch(0, 5), PLENTY);
      await world.deliverOnly(80);
      const lethal = [
        5 + random.below(75),
        ...(random.below(3) === 0 ? [5 + random.below(75)] : []),
      ];
      const slowness = random.pick([0, 3, 30, 400]);
      const survives = random.below(2) === 0;
      let deaths = 0;
      for (; deaths < 200; deaths++) {
        const life: Life = { dead: false };
        const decoder = createJsonDecoder(smallPlan);
        const killing: typeof decoder = {
          decode: (data, fields) => {
            const { id } = JSON.parse(new TextDecoder().decode(data)) as SmallRecord;
            if (lethal.includes(id)) {
              life.dead = true;
              throw new Crash('out of memory');
            }
            return decoder.decode(data, fields);
          },
        };
        const slow = async <T>(write: () => Promise<T>): Promise<T> => {
          await turns(random.below(slowness + 1));
          // What was sent before the death may be applied, or not.
          if (life.dead && !survives) throw new Crash('gone');
          return write();
        };
        const pauses = { pause: async () => {}, yield: turn };
        const ports = { ...slowStores(world, slow), pauses };
        try {
          await world.mortalTask(life, { decoder: killing }, ports).tick(PLENTY);
          break;
        } catch (error) {
          if (!(error instanceof Crash)) throw error;
          await turns(30);
        }
      }
      await world.task().checkpoint(PLENTY);
      worst = Math.max(worst, deaths);
      const listed = await world.quarantine.list(null, 1_000);
      expect(
        listed.map(({ sequenceNumber, reason }) => [sequenceNumber, reason]),
        `seed ${seed}`,
      ).toEqual(
        [...new Set(lethal)]
          .sort((a, b) => a - b)
          .map((id) => [world.records[id]!.sequenceNumber, 'kills-its-environment']),
      );
      expect((await world.head()).recordCount).toBe(80);
    }
    expect(worst).toBeLessThan(60);
  }, 100_000);
});
