/** Records come back from the quarantine: once, by requests that may be done any number of times. */
import { describe, expect, it } from 'vitest';
import type { BlobReference } from '../../../core/checkpoint/names.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { RecordDecoder } from '../../../core/decode/record-decoder.ts';
import { TransientFault } from '../../../core/faults.ts';
import { quarantineId, type StreamRecord } from '../../../core/ports.ts';
import { SliceState } from '../../../core/state/slice-state.ts';
import { Crash } from '../../world/fault-switch.ts';
import { SHARD, SLICE, type SmallRecord, smallPlan } from '../../world/small-log.ts';
import { emptyState } from '../state/fold-fixture.ts';
import { PLENTY, TaskWorld, textOf } from './task-fixture.ts';

const record = (id: number, t: number, more: Partial<SmallRecord> = {}): SmallRecord => ({
  id,
  t,
  type: 'a',
  key: 'k',
  amount: id + 1,
  ...more,
});

/**
 * Record 2 is refused by code that is too strict, record 5 is late for the view `put_aside`, record 6 is no JSON. Windows are
 * of 10 s; the watermark ends far behind all of them, so that closed windows are all but the last.
 */
const LOG: (SmallRecord | null)[] = [
  record(0, 100_000),
  record(1, 101_000, { type: 'b' }),
  record(2, 102_000),
  record(3, 103_000),
  record(4, 130_000),
  record(5, 102_000, { type: 'b' }),
  null,
  ...Array.from({ length: 20 }, (_, n) => record(7 + n, 140_000 + n * 5_000)),
];
const [WHOLE, LATE, BROKEN] = [2, 5, 6];

/** Refuses the records with these ids, as code before some correction would. */
function strictDecoder(ids: readonly number[], how: 'refuses' | 'throws' = 'refuses'): RecordDecoder {
  const decoder = createJsonDecoder(smallPlan);
  return {
    decode: (data, fields) => {
      const bad = decoder.decode(data, fields);
      const id = /"id":(\d+)/.exec(new TextDecoder().decode(data))?.[1];
      if (id === undefined || !ids.includes(Number(id))) return bad;
      if (how === 'throws') throw new RangeError('a bug of the decoder');
      return { reason: 'wrong-type', detail: 'too strict' };
    },
  };
}

const STRICT = { decoder: strictDecoder([WHOLE]) };

class RedriveWorld extends TaskWorld {
  idOf(index: number, timeline = 0): string {
    return quarantineId({ ...(this.records[index] as StreamRecord), sliceId: SLICE, timeline });
  }

  requestFor(...indexes: number[]): Promise<string> {
    return this.request(indexes.map((index) => this.idOf(index)));
  }

  async outcomeOf(id: string): Promise<{ redriven: number[]; refused: string[] } | null> {
    const { done } = await this.requestOf(id);
    if (done === null) return null;
    const indexOf = (record: string) => this.records.findIndex((_, n) => this.idOf(n) === record);
    return {
      redriven: done.redriven.map(indexOf),
      refused: done.refused.map(({ id: record, reason }) => `${indexOf(record)}: ${reason}`),
    };
  }

  /** The stores must hold the first 10 records by strict code, the next up to `first`, then these redriven ones, then the others up to `count`. */
  async expectRedriven(redriven: readonly number[], count = 10, first = 10): Promise<void> {
    const strict = emptyState(smallPlan, STRICT.decoder);
    for (const each of this.batch(0, 10)) strict.fold(each);
    strict.commit();
    const state = new SliceState(strict.image, createJsonDecoder(smallPlan), SHARD);
    for (const each of this.batch(10, first)) state.fold(each);
    for (const index of redriven) {
      expect(state.redrive(this.records[index]!, []).outcome).toBe('redriven');
    }
    for (const each of this.batch(first, count)) state.fold(each);
    state.commit();
    const head = await this.head();
    expect(head.counts).toEqual(state.progress.counts);
    expect(await this.answers(head)).toEqual(textOf(state));
  }
}

