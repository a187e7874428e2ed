/** Commits of a replay that are under way while the records after them are folded. */
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { RecordDecoder } from '../../../core/decode/record-decoder.ts';
import { BehindFault, TransientFault } from '../../../core/faults.ts';
import type { BlobStore, CheckpointStore } from '../../../core/ports.ts';
import { SLICE, smallPlan } from '../../world/small-log.ts';
import { turn, turns } from './slow-stores.ts';
import { overriding, PLENTY, TaskWorld, timeFor } from './task-fixture.ts';

/** 10 records are in epoch 1 and 40 are delivered; a replay takes 10 at a time. */
async function behind(): Promise<TaskWorld> {
  const world = new TaskWorld(60, { replayChunkRecords: 10 });
  await world.task().deliver(world.batch(0, 10), PLENTY);
  await world.deliverOnly(40);
  return world;
}

/** Notes which writes are under way. Each takes a few turns. */
class Writes {
  underWay = 0;
  mostFolded = 0;
  readonly #world: TaskWorld;

  constructor(world: TaskWorld) {
    this.#world = world;
  }

  get blobs() {
    const { items, objects } = this.#world.blobs;
    const create: BlobStore['create'] = (key, bytes) => this.#noted(() => items.create(key, bytes));
    return { items: overriding(items, { create }), objects };
  }

  heads(before: () => Promise<unknown> = async () => {}): CheckpointStore {
    return this.#world.headsThatWrite(async (item, revision, hold) => {
      await before();
      return this.#noted(() => this.#world.heads.writeHead(item, revision, hold));
    });
  }

  /** A decoder that notes what is folded while something is written; `sees` is told of each record. */
  decoder(sees: (count: number) => void = () => {}): RecordDecoder {
    const decoder = createJsonDecoder(smallPlan);
    let count = 0;
    return overriding(decoder, {
      decode: (...args: Parameters<RecordDecoder['decode']>) => {
        sees(++count);
        if (this.underWay > 0) this.mostFolded++;
        return decoder.decode(...args);
      },
    });
  }

  async #noted<T>(write: () => Promise<T>): Promise<T> {
    this.underWay++;
    try {
      await turns(20);
      return await write();
    } finally {
      this.underWay--;
    }
  }
}

