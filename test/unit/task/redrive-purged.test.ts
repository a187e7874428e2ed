/** Records whose bytes are gone: purged by a person, or brought back so long ago that no fallback can undo it. */
import { describe, expect, it } from 'vitest';
import { load } from '../../../core/checkpoint/restore.ts';
import { Purges } from '../../../core/query/purge.ts';
import { parseRecordChoice } from '../../../core/query/quarantine-body.ts';
import { Queries } from '../../../core/query/queries.ts';
import { SLICE, smallPlan } from '../../world/small-log.ts';
import { BROKEN, begun, LATE, type RedriveWorld, WHOLE } from './redrive-fixture.ts';
import { PLENTY } from './task-fixture.ts';

async function purge(world: RedriveWorld, body: object) {
  const choice = parseRecordChoice(body, smallPlan.zone);
  if (!choice.ok) throw new Error(choice.problem.detail);
  const queries = new Queries(smallPlan, world.ports);
  const purged = await new Purges(queries, world.ports).purge(choice.value);
  if (!purged.ok) throw new Error(purged.problem.detail);
  return purged.value;
}

async function listed(world: RedriveWorld): Promise<string[]> {
  const list = await new Queries(smallPlan, world.ports).quarantine([]);
  if (!list.ok) throw new Error(list.problem.detail);
  if (!('records' in list.value)) throw new Error('a summary');
  return list.value.records.map(({ id }) => id);
}

it('a purged record is not listed, is refused by that name, and goes on counting as quarantined', async () => {
  const world = await begun();
  const unknown = world.idOf(WHOLE, 7);
  expect(await purge(world, { ids: [world.idOf(WHOLE), unknown] })).toEqual({
    purged: 1,
    unknown: [unknown],
    refused: [],
  });
  // Of HEAD's own epoch: its delta still names the record, and the next owner lists it again.
  expect(await listed(world)).toEqual([world.idOf(LATE), world.idOf(BROKEN)]);
  const id = await world.requestFor(WHOLE);
  await world.task().tick(PLENTY);
  expect(await world.outcomeOf(id)).toEqual({
    redriven: [],
    refused: [`${WHOLE}: it was purged: its bytes are no longer kept`],
  });
  expect((await world.head()).counts.quarantined).toBe(3);
  expect(await listed(world)).toEqual([world.idOf(LATE), world.idOf(BROKEN)]);
});

it('a purge takes a reason and bounds of arrival', async () => {
  const world = await begun();
  const [record] = world.batch(LATE, LATE + 1);
  const at = (ms: number) => new Date(record!.arrivalMs + ms).toISOString();
  expect(await purge(world, { reason: 'late', to: at(0) })).toMatchObject({ purged: 0 });
  expect(await purge(world, { reason: 'not-json', from: at(1_000_000) })).toMatchObject({
    purged: 0,
  });
  expect(await purge(world, { reason: 'late', from: at(0), to: at(1) })).toMatchObject({
    purged: 1,
  });
  expect(await listed(world)).toEqual([world.idOf(WHOLE), world.idOf(BROKEN)]);
});

it('what came back is not purged, by id or by a selection: a fallback may undo that', async () => {
  const world = await begun();
  for (const at of [10, 11]) await world.task().deliver(world.batch(at, at + 1), PLENTY);
  await world.requestFor(WHOLE);
  await world.task().tick(PLENTY);
  const id = world.idOf(WHOLE);
  expect(await purge(world, { ids: [id] })).toEqual({
    purged: 0,
    unknown: [],
    refused: [{ id, reason: expect.stringMatching(/^it came back: its bytes go by themselves/) }],
  });
  expect(await purge(world, { from: '1970-01-01' })).toMatchObject({ purged: 2, refused: [] });
  expect((await world.quarantine.read([id])).get(id)).toMatchObject({ reason: 'wrong-type' });
  // The epoch that brought it back is lost: it waits again, and comes back again.
  await world.damage((await world.head()).delta!);
  await world.task().checkpoint(PLENTY);
  expect(await listed(world)).toEqual([id]);
  await world.task().tick(PLENTY);
  expect(await listed(world)).toEqual([]);
});

it('what may have come back is not purged where results that say so cannot be read, and these are named', async () => {
  const world = await begun();
  await world.requestFor(WHOLE);
  await world.task().tick(PLENTY);
  await world.task().checkpoint(PLENTY);
  const { manifest } = await load(smallPlan, await world.head(), world.blobs);
  for (const run of manifest.runs) await world.damage(run);
  const ids = [WHOLE, LATE, BROKEN].map((index) => world.idOf(index));
  for (const choice of [{ ids }, { from: '1970-01-01' }]) {
    const { purged, refused, damaged } = await purge(world, choice);
    expect(purged).toBe(0);
    expect(refused.map(({ id }) => id)).toEqual(ids);
    expect(damaged).toEqual([{ slice: SLICE, epoch: manifest.runs[0]?.epoch }]);
  }
  expect((await world.quarantine.read(ids)).size).toBe(3);
});

it('what came back is kept while a fallback can undo it, and then no longer', async () => {
  const world = await begun({ retentionGraceMs: 1_000 });
  const id = await world.requestFor(WHOLE);
  const task = world.task();
  await task.tick(PLENTY);
  const { done } = await world.requestOf(id);
  const bytes = async () =>
    (await world.quarantine.read([world.idOf(WHOLE)])).has(world.idOf(WHOLE));
  for (let at = 10; at < 27; at++) {
    if ((await world.head()).collectBelow <= done!.epoch) expect(await bytes()).toBe(true);
    await task.deliver(world.batch(at, at + 1), PLENTY);
    world.clock.advance(600);
    await task.checkpoint(PLENTY);
    await task.tick(PLENTY);
  }
  expect(await world.inbox.list(SLICE, null, 10)).toEqual([]);
  expect(await bytes()).toBe(false);
  const again = await world.requestFor(WHOLE);
  await task.tick(PLENTY);
  expect(await world.outcomeOf(again)).toEqual({ redriven: [WHOLE], refused: [] });
  await world.expectRedriven([WHOLE], 27);
});

describe('a choice of quarantined records', () => {
  it('takes times without offset in the zone of the pipeline', () => {
    const body = { from: '2026-06-15', to: '2026-06-16T12:00' };
    const selection = {
      reason: null,
      fromMs: Date.parse('2026-06-15T00:00+02:00'),
      toMs: Date.parse('2026-06-16T12:00+02:00'),
    };
    expect(parseRecordChoice(body, 'Europe/Berlin')).toMatchObject({ value: { selection } });
  });
});
