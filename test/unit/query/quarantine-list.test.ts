import { describe, expect, it } from 'vitest';
import { type QuarantineIndex, quarantineId } from '../../../core/ports.ts';
import type { Queries } from '../../../core/query/queries.ts';
import { parametersOf, QueryWorld, shardIdOf } from './query-world.ts';

async function list(queries: Queries, asking: Record<string, string | string[]> = {}) {
  const listed = await queries.quarantine(parametersOf(asking));
  if (!listed.ok) throw new Error(JSON.stringify(listed.problem));
  return listed.value;
}

/** An index that has not heard of anything yet. */
const deaf: QuarantineIndex = {
  put: async () => {},
  read: async () => new Map(),
  list: async () => [],
  describe: async () => [],
  purge: async () => {},
};

async function worldWithBad(): Promise<QueryWorld> {
  const world = new QueryWorld();
  const good = { t: 1_000, origin: 'LAX', to: 'X', delay: 1 };
  await world.deliver(0, good, 'not JSON');
  await world.deliver(1, '[]', good, '{"t":"never"}');
  await world.deliver(0, good, '{"t":1,"origin":{}}');
  return world;
}

describe('the quarantine listing', () => {
  it('gives each record whole, with why it is there', async () => {
    const world = await worldWithBad();
    const { records, next } = await list(world.queries);
    expect(next).toBeNull();
    expect(records.map(({ reason }) => reason)).toEqual([
      'not-json',
      'wrong-type',
      'not-an-object',
      'no-time',
    ]);
    expect(records[0]).toEqual({
      id: quarantineId({
        sliceId: 'slice-000000000000',
        timeline: 0,
        sequenceNumber: '20',
        subSequence: 0,
      }),
      shardId: shardIdOf(0),
      sequenceNumber: '20',
      subSequence: 0,
      reason: 'not-json',
      detail: expect.any(String),
      arrival: '1970-01-01T00:16:39.000Z',
      partitionKey: 'p2',
      data: Buffer.from('not JSON').toString('base64'),
    });
  });

  it('gives bytes that are no text as they were', async () => {
    const world = new QueryWorld();
    await world.deliver(0, '\u00ff\u0000\ud800');
    const [record] = (await list(world.queries)).records;
    expect(record?.data).toBe(Buffer.from('\u00ff\u0000\ud800').toString('base64'));
  });

  it('has the records of the newest epoch before the index lists them', async () => {
    const world = await worldWithBad();
    const all = await list(world.queries);
    const { records } = await list(world.newQueries({ quarantine: deaf }));
    // The newest delta of slice 0 put one record aside, that of slice 1 two.
    expect(records).toEqual(all.records.slice(1));
  });

  it('leaves records of epochs after the HEAD that it read for the next look', async () => {
    const world = await worldWithBad();
    const before = await list(world.queries);
    const late: QuarantineIndex = {
      ...deaf,
      read: (ids) => world.quarantine.read(ids),
      list: async (after, limit) => {
        // The slice commits and lists between the reads of HEAD and of the index.
        if (after === null) await world.deliver(1, 'later');
        return world.quarantine.list(after, limit);
      },
    };
    expect(await list(world.newQueries({ quarantine: late }))).toEqual(before);
    expect((await list(world.queries)).records).toHaveLength(5);
  });

  it('loses no record that was listed between its reads of HEAD and of the index', async () => {
    const world = await worldWithBad();
    const all = await list(world.queries);
    const moved: QuarantineIndex = {
      ...deaf,
      read: (ids) => world.quarantine.read(ids),
      list: async (after, limit) => {
        const good = { t: 1_000, origin: 'LAX', to: 'X', delay: 1 };
        if (after === null) for (const shard of [0, 1]) await world.deliver(shard, good);
        return world.quarantine.list(after, limit);
      },
    };
    expect(await list(world.newQueries({ quarantine: moved }))).toEqual(all);
  });

  it('goes on where it ended, over records that only a delta holds too', async () => {
    const world = await worldWithBad();
    await world.deliver(1, ...Array.from({ length: 90 }, (_, index) => `bad ${index}`));
    const all = await list(world.queries, { limit: '1000' });
    expect(all.records).toHaveLength(94);
    for (const quarantine of [world.quarantine, deaf]) {
      const queries = world.newQueries({ quarantine });
      const whole = await list(queries, { limit: '1000' });
      const paged: string[] = [];
      let next: string | null = null;
      do {
        const page = await list(queries, { limit: '7', ...(next === null ? {} : { next }) });
        paged.push(...page.records.map(({ id }) => id));
        next = page.next;
      } while (next !== null);
      expect(paged).toEqual(whole.records.map(({ id }) => id));
    }
  });

  it('ends a page early rather than answer too many bytes', async () => {
    const world = new QueryWorld();
    const large = 'x'.repeat(900_000);
    for (let count = 0; count < 5; count++) await world.deliver(0, large);
    const first = await list(world.queries);
    expect(first.records).toHaveLength(2);
    const second = await list(world.queries, { next: first.next as string });
    expect(second.records).toHaveLength(2);
    const third = await list(world.queries, { next: second.next as string });
    expect(third.records).toHaveLength(1);
    expect(third.next).toBeNull();
    expect(Buffer.from(third.records[0]?.data ?? '', 'base64').toString()).toBe(large);
  });

  it('has ids that are those of the index', async () => {
    const world = await worldWithBad();
    const stored = await world.quarantine.list(null, 100);
    const { records } = await list(world.queries);
    expect(records.map(({ id }) => id)).toEqual(stored.map(quarantineId));
  });

  it.each<[Record<string, string | string[]>, string, string]>([
    [{ limit: '1001' }, 'wrong-limit', 'limit'],
    [{ reson: 'late' }, 'unknown-parameter', 'reson'],
    [{ next: 'slice-000000000000/0/1/0' }, 'wrong-next', 'next'],
    [{ limit: ['1', '2'] }, 'repeated-parameter', 'limit'],
  ])('refuses %o', async (asking, code, path) => {
    const listed = await new QueryWorld().queries.quarantine(parametersOf(asking));
    expect(listed).toMatchObject({ ok: false, problem: { status: 400, code, path } });
  });
});
