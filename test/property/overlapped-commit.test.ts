/** Recoveries whose commits are under way while records are folded, whatever is lost, drained, merged and collected on the way. */
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../core/decode/json-decoder.ts';
import { BehindFault, TransientFault } from '../../core/faults.ts';
import { Random } from '../../simulation/random.ts';
import { slowStores, turn, turns } from '../unit/task/slow-stores.ts';
import { PLENTY, TaskWorld } from '../unit/task/task-fixture.ts';
import { smallPlan } from '../world/small-log.ts';

const SEEDS = 60;

describe('any recovery', () => {
  it('comes to the same, whatever is lost, drained, merged and collected on the way', async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = new Random(`recovers ${seed}`);
      const knobs = {
        replayChunkRecords: random.pick([1, 2, 3, 7, 20]),
        chainLengthMax: random.pick([1, 2, 5, 64]),
        chainBytesMinToCompact: random.pick([1, 300, 3_000]),
        mergeFanIn: random.pick([2, 3, 8]),
        partBytesMax: random.pick([30, 100, 1_000]),
        partBytesMinToRewrite: random.pick([0, 100, 500]),
        idPartsMax: random.pick([1, 3]),
        drainBytesMin: random.pick([1, 50, 500, 100_000]),
        runFanIn: random.pick([2, 4]),
        runBlockBytes: random.pick([50, 1_000]),
        runBytesMaxToMergeInCommit: random.pick([1, 10_000]),
        retentionGraceMs: random.pick([1, 1_000_000]),
        unsavedAgeMsMax: random.pick([0, 1_000_000]),
      };
      const N = 160;
      const world = new TaskWorld(N, knobs, { seed, sizes: random.pick([[1], [1, 3, 2]]) });
      const ends = world.records
        .map((r, i) => (r.sequenceNumber === world.records[i + 1]?.sequenceNumber ? -1 : i + 1))
        .filter((i) => i > 0);
      const endAfter = (at: number) => ends.find((end) => end >= at) ?? N;
      let at = 0;
      let racing = false;
      const race = async () => {
        if (racing || random.below(4) > 0) return;
        racing = true;
        try {
          const head = await world.head();
          if (random.below(2) === 0) await world.rewriteHead({});
          else {
            const from = world.records.findIndex(
              (r) => BigInt(r.sequenceNumber) > BigInt(head.delivered.sequenceNumber),
            );
            const first = from < 0 ? N : from;
            if (first < N) {
              const to = endAfter(first + 1 + random.below(4));
              await world.task().deliver(world.batch(first, to), PLENTY);
            }
          }
        } finally {
          racing = false;
        }
      };
      const slow = async <T>(write: () => Promise<T>): Promise<T> => {
        await turns(random.below(6));
        if (!racing && random.below(60) === 0) throw new TransientFault('away');
        return write();
      };
      const ports = {
        ...slowStores(world, slow, race),
        pauses: { pause: async (ms: number) => world.clock.advance(ms), yield: turn },
      };
      let task = world.task(ports, { decoder: createJsonDecoder(smallPlan) });
      const again = async (run: () => Promise<unknown>) => {
        for (let tries = 0; ; tries++) {
          try {
            await run();
            return;
          } catch (fault) {
            const isFine = fault instanceof TransientFault || fault instanceof BehindFault;
            if (!isFine || tries > 50) throw new Error(`seed ${seed}`, { cause: fault });
          }
        }
      };
      at = endAfter(1 + random.below(9));
      await world.task().deliver(world.batch(0, at), PLENTY);
      while (at < N) {
        const head = await world.head();
        const found = world.records.findIndex(
          (r) => BigInt(r.sequenceNumber) > BigInt(head.delivered.sequenceNumber),
        );
        at = found < 0 ? N : found;
        if (at >= N) break;
        const to = endAfter(Math.min(N, at + 1 + random.below(40)));
        const what = random.below(6);
        if (what === 0) task = world.task(ports);
        if (what <= 2) await world.deliverOnly(to);
        else if (what === 3) await again(() => task.recover(PLENTY));
        else if (what === 4) await again(() => task.checkpoint(PLENTY));
        else
          await again(() =>
            task.deliver(world.batch(Math.max(0, at - random.below(5)), to), PLENTY),
          );
        if (random.below(2) === 0) await again(() => task.tick(PLENTY));
        world.clock.advance(random.below(2_000));
      }
      await again(() => task.recover(PLENTY));
      await again(() => task.checkpoint(PLENTY));
      const last = await world.head();
      expect(last.recordCount, `seed ${seed}`).toBe(N);
      expect(await world.answers(last), `seed ${seed}`).toEqual(world.expected(N));
      expect(last.counts, `seed ${seed}`).toEqual(world.expectedCounts(N));
    }
  }, 120_000);
});