/** The first 10 records by strict code, in one epoch. */
async function begun(knobs = {}): Promise<RedriveWorld> {
  const world = new RedriveWorld(LOG, knobs);
  await world.task({}, STRICT).deliver(world.batch(0, 10), PLENTY);
  expect((await world.head()).counts).toMatchObject({ folded: 7, quarantined: 3 });
  return world;
}

/** A place directly behind a record, which no record of the log has. */
function after({ sequenceNumber }: StreamRecord): Pick<StreamRecord, 'sequenceNumber'> {
  return { sequenceNumber: String(BigInt(sequenceNumber) + 1n) };
}

const NOT_WAITING = 'it is not in the quarantine any more';
const UNKNOWN = 'there is no such record in the quarantine';

describe('a redriven record', () => {
  it('folds as a whole once the code can read it, and moves neither watermark nor digest', async () => {
    const world = await begun();
    const before = await world.head();
    const id = await world.requestFor(WHOLE);
    expect(await world.task().tick(PLENTY)).toMatchObject({ flips: 1, folded: 0, replayed: 0 });
    expect(await world.outcomeOf(id)).toEqual({ redriven: [WHOLE], refused: [] });
    const head = await world.head();
    expect(head.counts).toEqual({ ...before.counts, folded: 8, quarantined: 2 });
    expect(head).toMatchObject({ cursor: before.cursor, watermarkMs: before.watermarkMs });
    expect(head.digest.value()).toEqual(before.digest.value());
    expect((await world.requestOf(id)).done).toMatchObject({ timeline: 0, epoch: head.epoch });
    await world.expectRedriven([WHOLE]);
  });

  it('folds into a window that has closed, of the view that it was late for', async () => {
    const world = await begun();
    const id = await world.requestFor(LATE);
    await world.task().tick(PLENTY);
    expect(await world.outcomeOf(id)).toEqual({ redriven: [LATE], refused: [] });
    expect((await world.head()).counts).toMatchObject({ folded: 8, quarantined: 2 });
    await world.expectRedriven([LATE]);
  });

  it('keeps its place in what follows: deliveries, bases, restores', async () => {
    const world = await begun({ chainLengthMax: 2 });
    await world.requestFor(WHOLE, LATE);
    await world.task().tick(PLENTY);
    for (let at = 10; at < 27; at++) await world.task().deliver(world.batch(at, at + 1), PLENTY);
    await world.expectRedriven([WHOLE, LATE], 27);
  });

  it('leaves its id: the same event sent again is a duplicate', async () => {
    const world = await begun();
    await world.requestFor(WHOLE);
    const task = world.task();
    await task.tick(PLENTY);
    // Within the minute that ids are kept for: event times have moved by 20 s since.
    await task.deliver([...world.batch(10, 11), { ...world.records[WHOLE]!, ...after(world.records[10]!) }], PLENTY);
    expect((await world.head()).counts.duplicates).toBe(1);
  });

  it('is a duplicate itself where the same event was sent again and has folded', async () => {
    const world = await begun();
    const again = { ...world.records[WHOLE]!, ...after(world.records[3]!) };
    const sent = new RedriveWorld([]);
    for (const each of [...world.batch(0, 4), again]) sent.source.append(SHARD, each);
    await sent.task({}, STRICT).deliver(world.batch(0, 4), PLENTY);
    await sent.task().deliver([again], PLENTY);
    await sent.request([world.idOf(WHOLE)]);
    await sent.task().tick(PLENTY);
    expect((await sent.head()).counts).toMatchObject({
      folded: 4,
      duplicates: 1,
      quarantined: 0,
    });
  });
});

