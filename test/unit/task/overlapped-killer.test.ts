/** A record that kills, while commits of the records before it are under way: it is isolated in finite tries, and nothing else with it. */
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { BlobStore } from '../../../core/ports.ts';
import { Crash, type Life } from '../../world/fault-switch.ts';
import { type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { overriding, PLENTY, TaskWorld } from './task-fixture.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function log(length: number): SmallRecord[] {
  return Array.from({ length }, (_, id) => ({
    id,
    t: 100_000 + id * 700,
    type: id % 3 === 0 ? 'b' : 'a',
    key: `k${id % 4}`,
    amount: id,
  }));
}

function random(seed: number): (limit: number) => number {
  let state = seed * 2 + 1;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}

describe('a record that kills while a commit is under way', () => {
  it('is quarantined alone', async () => {
    let worst = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const below = random(seed * 7919 + 3);
      const pick = <T>(...all: T[]): T => all[below(all.length)] as T;
      const world = new TaskWorld(log(80), {
        replayChunkRecords: pick(1, 2, 5, 10, 30),
        chainLengthMax: pick(2, 64),
      });
      await world.task().deliver(world.batch(0, 5), PLENTY);
      await world.deliverOnly(80);
      const lethal = [5 + below(75), ...(below(3) === 0 ? [5 + below(75)] : [])];
      const slowness = pick(0, 3, 30, 400);
      const survives = below(2) === 0;
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
          for (let left = below(slowness + 1); left > 0; left--) await turn();
          // What was sent before the death may be applied, or not.
          if (life.dead && !survives) throw new Crash('gone');
          return write();
        };
        const { items, objects } = world.blobs;
        const create =
          (store: BlobStore): BlobStore['create'] =>
          (key, bytes) =>
            slow(() => store.create(key, bytes));
        const ports = {
          blobs: {
            items: overriding(items, { create: create(items) }),
            objects: overriding(objects, { create: create(objects) }),
          },
          heads: world.headsThatWrite((item, revision, hold) =>
            slow(() => world.heads.writeHead(item, revision, hold)),
          ),
          pauses: { pause: async () => {}, yield: turn },
        };
        try {
          await world.mortalTask(life, { decoder: killing }, ports).tick(PLENTY);
          break;
        } catch (error) {
          if (!(error instanceof Crash)) throw error;
          for (let left = 0; left < 30; left++) await turn();
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
