/** Commits of a replay that are under way while the records after them are folded. */
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { RecordDecoder } from '../../../core/decode/record-decoder.ts';
import { BehindFault, TransientFault } from '../../../core/faults.ts';
import type { BlobStore, CheckpointStore } from '../../../core/ports.ts';
import { SLICE, smallPlan } from '../../world/small-log.ts';
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
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
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
});