describe('a commit of a replay', () => {
  it('is under way while the next chunk is folded, and comes to the same', async () => {
    const world = await behind();
    const writes = new Writes(world);
    const ports = { blobs: writes.blobs, heads: writes.heads() };
    const report = await world.task(ports, { decoder: writes.decoder() }).tick(PLENTY);
    expect(writes.mostFolded).toBe(20);
    expect(writes.underWay).toBe(0);
    expect(report).toMatchObject({ replayed: 30, refused: 0 });
    const head = await world.head();
    expect(head.epoch).toBe(1 + report.commits);
    expect(await world.answers(head)).toEqual(world.expected(40));
  });

  it.each([0, 1, 2])(
    'that loses its race (the %s. write) takes back what was folded after it',
    async (lost) => {
      for (const isSameEpoch of [true, false]) {
        const world = await behind();
        const writes = new Writes(world);
        let count = 0;
        const heads = writes.heads(async () => {
          if (count++ !== lost) return;
          // HEAD alone, or an epoch of another owner.
          if (isSameEpoch) await world.rewriteHead({});
          else await world.task().deliver(world.batch(40, 45), PLENTY);
        });
        const task = world.task({ blobs: writes.blobs, heads });
        await task.deliver(world.batch(40, 50), PLENTY);
        await task.checkpoint(PLENTY);
        expect(count).toBeGreaterThan(lost);
        expect(await world.answers(await world.head())).toEqual(world.expected(50));
      }
    },
  );

  it('takes the chunks together that are folded before the one before it is written', async () => {
    const world = new TaskWorld(60, { replayChunkRecords: 2 });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    await world.deliverOnly(50);
    const writes = new Writes(world);
    const ports = { blobs: writes.blobs, heads: writes.heads() };
    const report = await world.task(ports).tick(PLENTY);
    expect(report.replayed).toBe(40);
    expect(report.commits).toBeLessThan(6);
    expect(await world.answers(await world.head())).toEqual(world.expected(50));
  });

  it('is not left running by an invocation that runs out of time, or whose writes or folds fail', async () => {
    for (const end of ['time', 'write', 'fold'] as const) {
      const world = await behind();
      const writes = new Writes(world);
      let count = 0;
      const heads = writes.heads(async () => {
        if (end === 'write' && count++ > 0) throw new TransientFault('the store is away');
      });
      const decoder = writes.decoder((folded) => {
        if (end === 'fold' && folded === 15) throw new Error('it threw');
      });
      const task = world.task({ blobs: writes.blobs, heads }, { decoder });
      const ended = task.tick(end === 'time' ? timeFor(1) : PLENTY);
      if (end === 'time') await expect(ended).rejects.toThrow(BehindFault);
      else if (end === 'write') await expect(ended).rejects.toThrow(TransientFault);
      else await ended;
      expect(writes.underWay).toBe(0);
      await world.task().deliver(world.batch(40, 50), PLENTY);
      const head = await world.head();
      if (end !== 'fold') expect(await world.answers(head)).toEqual(world.expected(50));
      else expect(head.recordCount).toBe(50);
      expect(head.counts.quarantined - world.expectedCounts(50).quarantined).toBe(
        end === 'fold' ? 1 : 0,
      );
    }
  });

  it('comes before the next chunk where environments died', async () => {
    const world = await behind();
    const writes = new Writes(world);
    const { cursor } = await world.head();
    await world.ports.suspicions.write(SLICE, {
      position: cursor,
      attempts: 3,
      chunkRecords: 100,
    });
    const ports = { blobs: writes.blobs, heads: writes.heads() };
    await world.task(ports, { decoder: writes.decoder() }).tick(PLENTY);
    expect(writes.mostFolded).toBe(0);
    expect(await world.answers(await world.head())).toEqual(world.expected(40));
  });

  it('is followed by a look at the clock: what is begun after it has the whole reserve', async () => {
    const world = new TaskWorld(60, { replayChunkRecords: 10, commitReserveMs: 5_000 });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    await world.deliverOnly(40);
    const deadlineMs = world.clock.nowMs() + 6_000;
    // Each commit takes 4 s, less than the reserve.
    const heads = world.headsThatWrite(async (item, revision, hold) => {
      await turns(20);
      world.clock.advance(4_000);
      return world.heads.writeHead(item, revision, hold);
    });
    const ended = world.task({ heads }).tick(() => deadlineMs - world.clock.nowMs());
    await ended.catch((fault: unknown) => {
      if (!(fault instanceof BehindFault)) throw fault;
    });
    expect(deadlineMs - world.clock.nowMs()).toBeGreaterThanOrEqual(0);
  });

  it('that lost its race does not count twice what was read again', async () => {
    const world = new TaskWorld(60, { replayChunkRecords: 10 });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    await world.deliverOnly(40);
    let count = 0;
    const heads = world.headsThatWrite(async (item, revision, hold) => {
      await turns(20);
      if (count++ === 0) await world.rewriteHead({});
      return world.heads.writeHead(item, revision, hold);
    });
    const report = await world.task({ heads }).tick(PLENTY);
    expect(report.replayed).toBe(30);
  });

  it('has no more records than a halved chunk once races were lost', async () => {
    const world = new TaskWorld(3_000, { replayChunkRecords: 400 });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    await world.deliverOnly(2_900);
    let count = 0;
    const steps: number[] = [];
    const heads = world.headsThatWrite(async (item, revision, hold) => {
      await turns(60);
      const before = await world.head();
      if (count++ < 2) await world.rewriteHead({});
      const answer = await world.heads.writeHead(item, revision, hold);
      if (answer.outcome === 'applied')
        steps.push((await world.head()).recordCount - before.recordCount);
      return answer;
    });
    await world.task({ heads, pauses: { ...world.ports.pauses, yield: turn } }).tick(PLENTY);
    // Of the attempt after two losses: a quarter of a chunk is folded at a time.
    expect(Math.max(...steps.slice(1))).toBeLessThanOrEqual(100);
  });

  it.each([false, true])(
    'leaves nothing below the floor that no later base collects, whether or not a fault of the replay overtook it (%s)',
    async (fails) => {
      const knobs = { replayChunkRecords: 10, chainLengthMax: 1, retentionGraceMs: 1 };
      const world = new TaskWorld(300, knobs);
      let isSlow = false;
      let reads = 0;
      const { items, objects } = world.blobs;
      const create: BlobStore['create'] = async (key, bytes) => {
        world.clock.advance(1_000);
        if (isSlow) await turns(20);
        return objects.create(key, bytes);
      };
      const source = overriding(world.source, {
        readAfter: async (...args: Parameters<typeof world.source.readAfter>) => {
          // The first chunk is read; while its commit is under way the stream is away.
          if (isSlow && fails && ++reads === 2) throw new TransientFault('the stream is away');
          return world.source.readAfter(...args);
        },
      });
      const blobs = { items, objects: overriding(objects, { create }) };
      const task = world.task({ blobs, source });
      for (let at = 0; at < 60; at += 10) await task.deliver(world.batch(at, at + 10), PLENTY);
      await world.deliverOnly(90);
      const before = await world.head();
      isSlow = true;
      const ended = task.tick(PLENTY);
      if (fails) await expect(ended).rejects.toThrow(TransientFault);
      else await ended;
      isSlow = false;
      const after = await world.head();
      // The commit that the fault overtook moved the floor.
      expect(after.epoch).toBeGreaterThan(before.epoch);
      expect(after.collectBelow).toBeGreaterThan(before.collectBelow);
      for (let at = 90; at < 300; at += 10) await task.deliver(world.batch(at, at + 10), PLENTY);
      const { collectBelow } = await world.head();
      const below = [...(await world.allBlobs()).keys()].filter((key) => {
        const epoch = Number(/\/delta\/(?:\d+[/-])?0*(\d+)/.exec(key)?.[1] ?? Number.NaN);
        return epoch < collectBelow;
      });
      expect(below).toEqual([]);
    },
  );
});
