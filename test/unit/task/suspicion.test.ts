/** Records that kill their environment, and records whose folding throws: found, quarantined, and nothing else with them. */
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { RecordDecoder } from '../../../core/decode/record-decoder.ts';
import { CorruptStateFault, TransientFault } from '../../../core/faults.ts';
import type { BlobStore, CheckpointStore } from '../../../core/ports.ts';
import type { SliceTask, TaskPorts } from '../../../core/task/slice-task.ts';
import { Crash, type Life } from '../../world/fault-switch.ts';
import { SLICE, type SmallRecord, smallPlan, soundLog } from '../../world/small-log.ts';
import { emptyState } from '../state/fold-fixture.ts';
import { begun, WHOLE } from './redrive-fixture.ts';
import { overriding, PLENTY, TaskWorld, textOf, timeFor } from './task-fixture.ts';

const DEATHS_MAX = 120;
const LENGTH = 60;

/** Does something at the records with these ids. */
function decoderWith(ids: readonly number[], act: () => never): RecordDecoder {
  const decoder = createJsonDecoder(smallPlan);
  return {
    decode: (data, fields) => {
      const { id } = JSON.parse(new TextDecoder().decode(data)) as SmallRecord;
      if (ids.includes(id)) act();
      return decoder.decode(data, fields);
    },
  };
}

const throwing = (...ids: number[]) =>
  decoderWith(ids, () => {
    throw new TypeError('a bug');
  });

const killing = (life: Life, ...ids: number[]) =>
  decoderWith(ids, () => {
    life.dead = true;
    throw new Crash('out of memory');
  });

