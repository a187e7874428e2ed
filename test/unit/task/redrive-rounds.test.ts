/** A redrive of many records: short rounds, each committed, and work that grows with the records, not with their square. */
import { describe, expect, it, vi } from 'vitest';
import { load } from '../../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { REDRIVE_BEGINNINGS_MAX, REDRIVE_ROUND_MS_MAX } from '../../../core/limits.ts';
import { type ObjectStore, quarantineId } from '../../../core/ports.ts';
import type { ClosedEntry } from '../../../core/state/closed-entries.ts';
import { ViewTable } from '../../../core/state/view-table.ts';
import { SHARD, SLICE, smallPlan } from '../../world/small-log.ts';
import { RedriveWorld, strictDecoder } from './redrive-fixture.ts';
import { type Code, overriding, PLENTY } from './task-fixture.ts';

const COUNT = 300;

/** A slice with so many records in its quarantine, and one that was never there. */
async function poisoned(count = COUNT): Promise<RedriveWorld> {
  const log = Array.from({ length: count + 1 }, (_, id) => ({
    ...{ id, t: 100_000 + id, type: 'a' as const, key: `k${id % 7}`, amount: id },
  }));
  const world = new RedriveWorld(log);
  const ids = log.slice(0, count).map(({ id }) => id);
  await world.task({}, { decoder: strictDecoder(ids) }).deliver(world.batch(0, count + 1), PLENTY);
  expect((await world.head()).counts).toMatchObject({ folded: 1, quarantined: count });
  return world;
}

/** Asks for all of them, by requests of so many. */
async function askForAll(world: RedriveWorld, each: number): Promise<void> {
  const ids = (await world.quarantine.list(null, 10_000)).map(quarantineId);
  for (let at = 0; at < ids.length; at += each) {
    await world.request(ids.slice(at, at + each));
    world.clock.advance(1);
  }
}

/** Code that takes so long for each record. */
function slowly(world: RedriveWorld, ms: number): Code {
  const decoder = createJsonDecoder(smallPlan);
  return {
    decoder: {
      decode: (data, fields) => {
        world.clock.advance(ms);
        return decoder.decode(data, fields);
      },
    },
  };
}

describe('the work of a redrive', () => {
  it('computes what changed once a commit, not once a record', async () => {
    const world = await poisoned();
    await askForAll(world, COUNT);
    const task = world.task();
    await task.deliver([], PLENTY);
    const looks = vi.spyOn(ViewTable.prototype, 'windowStarts');
    await task.tick(PLENTY);
    const counted = looks.mock.calls.length;
    looks.mockRestore();
    expect((await world.head()).counts).toMatchObject({ folded: COUNT + 1, quarantined: 0 });
    expect(counted).toBeLessThan(COUNT);
  });

  it('looks at each recent entry of the ledger a few times, not once a record', async () => {
    const world = await poisoned();
    const { image } = await load(smallPlan, await world.head(), world.blobs);
    let looks = 0;
    for (const entry of image.late.at(-1) as ClosedEntry[]) {
      const { key } = entry;
      Object.defineProperty(entry, 'key', {
        get: () => {
          looks++;
          return key;
        },
      });
    }
    for (const record of world.records) {
      image.recentLedger.entriesOf({ ...record, shardId: SHARD });
    }
    expect(looks).toBe(COUNT);
  });

  it('reads each block of a run once', async () => {
    const world = await poisoned();
    await world.task().checkpoint(PLENTY);
    await askForAll(world, COUNT);
    let reads = 0;
    const objects = overriding(world.blobs.objects as ObjectStore, {
      readRange: (...range: [string, number, number]) => {
        reads++;
        return world.blobs.objects.readRange(...range);
      },
    });
    const task = world.task({ blobs: { items: world.blobs.items, objects } });
    await task.tick(PLENTY);
    expect((await world.head()).counts.quarantined).toBe(0);
    const { manifest } = await load(smallPlan, await world.head(), world.blobs);
    expect(manifest.runs).toHaveLength(1);
    expect(reads).toBeLessThan(10);
  });
});

describe('a round', () => {
  it('ends after its time, and the next goes on where it ended', async () => {
    const world = await poisoned(40);
    await askForAll(world, 100);
    const task = world.task({}, slowly(world, REDRIVE_ROUND_MS_MAX / 10));
    const waiting: number[] = [];
    for (;;) {
      const report = await task.tick(PLENTY);
      waiting.push((await world.head()).counts.quarantined);
      if (!report.isUnfinished) break;
    }
    expect(waiting[0]).toBe(30);
    expect(waiting.at(-1)).toBe(0);
    const [request] = await world.inbox.list(SLICE, null, 10);
    expect(request?.done?.redriven).toHaveLength(40);
  });

  it('brings one record back at least, however slow it is', async () => {
    const world = await poisoned(3);
    await askForAll(world, 1);
    const task = world.task({}, slowly(world, 10 * REDRIVE_ROUND_MS_MAX));
    const left: boolean[] = [];
    for (let tick = 0; tick < 3; tick++) left.push((await task.tick(PLENTY)).isUnfinished);
    expect(left).toEqual([true, true, false]);
    expect((await world.head()).counts.quarantined).toBe(0);
  });

  it('is half as long after each race that it lost', async () => {
    const world = await poisoned(40);
    await askForAll(world, 100);
    let races = 2;
    const heads = world.headsThatWrite(async (item, ifRevision, passing) => {
      if (races-- > 0) await world.rewriteHead({});
      return world.heads.writeHead(item, ifRevision, passing);
    });
    await world.task({ heads }, slowly(world, REDRIVE_ROUND_MS_MAX / 20)).tick(PLENTY);
    expect((await world.head()).counts.quarantined).toBe(35);
  });

  it('that leaves a request half done is no death', async () => {
    const world = await poisoned(40);
    await askForAll(world, 100);
    const slow = slowly(world, REDRIVE_ROUND_MS_MAX);
    for (let tick = 0; tick < 40; tick++) await world.task({}, slow).tick(PLENTY);
    expect((await world.head()).counts.quarantined).toBe(0);
  });

  it('of a request that is given up leaves it what earlier rounds brought back', async () => {
    const world = await poisoned(3);
    await askForAll(world, 3);
    await world.task({}, slowly(world, 10 * REDRIVE_ROUND_MS_MAX)).tick(PLENTY);
    const [{ id } = { id: '' }] = await world.inbox.list(SLICE, null, 1);
    for (let death = 0; death <= REDRIVE_BEGINNINGS_MAX; death++)
      await world.inbox.begin(SLICE, id);
    await world.task().tick(PLENTY);
    const outcome = await world.outcomeOf(id);
    expect(outcome?.redriven).toEqual([0]);
    expect(outcome?.refused).toEqual([1, 2].map((n) => expect.stringMatching(`${n}: owners died`)));
  });
});