describe('a request', () => {
  it('is refused record by record, with the reason, and completes no epoch if nothing comes back', async () => {
    const world = await begun();
    const before = await world.head();
    const id = await world.request([
      world.idOf(BROKEN),
      world.idOf(0),
      'no id at all',
      world.idOf(WHOLE, 7),
    ]);
    expect(await world.task().tick(PLENTY)).toMatchObject({ flips: 0 });
    const { done } = await world.requestOf(id);
    expect(done?.redriven).toEqual([]);
    expect(done?.refused.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^it is still bad: not-json: /),
      UNKNOWN,
      UNKNOWN,
      UNKNOWN,
    ]);
    expect(await world.head()).toEqual(before);
  });

  it('does not reach into another slice', async () => {
    const world = await begun();
    const [record] = await world.quarantine.list(null, 1);
    const foreign = { ...record!, sliceId: 'slice-000000000001' };
    await world.quarantine.put([foreign]);
    const id = await world.request([quarantineId(foreign)]);
    await world.task().tick(PLENTY);
    expect((await world.requestOf(id)).done?.refused).toMatchObject([{ reason: UNKNOWN }]);
  });

  it('that was refused can be made again, when the code is better', async () => {
    const world = await begun();
    const first = await world.requestFor(WHOLE);
    await world.task({}, STRICT).tick(PLENTY);
    expect((await world.outcomeOf(first))?.refused).toEqual([
      `${WHOLE}: it is still bad: wrong-type: too strict`,
    ]);
    const second = await world.requestFor(WHOLE);
    await world.task().tick(PLENTY);
    expect((await world.outcomeOf(second))?.redriven).toEqual([WHOLE]);
    await world.expectRedriven([WHOLE]);
  });

  it('brings the good records back and leaves the bad ones', async () => {
    const world = await begun();
    const id = await world.requestFor(BROKEN, WHOLE, LATE);
    await world.task().tick(PLENTY);
    expect(await world.outcomeOf(id)).toEqual({
      redriven: [WHOLE, LATE],
      refused: [expect.stringMatching(`^${BROKEN}: it is still bad`)],
    });
    await world.expectRedriven([WHOLE, LATE]);
  });

  it('is one of many: as many as fit one epoch, the others at the next ticks', async () => {
    const world = await begun();
    const ids: string[] = [];
    for (let n = 0; n < 24; n++) {
      ids.push(await world.requestFor(n === 20 ? LATE : WHOLE));
      world.clock.advance(1);
    }
    const task = world.task();
    const doneAfter: number[] = [];
    for (let tick = 0; tick < 3; tick++) {
      await task.tick(PLENTY);
      const all = await world.inbox.list(SLICE, null, 100);
      doneAfter.push(all.filter(({ done }) => done !== null).length);
    }
    expect(doneAfter).toEqual([10, 20, 24]);
    expect((await world.outcomeOf(ids[20]!))?.redriven).toEqual([LATE]);
    await world.expectRedriven([WHOLE, LATE]);
  });

  it('goes from the inbox once no fallback can undo it', async () => {
    const world = await begun({ retentionGraceMs: 1_000 });
    const id = await world.requestFor(WHOLE);
    const task = world.task();
    await task.tick(PLENTY);
    const { done } = await world.requestOf(id);
    for (let at = 10; at < 27; at++) {
      const { collectBelow } = await world.head();
      const [request] = await world.inbox.list(SLICE, null, 10);
      if (collectBelow <= done!.epoch) expect(request?.id).toBe(id);
      await task.deliver(world.batch(at, at + 1), PLENTY);
      world.clock.advance(600);
      await task.checkpoint(PLENTY);
      await task.tick(PLENTY);
    }
    expect(await world.inbox.list(SLICE, null, 10)).toEqual([]);
    await world.expectRedriven([WHOLE], 27);
  });

  it('makes no epoch, and no write, once it is done', async () => {
    const world = await begun();
    await world.requestFor(WHOLE);
    const task = world.task();
    await task.tick(PLENTY);
    const before = await world.head();
    await task.tick(PLENTY);
    await world.task().tick(PLENTY);
    expect(await world.head()).toEqual(before);
  });
});

