/** Going over to another plan, and back: what stays, what begins, who waits. */
import { describe, expect, it } from 'vitest';
import { ByteReader } from '../../../core/bytes.ts';
import type { PreviousPlan } from '../../../core/checkpoint/head.ts';
import { parseBlobKey } from '../../../core/checkpoint/names.ts';
import { load, restore } from '../../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { planToJson } from '../../../core/definition/plan-json.ts';
import { HeldFault } from '../../../core/faults.ts';
import type { StreamRecord } from '../../../core/ports.ts';
import { SliceImage } from '../../../core/state/slice-image.ts';
import { SliceState } from '../../../core/state/slice-state.ts';
import { isRollback, rollbacksEndedBy } from '../../../core/task/kept-plans.ts';
import { decidePlan } from '../../../core/task/plan-change.ts';
import { laterPlan, SHARD, SLICE, smallPlan } from '../../world/small-log.ts';
import { closedOf, emptyState } from '../state/fold-fixture.ts';
import { PLENTY, TaskWorld, textOf } from './task-fixture.ts';

const LATER = { plan: laterPlan };
const GRACE_MS = 60_000;
const KNOBS = { rollbackGraceMs: GRACE_MS };

/** The same views, and windows that stay open for longer. */
function patientPlan(plan: Plan): Plan {
  const { time, ...rest } = planToJson(plan);
  const parsed = parsePlan({ ...rest, time: { ...time, lateness: '30s' } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

/** 20 records under the first plan; then the later one is active. */
async function begun(knobs = {}): Promise<TaskWorld> {
  const world = new TaskWorld(100, { ...KNOBS, ...knobs });
  const task = world.task();
  for (let at = 0; at < 20; at += 5) await task.deliver(world.batch(at, at + 5), PLENTY);
  await world.activate(laterPlan);
  return world;
}

/** And 20 more under the later plan; then the first one is active again. */
async function switched(knobs = {}): Promise<TaskWorld> {
  const world = await begun(knobs);
  const task = world.task({}, LATER);
  for (let at = 20; at < 40; at += 5) await task.deliver(world.batch(at, at + 5), PLENTY);
  await world.activate(smallPlan);
  return world;
}

/** The state of the later plan, when the first `from` records were folded under the first plan. */
function laterState(records: readonly StreamRecord[], from: number): SliceState {
  const before = emptyState(smallPlan);
  for (const record of records.slice(0, from)) before.fold(record);
  const closed = closedOf(before);
  const image = new SliceImage(laterPlan);
  image.apply(new ByteReader(before.encodeWhole()), { foreign: true, epoch: 4 });
  for (const [index, view] of smallPlan.views.entries()) {
    const at = laterPlan.views.findIndex(({ name }) => name === view.name);
    if (at >= 0) image.late[at]?.push(...(closed[index] ?? []));
  }
  image.adoptPlan(9);
  const state = new SliceState(image, createJsonDecoder(laterPlan), SHARD);
  for (const record of records.slice(from)) state.fold(record);
  return state;
}

async function expectLater(world: TaskWorld, from: number, count: number): Promise<void> {
  const state = laterState(world.batch(0, count), from);
  state.commit();
  const head = await world.head();
  const { image } = await restore(laterPlan, head, world.blobs);
  // The epoch in which views began is the world's own.
  state.image.lives.splice(0, image.lives.length, ...image.lives);
  expect(head).toMatchObject({ status: 'OPEN', planHash: laterPlan.hash });
  expect(await world.answers(head, laterPlan)).toEqual(textOf(state));
}

describe('what code does with a slice of another plan', () => {
  const [ours, theirs] = ['1'.repeat(32), '2'.repeat(32)];
  const delta = { kind: 'delta', timeline: 0, epoch: 4, nonce: '0'.repeat(16) } as const;
  const previous: PreviousPlan = {
    planHash: ours,
    base: null,
    chainSince: 0,
    delta: { ...delta, place: 'item', byteLength: 1, checksum: 0 },
    cursor: { sequenceNumber: '7', subSequence: 0 },
    sinceMs: 1_000,
  };
  const head = { planHash: theirs, planOrdinal: 2, previous };
  const active = (ordinal: number, hash: string) => ({ ordinal, hash, pipeline: '{}' });

  it.each([
    ['same', 'it is the same plan', { planHash: ours }, active(2, theirs), 0],
    ['held', 'the other plan is active', {}, active(2, theirs), 0],
    ['held', 'HEAD was written under a later activation', {}, active(2, ours), 0],
    ['rollback', 'its own plan was left less than the grace ago', {}, active(3, ours), 1_999],
    ['switch', 'its own plan was left as long ago as the grace', {}, active(3, ours), 2_000],
    [
      'switch',
      'another plan was left',
      { previous: { ...previous, planHash: theirs } },
      active(3, ours),
      0,
    ],
    ['switch', 'no plan was left', { previous: null }, active(3, ours), 0],
  ] as const)('%s: %s', (kind, _, more, activation, nowMs) => {
    expect(decidePlan({ ...head, ...more }, ours, activation, nowMs, 1_000).kind).toBe(kind);
  });
});

describe('a change of plan', () => {
  it('keeps the state of views that stay, and begins new ones at the cursor', async () => {
    const world = await begun();
    const { cursor, epoch } = await world.head();
    const report = await world.task({}, LATER).deliver(world.batch(20, 40), PLENTY);
    expect(report).toMatchObject({ folded: 20, commits: 2, rewoundTo: null });
    await expectLater(world, 20, 40);
    const head = await world.head();
    expect(head).toMatchObject({ timeline: 0, planOrdinal: 2, base: { epoch: epoch + 1 } });
    expect(head.previous).toMatchObject({ planHash: smallPlan.hash, delta: { epoch }, cursor });
    const { image } = await load(laterPlan, head, world.blobs);
    const seen = emptyState(smallPlan);
    for (const record of world.batch(0, 20)) seen.fold(record);
    const covered = Object.fromEntries(
      laterPlan.views.map(({ name }, index) => [
        name,
        image.lives[index]?.columns[0]?.coveredFromMs,
      ]),
    );
    const always = Number.NEGATIVE_INFINITY;
    expect(covered).toEqual({
      all_time: always,
      by_type: seen.progress.newestMs + 1,
      put_aside: always,
      updated: always,
    });
  });

  it('does not wait for a record: a tick does it', async () => {
    const world = await begun();
    expect(await world.task({}, LATER).tick(PLENTY)).toMatchObject({ commits: 1 });
    await expectLater(world, 20, 20);
    expect(await world.task({}, LATER).tick(PLENTY)).toMatchObject({ commits: 0 });
  });

  it('of a slice that has folded nothing covers everything', async () => {
    const world = new TaskWorld(20);
    await world.task().deliver([], PLENTY);
    await world.activate(laterPlan);
    await world.task({}, LATER).deliver(world.records, PLENTY);
    expect(await world.answers(await world.head(), laterPlan)).toEqual(
      world.expected(20, laterPlan),
    );
  });

  it('folds under the new plan what was only answered for under the old one', async () => {
    const world = await begun({ unsavedAgeMsMax: 10_000 });
    await world.task().deliver(world.batch(5, 30), PLENTY);
    const { cursor, delivered } = await world.head();
    expect(cursor).not.toEqual(delivered);
    const from = world.records.findIndex((r) => r.sequenceNumber === cursor.sequenceNumber) + 1;
    const task = world.task({}, LATER);
    expect(await task.deliver(world.batch(30, 35), PLENTY)).toMatchObject({ replayed: 30 - from });
    await task.checkpoint(PLENTY);
    await expectLater(world, from, 35);
  });

  it('by two at once is made once', async () => {
    const world = await begun();
    const before = await world.head();
    const ends = await Promise.all(
      [0, 1].map(() => world.task({}, LATER).deliver(world.batch(20, 30), PLENTY)),
    );
    expect(ends.map(({ refused }) => refused > 0).sort()).toEqual([false, true]);
    const head = await world.head();
    expect(head.epoch).toBe(before.epoch + 2);
    await expectLater(world, 20, 30);
  });

  it('goes on from an older epoch where the newest is damaged, in one step', async () => {
    const world = await begun();
    const before = await world.head();
    await world.damage(before.delta!);
    const report = await world.task({}, LATER).deliver(world.batch(20, 30), PLENTY);
    expect(report.rewoundTo).toBe(2);
    expect(await world.head()).toMatchObject({ timeline: 1, planOrdinal: 2, previous: null });
    await expectLater(world, 10, 30);
  });

  it('is not undone by a fallback to before it: the new views only begin earlier', async () => {
    const world = await begun();
    await world.task({}, LATER).deliver(world.batch(20, 25), PLENTY);
    const { base, chain } = await chainOf(world);
    for (const delta of chain.filter(({ epoch }) => epoch >= 5)) await world.damage(delta);
    await world.damage(base!);
    const report = await world.task({}, LATER).deliver(world.batch(25, 30), PLENTY);
    expect(report.rewoundTo).toBe(3);
    await expectLater(world, 15, 30);
  });
});

async function chainOf(world: TaskWorld) {
  const head = await world.head();
  const { chain } = await load(laterPlan, head, world.blobs);
  return { base: head.base, chain };
}

describe('code that does not carry the active plan', () => {
  it('is held where it would begin a slice', async () => {
    const world = new TaskWorld(10);
    await world.activate(laterPlan);
    await expect(world.task().deliver(world.records, PLENTY)).rejects.toThrow(HeldFault);
    expect(await world.heads.readHead(SLICE)).toBeNull();
  });

  it('is held before its own plan is active', async () => {
    const world = new TaskWorld(10);
    await world.activate(smallPlan);
    await world.task().deliver(world.batch(0, 5), PLENTY);
    const before = await world.head();
    const early = world.task({}, LATER);
    await expect(early.deliver(world.batch(5, 10), PLENTY)).rejects.toThrow(HeldFault);
    expect(await world.head()).toEqual(before);
  });

  it('is held once the slice has gone over, with a memory or without', async () => {
    const world = await begun();
    const old = world.task();
    await old.deliver([], PLENTY);
    await world.task({}, LATER).deliver(world.batch(20, 25), PLENTY);
    const before = await world.head();
    for (const task of [old, world.task()]) {
      await expect(task.deliver(world.batch(20, 30), PLENTY)).rejects.toThrow(HeldFault);
      await expect(task.tick(PLENTY)).rejects.toThrow(HeldFault);
      await expect(task.checkpoint(PLENTY)).rejects.toThrow(HeldFault);
      await expect(task.recover(PLENTY)).rejects.toThrow(HeldFault);
    }
    expect(await world.head()).toEqual(before);
  });

  it('does not write what it folded while the slice went over', async () => {
    const world = await begun();
    let armed = true;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (armed) {
        armed = false;
        await world.task({}, LATER).deliver(world.batch(20, 25), PLENTY);
      }
      return world.heads.writeHead(item, ifRevision, passing);
    });
    const old = world.task({ heads });
    await expect(old.deliver(world.batch(20, 30), PLENTY)).rejects.toThrow(HeldFault);
    await expectLater(world, 20, 25);
  });
});

describe('a rollback', () => {
  it('within the grace goes on from where the plan was left, and loses nothing', async () => {
    const world = await switched();
    world.clock.advance(GRACE_MS - 1);
    const report = await world.task().deliver(world.batch(40, 45), PLENTY);
    expect(report).toMatchObject({ rewoundTo: 4, replayed: 20, folded: 5 });
    const head = await world.head();
    expect(head).toMatchObject({ status: 'OPEN', timeline: 1, generation: 2, planOrdinal: 3 });
    expect(await world.answers(head)).toEqual(world.expected(45));
  });

  it('can be taken back in its turn, and loses nothing of the later plan', async () => {
    const world = await switched();
    await world.task().deliver(world.batch(40, 50), PLENTY);
    await world.activate(laterPlan);
    const report = await world.task({}, LATER).deliver(world.batch(50, 60), PLENTY);
    expect(report.rewoundTo).not.toBeNull();
    expect(await world.head()).toMatchObject({ timeline: 2, planOrdinal: 4 });
    await expectLater(world, 20, 60);
  });

  it('loses nothing after a fallback of the later plan either', async () => {
    const world = await switched();
    await world.activate(laterPlan);
    await world.damage((await world.head()).delta!);
    const { rewoundTo } = await world.task({}, LATER).deliver(world.batch(40, 45), PLENTY);
    expect(rewoundTo).toBeGreaterThan(4);
    await expectLater(world, 20, 45);
    await world.activate(smallPlan);
    expect(await world.task().deliver(world.batch(45, 50), PLENTY)).toMatchObject({ rewoundTo: 4 });
    expect(await world.answers(await world.head())).toEqual(world.expected(50));
  });

  it('ends with a change to a third plan, which says so, also where only a policy changes', async () => {
    const world = await begun();
    const task = world.task({}, LATER);
    for (let at = 20; at < 40; at += 5) await task.deliver(world.batch(at, at + 5), PLENTY);
    const patient = patientPlan(laterPlan);
    const ends = async (plan: Plan) =>
      rollbacksEndedBy(plan.hash, [await world.head()], world.clock.nowMs());
    expect(await ends(patient)).toEqual([smallPlan.hash]);
    expect(await ends(smallPlan)).toEqual([]);

    await world.activate(patient);
    await world.task({}, { plan: patient }).deliver(world.batch(40, 45), PLENTY);
    expect(await ends(smallPlan)).toEqual([laterPlan.hash]);
    expect(isRollback(laterPlan.hash, [await world.head()], world.clock.nowMs())).toBe(true);
    await world.activate(smallPlan);
    const back = await world.task().deliver(world.batch(45, 50), PLENTY);
    expect(back.rewoundTo).toBeNull();
    const { image } = await load(smallPlan, await world.head(), world.blobs);
    const dropped = smallPlan.views.findIndex(({ name }) => name === 'dropped');
    expect(image.lives[dropped]?.columns[0]?.coveredFromMs).toBeGreaterThan(0);
  });

  it('replays what was delivered meanwhile, saved or not', async () => {
    const world = await switched({ unsavedAgeMsMax: 10_000 });
    await world.activate(laterPlan);
    await world.task({}, LATER).deliver(world.batch(40, 50), PLENTY);
    await world.activate(smallPlan);
    const task = world.task();
    await task.deliver(world.batch(50, 55), PLENTY);
    await task.checkpoint(PLENTY);
    expect(await world.answers(await world.head())).toEqual(world.expected(55));
  });

  it('after the grace is a change of plan like any other', async () => {
    const world = await switched();
    world.clock.advance(GRACE_MS);
    const report = await world.task().deliver(world.batch(40, 45), PLENTY);
    expect(report).toMatchObject({ rewoundTo: null, replayed: 0, folded: 5 });
    const head = await world.head();
    expect(head).toMatchObject({ status: 'OPEN', timeline: 0, planOrdinal: 3 });
    const { image } = await load(smallPlan, head, world.blobs);
    const dropped = smallPlan.views.findIndex(({ name }) => name === 'dropped');
    expect(image.lives[dropped]?.columns[0]?.coveredFromMs).toBeGreaterThan(0);
    expect(head.digest.count).toBe(45);
  });

  it.each(['damaged', 'trimmed'])(
    'is such a change, too, where the way back is %s',
    async (what) => {
      const world = await switched();
      const { previous } = await world.head();
      if (what === 'damaged') await world.damage(previous!.delta);
      else world.source.trim(SHARD, world.records[25]!);
      const report = await world.task().deliver(world.batch(40, 45), PLENTY);
      expect(report).toMatchObject({ rewoundTo: null, replayed: 0, folded: 5 });
      expect(await world.head()).toMatchObject({ status: 'OPEN', timeline: 0, planOrdinal: 3 });
      expect((await world.head()).digest.count).toBe(45);
    },
  );

  it('finds what it needs, however often was compacted, and nothing of it stays after the grace', async () => {
    const knobs = { chainLengthMax: 2, retentionGraceMs: 0 };
    const kept = await switched(knobs);
    await kept.activate(laterPlan);
    const task = kept.task({}, LATER);
    for (let at = 40; at < 60; at += 2) await task.deliver(kept.batch(at, at + 2), PLENTY);
    const needed = (await kept.head()).previous!;
    expect((await kept.head()).collectBelow).toBeLessThanOrEqual(needed.base!.epoch);
    await kept.activate(smallPlan);
    await kept.task().deliver(kept.batch(60, 62), PLENTY);
    expect(await kept.answers(await kept.head())).toEqual(kept.expected(62));

    const gone = await switched(knobs);
    await gone.activate(laterPlan);
    gone.clock.advance(GRACE_MS);
    const later = gone.task({}, LATER);
    for (let at = 40; at < 60; at += 2) await later.deliver(gone.batch(at, at + 2), PLENTY);
    expect((await gone.head()).previous).toBeNull();
    const epochs = [...(await gone.allBlobs()).keys()]
      .map((key) => parseBlobKey(SLICE, key)!)
      .filter(({ kind }) => kind !== 'run')
      .map(({ epoch }) => epoch);
    expect(Math.min(...epochs)).toBeGreaterThan(needed.delta.epoch);
  });

  it('is not undone by a fallback: epochs of the plan that was left are no way out', async () => {
    const world = await switched({ chainLengthMax: 64 });
    const task = world.task();
    await task.deliver(world.batch(40, 45), PLENTY);
    await task.deliver(world.batch(45, 50), PLENTY);
    const { chain } = await load(smallPlan, await world.head(), world.blobs);
    await world.damage(chain.find(({ timeline }) => timeline === 1)!);
    await world.task().deliver(world.batch(50, 55), PLENTY);
    expect(await world.answers(await world.head())).toEqual(world.expected(55));
  });
});