/** Invokes one environment after the other until one lives to answer; how many died. */
async function untilAnswered(
  world: TaskWorld,
  lethal: readonly number[],
  invoke: (task: SliceTask) => Promise<unknown>,
  ports: (life: Life) => Partial<TaskPorts> = () => ({}),
): Promise<number> {
  for (let deaths = 0; deaths < DEATHS_MAX; deaths++) {
    const life = { dead: false };
    const task = world.mortalTask(life, { decoder: killing(life, ...lethal) }, ports(life));
    try {
      await invoke(task);
      return deaths;
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
  }
  throw new Error(`${DEATHS_MAX} environments died`);
}

/** All of the log is folded, but for these records, which are in the quarantine for this reason. */
async function expectPutAside(
  world: TaskWorld,
  inQuarantine: readonly number[],
  reason: 'kills-its-environment' | 'fold-failed',
  count = LENGTH,
): Promise<void> {
  const state = emptyState(smallPlan);
  for (const [index, record] of world.batch(0, count).entries()) {
    state.fold(record, inQuarantine.includes(index) ? { reason, detail: '' } : null);
  }
  const head = await world.head();
  expect(head.counts).toEqual(state.progress.counts);
  state.commit();
  expect(await world.answers(head)).toEqual(textOf(state));
  const listed = await world.quarantine.list(null, 1_000);
  expect(listed.map((record) => [record.sequenceNumber, record.reason])).toEqual(
    inQuarantine.map((index) => [world.records[index]!.sequenceNumber, reason]),
  );
}

describe('a record that kills its environment', () => {
  it.each([0, 1, 7, 8, 31, 58, 59])(
    'is quarantined alone, wherever it lies in its batch: at %i',
    async (at) => {
      const world = new TaskWorld(soundLog());
      const deaths = await untilAnswered(world, [at], (task) =>
        task.deliver(world.records, PLENTY),
      );
      await expectPutAside(world, [at], 'kills-its-environment');
      expect(deaths).toBeGreaterThan(2);
      expect(deaths).toBeLessThan(35);
      expect(await world.ports.suspicions.read(SLICE)).toSatisfy(
        (note: unknown) => note === null || (note as { attempts: number }).attempts < 2,
      );
    },
  );

  it('in a batch of its own needs three deaths', async () => {
    const world = new TaskWorld(soundLog(11));
    await world.task().deliver(world.batch(0, 10), PLENTY);
    const deaths = await untilAnswered(world, [10], (task) =>
      task.deliver(world.batch(10, 11), PLENTY),
    );
    expect(deaths).toBe(3);
    await expectPutAside(world, [10], 'kills-its-environment', 11);
  });

  it('stays condemned where the commit that quarantines it loses its races', async () => {
    const world = new TaskWorld(soundLog(11));
    await world.task().deliver(world.batch(0, 10), PLENTY);
    let races = 0;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (races++ < 4) await world.task().checkpoint(PLENTY);
      return world.heads.writeHead(item, ifRevision, passing);
    });
    const deaths = await untilAnswered(
      world,
      [10],
      (task) => task.deliver(world.batch(10, 11), PLENTY),
      () => ({ heads }),
    );
    expect(races).toBeGreaterThan(4);
    expect(deaths).toBe(3);
    await expectPutAside(world, [10], 'kills-its-environment', 11);
  });

  it('is found among several', async () => {
    const world = new TaskWorld(soundLog());
    await untilAnswered(world, [5, 6, 44], (task) => task.deliver(world.records, PLENTY));
    await expectPutAside(world, [5, 6, 44], 'kills-its-environment');
  });

  it('is found though the event source brings other batches each time', async () => {
    const world = new TaskWorld(soundLog());
    let call = 0;
    await untilAnswered(world, [20], async (task) => {
      const upTo = 30 + (call++ % 4) * 10;
      await task.deliver(world.batch(0, upTo), PLENTY);
    });
    await world.task().deliver(world.records, PLENTY);
    await expectPutAside(world, [20], 'kills-its-environment');
  });

  it('is found in a replay too', async () => {
    const world = new TaskWorld(soundLog(), { unsavedAgeMsMax: 10_000, replayChunkRecords: 20 });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    await world.deliverOnly(55);
    await untilAnswered(world, [33], (task) => task.deliver(world.batch(55, 60), PLENTY));
    await world.task().checkpoint(PLENTY);
    await expectPutAside(world, [33], 'kills-its-environment');
  });

  it.each([11, 13, 20])(
    'is found behind a replay that no checkpoint holds, up to %i',
    async (at) => {
      const world = new TaskWorld(soundLog(), { unsavedAgeMsMax: 10_000 });
      await world.task().deliver(world.batch(0, 10), PLENTY);
      await world.deliverOnly(at);
      const deaths = await untilAnswered(world, [at], (task) =>
        task.deliver(world.batch(at, 60), PLENTY),
      );
      expect(deaths).toBeLessThan(35);
      await world.task().checkpoint(PLENTY);
      await expectPutAside(world, [at], 'kills-its-environment');
    },
  );

  it('is found behind a record that throws', async () => {
    const world = new TaskWorld(soundLog());
    let deaths = 0;
    for (; deaths < DEATHS_MAX; deaths++) {
      const life = { dead: false };
      const kills = killing(life, 50);
      const throws = throwing(10);
      const decoder: RecordDecoder = {
        decode: (data, fields) => throws.decode(data, fields) ?? kills.decode(data, fields),
      };
      const delivery = world.mortalTask(life, { decoder }).deliver(world.records, PLENTY);
      const end = await delivery.then(
        () => null,
        (error: unknown) => error,
      );
      if (end === null) break;
      expect(end).toBeInstanceOf(Crash);
    }
    expect(deaths).toBeLessThan(35);
    const reasons = new Map([
      [10, 'fold-failed'],
      [50, 'kills-its-environment'],
    ] as const);
    const listed = await world.quarantine.list(null, 1_000);
    expect(listed.map((record) => [record.sequenceNumber, record.reason])).toEqual(
      [...reasons].map(([index, reason]) => [world.records[index]!.sequenceNumber, reason]),
    );
    expect((await world.head()).digest.value().count).toBe(LENGTH);
  });

  it('kills one with a memory first, and is found all the same', async () => {
    const world = new TaskWorld(soundLog());
    const life = { dead: false };
    const warm = world.mortalTask(life, { decoder: killing(life, 40) });
    await warm.deliver(world.batch(0, 30), PLENTY);
    await expect(warm.deliver(world.batch(30, 60), PLENTY)).rejects.toThrow(Crash);
    await untilAnswered(world, [40], (task) => task.deliver(world.batch(30, 60), PLENTY));
    await expectPutAside(world, [40], 'kills-its-environment');
  });
});

describe('an innocent death', () => {
  it('changes nothing', async () => {
    const world = new TaskWorld(soundLog());
    const life = { dead: false };
    const task = world.mortalTask(life, { decoder: killing(life, 30) });
    await expect(task.deliver(world.records, PLENTY)).rejects.toThrow(Crash);
    const report = await world.task().deliver(world.records, PLENTY);
    expect(report).toMatchObject({ folded: LENGTH, commits: 1 });
    await expectPutAside(world, [], 'kills-its-environment');
  });

  it('while the epoch is stored quarantines nothing, however often', async () => {
    const world = new TaskWorld(soundLog());
    let left = 20;
    const dying = (life: Life): Partial<TaskPorts> => {
      const { items, objects } = world.blobs;
      const mortal: BlobStore = {
        create: async (key, bytes) => {
          if (left-- <= 0) return items.create(key, bytes);
          life.dead = true;
          throw new Crash('in a write');
        },
        read: (key) => items.read(key),
        readRange: (key, from, to) => items.readRange(key, from, to),
        list: (prefix, after, limit) => items.list(prefix, after, limit),
        delete: (keys) => items.delete(keys),
      };
      return { blobs: { items: mortal, objects } };
    };
    for (const batch of [world.batch(0, 40), world.batch(40, 41), world.batch(41, 60)]) {
      await untilAnswered(world, [], (task) => task.deliver(batch, PLENTY), dying);
      left = 6;
    }
    await expectPutAside(world, [], 'kills-its-environment');
  });

  it('where nothing is folded quarantines nothing, however often', async () => {
    for (const what of ['checkpoint', 'recover'] as const) {
      const world = new TaskWorld(soundLog());
      await world.task().deliver(world.batch(0, 10), PLENTY);
      for (let death = 0; death < 8; death++) {
        const life = { dead: false };
        const heads = world.headsThatWrite(async () => {
          life.dead = true;
          throw new Crash('before HEAD');
        });
        await expect(world.mortalTask(life, {}, { heads })[what](PLENTY)).rejects.toThrow(Crash);
      }
      await world.task().deliver(world.batch(10, 11), PLENTY);
      await world.task().deliver(world.batch(11, 60), PLENTY);
      await expectPutAside(world, [], 'kills-its-environment');
    }
  });
});

