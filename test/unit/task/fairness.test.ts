/** What takes longer than a delivery comes to its end beside deliveries, and holds them up for a moment at most. */
import { describe, expect, it } from 'vitest';
import { TransientFault } from '../../../core/faults.ts';
import { HOLD_MS_MAX, REDRIVE_BEGINNINGS_MAX } from '../../../core/limits.ts';
import type { CheckpointStore, Pauses, QuarantineIndex } from '../../../core/ports.ts';
import type { SliceTask, TaskPorts } from '../../../core/task/slice-task.ts';
import { SLICE } from '../../world/small-log.ts';
import { BROKEN, begun, type RedriveWorld, WHOLE } from './redrive-fixture.ts';
import { overriding, PLENTY } from './task-fixture.ts';

/** Another environment, which delivers a record whenever this one is about to write HEAD; it waits while it is asked to. */
class Rival {
  readonly #world: RedriveWorld;
  readonly #task: SliceTask;
  readonly #waiting: (() => void)[] = [];
  /** Records that it has delivered, or waits to. */
  next = 10;
  underWay: Promise<unknown> = Promise.resolve();

  constructor(world: RedriveWorld) {
    this.#world = world;
    const pauses: Pauses = {
      yield: async () => {},
      pause: () => new Promise<void>((resolve) => this.#waiting.push(resolve)),
    };
    this.#task = world.task({ pauses });
  }

  heads(): CheckpointStore {
    const { heads } = this.#world;
    return this.#world.headsThatWrite(async (item, ifRevision, passing) => {
      if (this.#waiting.length === 0) await this.#deliver();
      const answer = await heads.writeHead(item, ifRevision, passing);
      for (const goOn of this.#waiting.splice(0)) goOn();
      return answer;
    });
  }

  /** One delivery, until it is done or waits. */
  async #deliver(): Promise<void> {
    const batch = this.#world.batch(this.next, ++this.next);
    if (batch.length === 0) throw new Error('the rival has no more records: it won every race');
    this.underWay = this.#task.deliver(batch, PLENTY);
    let isDone = false;
    void this.underWay.finally(() => {
      isDone = true;
    });
    while (!isDone && this.#waiting.length === 0) await new Promise(setImmediate);
  }
}

/** An environment that never holds back wins every race, for so many writes. */
function overtaken(world: RedriveWorld, times: number): Partial<TaskPorts> {
  let left = times;
  const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
    if (left-- > 0) await world.rewriteHead({});
    return world.heads.writeHead(item, ifRevision, passing);
  });
  return { heads };
}

async function beside(
  run: (task: SliceTask) => Promise<unknown>,
): Promise<{ world: RedriveWorld; rival: Rival }> {
  const world = await begun();
  await world.requestFor(WHOLE);
  const rival = new Rival(world);
  await run(world.task({ heads: rival.heads() }));
  await rival.underWay;
  return { world, rival };
}

describe('beside an environment that delivers a record in each attempt', () => {
  it('a redrive comes to its end', async () => {
    const { world, rival } = await beside((task) => task.tick(PLENTY));
    const [request] = await world.inbox.list(SLICE, null, 10);
    expect(request?.done?.redriven).toEqual([world.idOf(WHOLE)]);
    expect((await world.head()).digest.value().count).toBe(rival.next);
  });

  it('a checkpoint writes its base', async () => {
    const { world } = await beside((task) => task.checkpoint(PLENTY));
    expect((await world.head()).base).not.toBeNull();
  });

  it('a recovery opens the slice', async () => {
    const { world } = await beside((task) => task.recover(PLENTY));
    expect((await world.head()).status).toBe('OPEN');
  });

  it('leaves no hold behind', async () => {
    const { world } = await beside((task) => task.tick(PLENTY));
    expect((await world.heads.readHead(SLICE))?.hold).toBeUndefined();
  });
});

