/** Records come back from the quarantine: once, by requests that may be done any number of times. */
import { describe, expect, it } from 'vitest';
import { quarantineId, type StreamRecord } from '../../../core/ports.ts';
import { SHARD, SLICE } from '../../world/small-log.ts';
import { BROKEN, begun, LATE, RedriveWorld, STRICT, WHOLE } from './redrive-fixture.ts';
import { PLENTY } from './task-fixture.ts';

/** A place directly behind a record, which no record of the log has. */
function placeBehind({ sequenceNumber }: StreamRecord): Pick<StreamRecord, 'sequenceNumber'> {
  return { sequenceNumber: String(BigInt(sequenceNumber) + 1n) };
}

const UNKNOWN = 'there is no such record in the quarantine';

describe('a redriven record', () => {
  it('folds as a whole once the code can read it, and moves neither watermark nor digest', async () => {
    const world = await begun();
    const before = await world.head();
    const id = await world.requestFor(WHOLE);
    expect(await world.task().tick(PLENTY)).toMatchObject({ commits: 1, folded: 0, replayed: 0 });
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
    await task.deliver(
      [...world.batch(10, 11), { ...world.records[WHOLE]!, ...placeBehind(world.records[10]!) }],
      PLENTY,
    );
    expect((await world.head()).counts.duplicates).toBe(1);
  });

  it('leaves its own id, whatever record was read before it', async () => {
    const world = await begun();
    await world.requestFor(LATE);
    const task = world.task();
    await task.deliver(world.batch(10, 11), PLENTY);
    await task.tick(PLENTY);
    const again = { ...world.records[LATE]!, ...placeBehind(world.records[10]!) };
    await task.deliver([again, ...world.batch(11, 12)], PLENTY);
    expect((await world.head()).counts).toMatchObject({ duplicates: 1, folded: 10 });
  });

  it('is a duplicate itself where the same event was sent again and has folded', async () => {
    const world = await begun();
    const again = { ...world.records[WHOLE]!, ...placeBehind(world.records[3]!) };
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
    expect(await world.task().tick(PLENTY)).toMatchObject({ commits: 0 });
    const { done } = await world.requestOf(id);
    expect(done?.redriven).toEqual([]);
    expect(done?.refused.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^refused again \(not-json\): /),
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
      `${WHOLE}: refused again (wrong-type): too strict`,
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
      refused: [expect.stringMatching(`^${BROKEN}: refused again`)],
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
      refused: [],
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
      redriven: [LATE, WHOLE],
      refused: [],
    });
    await world.expectRedriven([WHOLE, LATE], Math.max(10, 9 + epochs));
  });

  it.each([0, 1, 5])('is found %i bases after it was quarantined', async (bases) => {
    const world = await begun({ runFanIn: 2 });
    for (let base = 0; base < bases; base++) await world.task().checkpoint(PLENTY);
    const id = await world.requestFor(WHOLE, LATE);
    await world.task().tick(PLENTY);
    expect((await world.outcomeOf(id))?.redriven).toEqual([WHOLE, LATE]);
    await world.expectRedriven([WHOLE, LATE]);
  });
});