describe('an orderly fault', () => {
  it('is no death: it leaves no suspicion where it was, and quarantines nothing', async () => {
    const world = new TaskWorld(soundLog());
    const heads = world.headsThatWrite(async () => {
      throw new TransientFault('throttled');
    });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    for (let fault = 0; fault < 8; fault++) {
      const delivery = world.task({ heads }).deliver(world.batch(10, 11), PLENTY);
      await expect(delivery).rejects.toThrow(TransientFault);
      const note = await world.ports.suspicions.read(SLICE);
      expect(note?.position.sequenceNumber).not.toBe(world.records[9]!.sequenceNumber);
    }
    await world.task().deliver(world.batch(10, 60), PLENTY);
    await expectPutAside(world, [], 'kills-its-environment');
  });

  it.each(['the hold', 'the inbox'])(
    'is none where %s does not take back what it said',
    async (part) => {
      const world = await begun({ unsavedAgeMsMax: 10_000 });
      const before = await world.ports.suspicions.read(SLICE);
      await world.deliverOnly(20);
      await world.requestFor(WHOLE);
      const damaged = async () => {
        throw new CorruptStateFault('damaged');
      };
      const losing = world.headsThatWrite(async () => {
        return { outcome: 'refused', current: await world.heads.readHead(SLICE) };
      });
      const holdHead: CheckpointStore['holdHead'] = (sliceId, hold, instead) =>
        hold === null ? damaged() : world.heads.holdHead(sliceId, hold, instead);
      const ports =
        part === 'the hold'
          ? { heads: { ...losing, holdHead } }
          : { heads: losing, inbox: overriding(world.inbox, { settle: damaged }) };
      await expect(world.task(ports).tick(PLENTY)).rejects.toThrow(CorruptStateFault);
      expect(await world.ports.suspicions.read(SLICE)).toEqual(before);
    },
  );
});

describe('a record whose folding throws', () => {
  it.each([[[0]], [[30]], [[59]], [[3, 4, 5]], [[1, 11, 21, 31, 41]]])(
    'is quarantined in the same invocation, and its neighbours count once: %j',
    async (ids) => {
      const world = new TaskWorld(soundLog());
      const report = await world
        .task({}, { decoder: throwing(...ids) })
        .deliver(world.records, PLENTY);
      expect(report).toMatchObject({ folded: LENGTH });
      await expectPutAside(world, ids, 'fold-failed');
    },
  );

  it('uses up no try: no race for HEAD was lost', async () => {
    const ids = Array.from({ length: 20 }, (_, n) => n * 2 + 5);
    const world = new TaskWorld(soundLog(), { headWriteAttemptsMax: 1 });
    await world.task({}, { decoder: throwing(...ids) }).deliver(world.records, PLENTY);
    await expectPutAside(world, ids, 'fold-failed');
  });

  it('of which there are more than an invocation has time for takes a few invocations', async () => {
    const ids = Array.from({ length: 20 }, (_, n) => n * 2 + 5);
    const world = new TaskWorld(soundLog());
    const task = world.task({}, { decoder: throwing(...ids) });
    const timesOut = () => task.deliver(world.records, timeFor(8));
    await expect(timesOut()).rejects.toThrow(TransientFault);
    await expect(timesOut()).rejects.toThrow('folding 9 records threw');
    await timesOut();
    await expectPutAside(world, ids, 'fold-failed');
  });

  it('is quarantined in a replay too', async () => {
    const world = new TaskWorld(soundLog(), { replayChunkRecords: 7 });
    await world.task().deliver(world.batch(0, 10), PLENTY);
    await world.deliverOnly(50);
    const task = world.task({}, { decoder: throwing(12, 13, 33) });
    await task.deliver(world.batch(50, 60), PLENTY);
    await expectPutAside(world, [12, 13, 33], 'fold-failed');
  });

  it('goes through a memory that was warm', async () => {
    const world = new TaskWorld(soundLog());
    const task = world.task({}, { decoder: throwing(33) });
    await task.deliver(world.batch(0, 30), PLENTY);
    await task.deliver(world.batch(30, 60), PLENTY);
    await expectPutAside(world, [33], 'fold-failed');
  });
});