describe('a hold', () => {
  it('whose owner died costs an environment a moment, once, by no clock', async () => {
    const world = await begun();
    let pausedMs = 0;
    const pauses: Pauses = {
      yield: async () => {},
      pause: async (ms) => {
        pausedMs += ms;
        // A clock that goes back must not make it longer.
        world.clock.set(world.clock.nowMs() - 3_600_000);
      },
    };
    const task = world.task({ pauses });
    for (let at = 10; at < 13; at++) {
      await world.heads.holdHead(SLICE, 'of the dead', null);
      await task.deliver(world.batch(at, at + 1), PLENTY);
    }
    expect(pausedMs).toBe(HOLD_MS_MAX);
    expect(HOLD_MS_MAX).toBeLessThanOrEqual(3_000);
    expect((await world.heads.readHead(SLICE))?.hold).toBeUndefined();
  });

  it('whose owner died does not hold up one environment after the other where each has time for that wait only', async () => {
    const world = await begun();
    await world.heads.holdHead(SLICE, 'of the dead', null);
    const timedOut = new Error('no time is left');
    const heads = world.headsThatWrite(() => Promise.reject(timedOut));
    let waits = 0;
    for (let environment = 0; environment < 3; environment++) {
      let pausedMs = 0;
      const pauses: Pauses = {
        yield: async () => {},
        pause: async (ms) => {
          pausedMs += ms;
        },
      };
      const delivery = world.task({ heads, pauses }).deliver(world.batch(10, 11), PLENTY);
      await expect(delivery).rejects.toThrow(timedOut);
      if (pausedMs > 0) waits++;
    }
    expect(waits).toBe(1);
  });

  it('is waited for, too, by a delivery that had read HEAD before it was asked for', async () => {
    const world = await begun();
    const waits: string[] = [];
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (waits.length === 0) await world.heads.holdHead(SLICE, 'of another', null);
      const answer = await world.heads.writeHead(item, ifRevision, passing);
      waits.push(answer.outcome);
      return answer;
    });
    const pauses: Pauses = {
      yield: async () => {},
      pause: async () => {
        waits.push('pause');
        await world.heads.holdHead(SLICE, null, 'of another');
      },
    };
    await world.task({ heads, pauses }).deliver(world.batch(10, 11), PLENTY);
    expect(waits).toEqual(['refused', 'pause', 'applied']);
    expect((await world.head()).digest.value().count).toBe(11);
  });

  it('is waited for by another that asks, which puts its own over none', async () => {
    const world = await begun();
    const holds: (string | undefined)[] = [];
    const pauses: Pauses = {
      yield: async () => {},
      pause: async () => {
        holds.push((await world.heads.readHead(SLICE))?.hold);
        if (holds.length === 3) await world.heads.holdHead(SLICE, null, 'of another');
      },
    };
    const lost = overtaken(world, 2).heads as CheckpointStore;
    const heads: CheckpointStore = overriding(lost, {
      holdHead: async (sliceId, hold, instead) => {
        if (holds.length === 0) await world.heads.holdHead(sliceId, 'of another', null);
        await world.heads.holdHead(sliceId, hold, instead);
      },
    });
    await world.task({ heads, pauses }).checkpoint(PLENTY);
    expect(holds).toEqual(['of another', 'of another', 'of another']);
    expect((await world.head()).base).not.toBeNull();
  });

  it('of the dead keeps no slice from going back to a sound epoch', async () => {
    const world = await begun();
    const { delta } = await world.head();
    world.damage(delta as NonNullable<typeof delta>);
    await world.heads.holdHead(SLICE, 'of the dead', null);
    await world.task().deliver(world.batch(10, 11), PLENTY);
    expect((await world.head()).timeline).toBe(1);
  });

  it('that ends is waited for no longer', async () => {
    const world = await begun();
    await world.heads.holdHead(SLICE, 'of another', null);
    const pauses: Pauses = {
      pause: () => world.heads.holdHead(SLICE, null, 'of another'),
      yield: async () => {},
    };
    await world.task({ pauses }).deliver(world.batch(10, 11), PLENTY);
    expect((await world.head()).digest.value().count).toBe(11);
  });

  it('is asked for by no delivery, and by nothing that wins its races', async () => {
    const world = await begun();
    const asked: unknown[] = [];
    const seen = (heads: CheckpointStore): CheckpointStore =>
      overriding(heads, { holdHead: async (...all: unknown[]) => void asked.push(all) });
    const lost = overtaken(world, 3).heads as CheckpointStore;
    await world.task({ heads: seen(lost) }).deliver(world.batch(10, 11), PLENTY);
    await world.requestFor(WHOLE);
    await world.task({ heads: seen(world.heads) }).tick(PLENTY);
    await world.task({ heads: seen(world.heads) }).checkpoint(PLENTY);
    expect(asked).toEqual([]);
  });

  it('is taken away where its owner has nothing to commit in the end', async () => {
    const world = await begun();
    await world.requestFor(WHOLE);
    const heads = overtaken(world, 99).heads as CheckpointStore;
    await expect(world.task({ heads }).tick(PLENTY)).rejects.toThrow(TransientFault);
    expect((await world.heads.readHead(SLICE))?.hold).toBeUndefined();
  });
});

describe('a request that lost races', () => {
  it('however many, is not taken for one that kills its owners', async () => {
    const world = await begun();
    const id = await world.requestFor(WHOLE);
    for (let tick = 0; tick <= REDRIVE_BEGINNINGS_MAX; tick++) {
      const task = world.task(overtaken(world, 99));
      await expect(task.tick(PLENTY)).rejects.toThrow(TransientFault);
    }
    await world.task().tick(PLENTY);
    expect(await world.outcomeOf(id)).toEqual({ redriven: [WHOLE], refused: [] });
  });

  it('nor is one that met faults of a store', async () => {
    const world = await begun();
    const id = await world.requestFor(WHOLE);
    const quarantine = overriding(world.quarantine as QuarantineIndex, {
      read: async () => {
        throw new TransientFault('no answer');
      },
    });
    for (let tick = 0; tick <= REDRIVE_BEGINNINGS_MAX; tick++) {
      await expect(world.task({ quarantine }).tick(PLENTY)).rejects.toThrow(TransientFault);
    }
    await world.task().tick(PLENTY);
    expect((await world.outcomeOf(id))?.redriven).toEqual([WHOLE]);
  });

  it('but one whose owners die is refused at last', async () => {
    const world = await begun();
    const id = await world.requestFor(WHOLE, BROKEN);
    for (let death = 0; death < REDRIVE_BEGINNINGS_MAX; death++) await world.inbox.begin(SLICE, id);
    await world.task().tick(PLENTY);
    const refused = (await world.outcomeOf(id))?.refused;
    expect(refused).toHaveLength(2);
    expect(refused?.[0]).toMatch(/owners died again and again/);
  });
});