describe('the same record, asked for again', () => {
  it('in one request comes back once', async () => {
    const world = await begun();
    const id = await world.requestFor(WHOLE, WHOLE, LATE, LATE);
    await world.task().tick(PLENTY);
    expect(await world.outcomeOf(id)).toEqual({
      redriven: [WHOLE, LATE],
      refused: [`${WHOLE}: ${NOT_WAITING}`, `${LATE}: ${NOT_WAITING}`],
    });
    await world.expectRedriven([WHOLE, LATE]);
  });

  it.each([
    ['in the same tick: the mark is in memory only', 0],
    ['in the next tick: the mark is in the chain', 1],
    ['after a base: the mark is in a run', 2],
    ['after bases that merged their runs', 6],
  ])('%s', async (_, epochs) => {
    const world = await begun({ runFanIn: 2 });
    await world.requestFor(WHOLE, LATE);
    if (epochs > 0) await world.task().tick(PLENTY);
    for (let epoch = 1; epoch < epochs; epoch++) {
      await world.task().deliver(world.batch(9 + epoch, 10 + epoch), PLENTY);
      await world.task().checkpoint(PLENTY);
    }
    world.clock.advance(1);
    const id = await world.requestFor(LATE, WHOLE);
    await world.task().tick(PLENTY);
    expect(await world.outcomeOf(id)).toEqual({
      redriven: [],
      refused: [`${LATE}: ${NOT_WAITING}`, `${WHOLE}: ${NOT_WAITING}`],
    });
    await world.expectRedriven([WHOLE, LATE], Math.max(10, 9 + epochs));
  });

  it.each([0, 1, 5])('is found %i bases after it was put aside', async (bases) => {
    const world = await begun({ runFanIn: 2 });
    for (let base = 0; base < bases; base++) await world.task().checkpoint(PLENTY);
    const id = await world.requestFor(WHOLE, LATE);
    await world.task().tick(PLENTY);
    expect((await world.outcomeOf(id))?.redriven).toEqual([WHOLE, LATE]);
    await world.expectRedriven([WHOLE, LATE]);
  });
});

describe('a redrive that was interrupted', () => {
  it('between the flip and the mark of the request is finished, and folds nothing again', async () => {
    const world = await begun();
    const id = await world.requestFor(WHOLE);
    const life = { dead: false };
    const inbox: typeof world.inbox = Object.assign(Object.create(world.inbox), {
      list: world.inbox.list.bind(world.inbox),
      finish: async () => {
        life.dead = true;
        throw new Crash('before the request was marked');
      },
    });
    await expect(world.mortalTask(life, {}, { inbox }).tick(PLENTY)).rejects.toThrow(Crash);
    await world.expectRedriven([WHOLE]);
    expect(await world.outcomeOf(id)).toBeNull();
    await world.task().tick(PLENTY);
    expect(await world.outcomeOf(id)).not.toBeNull();
    await world.expectRedriven([WHOLE]);
  });

  it('by a lost race folds once, in the epoch that follows', async () => {
    const world = await begun();
    const id = await world.requestFor(WHOLE, LATE);
    let armed = true;
    const heads = world.headsThatWrite(async (item, ifRevision) => {
      if (armed) {
        armed = false;
        await world.task().deliver(world.batch(10, 12), PLENTY);
      }
      return world.heads.writeHead(item, ifRevision);
    });
    expect(await world.task({ heads }).tick(PLENTY)).toMatchObject({ refused: 1, flips: 1 });
    expect((await world.outcomeOf(id))?.redriven).toEqual([WHOLE, LATE]);
    expect((await world.head()).counts).toMatchObject({ folded: 11, quarantined: 1 });
  });

  it('by a race for `delivered` only keeps no mark of what it has not brought back', async () => {
    const world = await begun({ unsavedAgeMsMax: 10_000 });
    const id = await world.requestFor(WHOLE);
    const task = world.task();
    await task.deliver(world.batch(8, 10), PLENTY);
    let armed = true;
    const heads = world.headsThatWrite(async (item, ifRevision) => {
      if (armed) {
        armed = false;
        await world.deliverOnly(12);
      }
      return world.heads.writeHead(item, ifRevision);
    });
    expect(await world.task({ heads }).tick(PLENTY)).toMatchObject({ refused: 1, flips: 1 });
    expect((await world.outcomeOf(id))?.redriven).toEqual([WHOLE]);
    await world.expectRedriven([WHOLE], 12, 12);
  });

  it('by a flip that failed leaves nothing', async () => {
    const world = await begun();
    await world.requestFor(WHOLE);
    const heads = world.headsThatWrite(async () => {
      throw new TransientFault('no answer');
    });
    const task = world.task({ heads });
    await expect(task.tick(PLENTY)).rejects.toThrow(TransientFault);
    await world.task().tick(PLENTY);
    await world.expectRedriven([WHOLE]);
  });
});

