/** Recoveries whose commits are under way while records are folded, whatever is lost, drained, merged and collected on the way. */
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../core/decode/json-decoder.ts';
import { BehindFault, TransientFault } from '../../core/faults.ts';
import type { BlobStore, CheckpointStore } from '../../core/ports.ts';
import { overriding, PLENTY, TaskWorld } from '../unit/task/task-fixture.ts';
import { smallPlan } from '../world/small-log.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
async function turns(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await turn();
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

const FROM = 1;
const SEEDS = 60;

describe('any recovery', () => {
  it('comes to the same, whatever is lost, drained, merged and collected on the way', async () => {
    for (let seed = FROM; seed < FROM + SEEDS; seed++) {
      const below = random(seed * 7919 + 13);
      const pick = <T>(...all: T[]): T => all[below(all.length)] as T;
      const knobs = {
        replayChunkRecords: pick(1, 2, 3, 7, 20),
        chainLengthMax: pick(1, 2, 5, 64),
        chainBytesMinToCompact: pick(1, 300, 3_000),
        mergeFanIn: pick(2, 3, 8),
        partBytesMax: pick(30, 100, 1_000),
        partBytesMinToRewrite: pick(0, 100, 500),
        idPartsMax: pick(1, 3),
        drainBytesMin: pick(1, 50, 500, 100_000),
        runFanIn: pick(2, 4),
        runBlockBytes: pick(50, 1_000),
        runBytesMaxToMergeInCommit: pick(1, 10_000),
        retentionGraceMs: pick(1, 1_000_000),
        unsavedAgeMsMax: pick(0, 1_000_000),
      };
      const N = 160;
      const world = new TaskWorld(N, knobs, { seed, sizes: pick([1], [1, 3, 2]) });
      const ends = world.records
        .map((r, i) => (r.sequenceNumber === world.records[i + 1]?.sequenceNumber ? -1 : i + 1))
        .filter((i) => i > 0);
      const endAfter = (at: number) => ends.find((end) => end >= at) ?? N;
      let at = 0;
      let racing = false;
      const race = async () => {
        if (racing || below(4) > 0) return;
        racing = true;
        try {
          const head = await world.head();
          if (below(2) === 0) await world.rewriteHead({});
          else {
            const from = world.records.findIndex(
              (r) => BigInt(r.sequenceNumber) > BigInt(head.delivered.sequenceNumber),
            );
            const first = from < 0 ? N : from;
            if (first < N) {
              const to = endAfter(first + 1 + below(4));
              await world.task().deliver(world.batch(first, to), PLENTY);
            }
          }
        } finally {
          racing = false;
        }
      };
      const slow = async <T>(write: () => Promise<T>): Promise<T> => {
        await turns(below(6));
        if (!racing && below(60) === 0) throw new TransientFault('away');
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
        heads: world.headsThatWrite(async (item, revision, hold) => {
          await race();
          return slow(() => world.heads.writeHead(item, revision, hold));
        }) as CheckpointStore,
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
      at = endAfter(1 + below(9));
      await world.task().deliver(world.batch(0, at), PLENTY);
      while (at < N) {
        const head = await world.head();
        const found = world.records.findIndex(
          (r) => BigInt(r.sequenceNumber) > BigInt(head.delivered.sequenceNumber),
        );
        at = found < 0 ? N : found;
        if (at >= N) break;
        const to = endAfter(Math.min(N, at + 1 + below(40)));
        const what = below(6);
        if (what === 0) task = world.task(ports);
        if (what <= 2) await world.deliverOnly(to);
        else if (what === 3) await again(() => task.recover(PLENTY));
        else if (what === 4) await again(() => task.checkpoint(PLENTY));
        else await again(() => task.deliver(world.batch(Math.max(0, at - below(5)), to), PLENTY));
        if (below(2) === 0) await again(() => task.tick(PLENTY));
        world.clock.advance(below(2_000));
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
