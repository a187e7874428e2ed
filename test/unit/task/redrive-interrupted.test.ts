/** A redrive that dies, loses a race, is undone by a fallback, or meets something that it cannot read. */
import { describe, expect, it } from 'vitest';
import type { BlobReference } from '../../../core/checkpoint/names.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { TransientFault } from '../../../core/faults.ts';
import { Crash } from '../../world/fault-switch.ts';
import { SLICE, smallPlan } from '../../world/small-log.ts';
import { begun, LATE, type RedriveWorld, strictDecoder, WHOLE } from './redrive-fixture.ts';
import { overriding, PLENTY, type TaskWorld } from './task-fixture.ts';

describe('a redrive that was interrupted', () => {
  it('between the commit and the mark of the request is finished, and folds nothing again', async () => {
    const world = await begun();
    const id = await world.requestFor(WHOLE);
    const life = { dead: false };
    const inbox: typeof world.inbox = Object.assign(Object.create(world.inbox), {
      list: world.inbox.list.bind(world.inbox),
      begin: world.inbox.begin.bind(world.inbox),
      finish: async () => {
        life.dead = true;
        throw new Crash('before the request was marked');
      },
    });
    await expect(world.mortalTask(life, {}, { inbox }).tick(PLENTY)).rejects.toThrow(Crash);
    await world.expectRedriven([WHOLE]);
    expect(await world.outcomeOf(id)).toBeNull();
    await world.task().tick(PLENTY);
    expect(await world.outcomeOf(id)).toEqual({ redriven: [WHOLE], refused: [] });
    await world.expectRedriven([WHOLE]);
  });

  it('by a lost race folds once, in the epoch that follows', async () => {
    const world = await begun();
    const id = await world.requestFor(WHOLE, LATE);
    let armed = true;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (armed) {
        armed = false;
        await world.task().deliver(world.batch(10, 12), PLENTY);
      }
      return world.heads.writeHead(item, ifRevision, passing);
    });
    expect(await world.task({ heads }).tick(PLENTY)).toMatchObject({ refused: 1, commits: 1 });
    expect((await world.outcomeOf(id))?.redriven).toEqual([WHOLE, LATE]);
    expect((await world.head()).counts).toMatchObject({ folded: 11, quarantined: 1 });
  });

  it('by a race for `delivered` only keeps no mark of what it has not brought back', async () => {
    const world = await begun({ unsavedAgeMsMax: 10_000 });
    const id = await world.requestFor(WHOLE);
    const task = world.task();
    await task.deliver(world.batch(8, 10), PLENTY);
    let armed = true;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (armed) {
        armed = false;
        await world.deliverOnly(12);
      }
      return world.heads.writeHead(item, ifRevision, passing);
    });
    expect(await world.task({ heads }).tick(PLENTY)).toMatchObject({ refused: 1, commits: 1 });
    expect((await world.outcomeOf(id))?.redriven).toEqual([WHOLE]);
    await world.expectRedriven([WHOLE], 12, 12);
  });

  it('by the death of its owner holds up no checkpoint that is due', async () => {
    const world = await begun({ unsavedAgeMsMax: 10_000 });
    await world.deliverOnly(12);
    await world.requestFor(WHOLE);
    world.clock.set(world.clock.nowMs() + 60_000);
    const life = { dead: false };
    const quarantine = overriding(world.quarantine, {
      read: async () => {
        life.dead = true;
        throw new Crash('in the redrive');
      },
    });
    await expect(world.mortalTask(life, {}, { quarantine }).tick(PLENTY)).rejects.toThrow(Crash);
    const head = await world.head();
    expect(head.cursor).toEqual(head.delivered);
    expect(head.digest.value().count).toBe(12);
  });

  it('by a commit that failed leaves nothing', async () => {
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
    expect(report).toMatchObject({ commits: 0, rewoundTo: null });
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
      refused: [`${WHOLE}: refused again (fold-failed): folding it threw TypeError`],
    });
    await world.expectRedriven([LATE]);
  });

  it('since the ledger is in a damaged run is refused, and holds up nobody', async () => {
    const world = await begun();
    await world.task().checkpoint(PLENTY);
    const { manifest } = await load(smallPlan, await world.head(), world.blobs);
    await world.damage(manifest.runs[0]!);
    const id = await world.requestFor(WHOLE);
    expect(await world.task().tick(PLENTY)).toMatchObject({ commits: 0, rewoundTo: null });
    expect((await world.outcomeOf(id))?.refused).toEqual([
      expect.stringMatching(`^${WHOLE}: .*cannot be read`),
    ]);
    expect(await world.head()).toMatchObject({ timeline: 0 });
  });
});