describe('a fallback', () => {
  async function redrivenThen(epochs: number): Promise<RedriveWorld> {
    const world = await begun({ chainLengthMax: 64 });
    await world.requestFor(WHOLE, LATE);
    const task = world.task();
    await task.tick(PLENTY);
    for (let at = 10; at < 10 + epochs; at++) await task.deliver(world.batch(at, at + 1), PLENTY);
    return world;
  }

  it('to before a redrive has it done again, by the same request', async () => {
    const world = await redrivenThen(2);
    const redriving = await deltaOf(world, 2);
    await world.damage(redriving);
    const report = await world.task().tick(PLENTY);
    expect(report).toMatchObject({ flips: 0, rewoundTo: null });
    const again = await world.task().deliver(world.batch(12, 13), PLENTY);
    expect(again.rewoundTo).toBeLessThan(2);
    expect((await world.head()).counts.quarantined).toBeGreaterThan(0);
    await world.task().tick(PLENTY);
    const [request] = await world.inbox.list(SLICE, null, 10);
    expect(request?.done).toMatchObject({
      timeline: 1,
      redriven: [world.idOf(WHOLE), world.idOf(LATE)],
    });
    const { counts } = await world.head();
    expect(counts).toMatchObject({ folded: 12, quarantined: 1, duplicates: 0 });
  });

  it('to after a redrive does not fold it twice', async () => {
    const world = await redrivenThen(3);
    await world.damage((await world.head()).delta!);
    const report = await world.task().deliver([], PLENTY);
    expect(report.rewoundTo).toBeGreaterThanOrEqual(2);
    await world.task().tick(PLENTY);
    await world.expectRedriven([WHOLE, LATE], 13);
  });
});

async function deltaOf(world: TaskWorld, epoch: number): Promise<BlobReference> {
  const { chain } = await load(smallPlan, await world.head(), world.blobs);
  return chain.find((each) => each.epoch === epoch)!;
}

describe('a record that cannot be redriven at all', () => {
  it('since folding it throws is refused, and holds up nobody', async () => {
    const world = await begun();
    const id = await world.requestFor(WHOLE, LATE);
    const throwing = { decoder: strictDecoder([WHOLE], 'throws') };
    await world.task({}, throwing).tick(PLENTY);
    expect(await world.outcomeOf(id)).toEqual({
      redriven: [LATE],
      refused: [`${WHOLE}: it is still bad: fold-failed: folding it threw RangeError`],
    });
    await world.expectRedriven([LATE]);
  });

  it('since the ledger is in a damaged run is refused, and holds up nobody', async () => {
    const world = await begun();
    await world.task().checkpoint(PLENTY);
    const { manifest } = await load(smallPlan, await world.head(), world.blobs);
    await world.damage(manifest.runs[0]!);
    const id = await world.requestFor(WHOLE);
    expect(await world.task().tick(PLENTY)).toMatchObject({ flips: 0, rewoundTo: null });
    expect((await world.outcomeOf(id))?.refused).toEqual([
      expect.stringMatching(`^${WHOLE}: .*cannot be read`),
    ]);
    expect(await world.head()).toMatchObject({ timeline: 0 });
  });
});
