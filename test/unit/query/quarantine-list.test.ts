import { describe, expect, it } from 'vitest';
import type { RunReference } from '../../../core/checkpoint/manifest.ts';
import { blobKey } from '../../../core/checkpoint/names.ts';
import { load } from '../../../core/checkpoint/restore.ts';
import { RunCache } from '../../../core/checkpoint/run-cache.ts';
import { ALL_QUARANTINED, type QuarantineIndex, quarantineId } from '../../../core/ports.ts';
import {
  parseQuarantineRequest,
  summarizeQuarantine,
} from '../../../core/query/quarantine-list.ts';
import type { Queries } from '../../../core/query/queries.ts';
import { Snapshots } from '../../../core/query/snapshots.ts';
import { Zone } from '../../../core/time/zone.ts';
import { parametersOf, plan, QueryWorld, shardIdOf } from './query-world.ts';

async function list(queries: Queries, asking: Record<string, string | string[]> = {}) {
  const listed = await queries.quarantine(parametersOf(asking));
  if (!listed.ok) throw new Error(JSON.stringify(listed.problem));
  if (!('records' in listed.value)) throw new Error('a summary');
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

describe('a selection of the quarantine', () => {
  it('by reason or arrival lists these whole, also what only a delta holds, page by page', async () => {
    const world = await worldWithBad();
    world.clock.advance(60_000);
    await world.deliver(1, ...Array.from({ length: 90 }, (_, index) => `bad ${index}`));
    const all = (await list(world.queries, { limit: '1000' })).records;
    const mine = all.filter(({ reason }) => reason === 'not-json');
    expect(mine).toHaveLength(91);
    const paged: (typeof all)[number][] = [];
    for (let next: string | null = ''; next !== null; ) {
      const more: Record<string, string> = next === '' ? {} : { next };
      const page = await list(world.queries, { reason: 'not-json', limit: '40', ...more });
      paged.push(...page.records);
      next = page.next;
    }
    expect(paged).toEqual(mine);
    expect((await list(world.queries, { reason: 'late' })).records).toEqual([]);

    const [first, last] = [all[0], all.at(-1)] as [(typeof all)[0], (typeof all)[0]];
    expect(Date.parse(first.arrival)).toBeLessThan(Date.parse(last.arrival));
    const until = await list(world.queries, { to: last.arrival, limit: '1000' });
    expect(until.records).toEqual(all.filter(({ arrival }) => arrival < last.arrival));
    const since = await list(world.queries, { from: last.arrival, limit: '1000' });
    expect(since.records).toEqual(all.filter(({ arrival }) => arrival >= last.arrival));
  });

  it('leaves out what was purged between its looks, and goes on behind it', async () => {
    const world = await worldWithBad();
    for (let count = 0; count < 40; count++) await world.deliver(1, `bad ${count}`);
    const all = (await list(world.queries, { reason: 'not-json' })).records;
    const [doomed] = all.filter(({ id }) => id.startsWith('slice-000000000001'));
    const purging: QuarantineIndex = {
      ...deaf,
      describe: (after, limit, selection) => world.quarantine.describe(after, limit, selection),
      read: async (ids: readonly string[]) => {
        const found = new Map(await world.quarantine.read(ids));
        if (found.has(doomed?.id as string)) found.set(doomed?.id as string, 'purged');
        return found;
      },
    };
    const left = await list(world.newQueries({ quarantine: purging }), { reason: 'not-json' });
    expect(left.records).toEqual(all.filter((record) => record !== doomed));
  });

  it('is counted by reason, the most frequent first', async () => {
    const world = await worldWithBad();
    await world.deliver(1, 'bad', 'worse');
    const summary = await world.queries.quarantine(parametersOf({ summary: 'reason' }));
    const arrival = expect.stringMatching(/^1970-01-01T/);
    const one = { count: 1, first: arrival, last: arrival };
    expect(summary).toEqual({
      ok: true,
      value: {
        reasons: [
          { reason: 'not-json', count: 3, first: arrival, last: arrival },
          { reason: 'wrong-type', ...one },
          { reason: 'not-an-object', ...one },
          { reason: 'no-time', ...one },
        ],
        next: null,
      },
    });
    const some = { summary: 'reason', reason: 'no-time' };
    expect(await world.queries.quarantine(parametersOf(some))).toMatchObject({
      value: { reasons: [{ reason: 'no-time', count: 1 }] },
    });
  });
});

it('a summary of more than one answer counts goes on with next, and counts each record once', async () => {
  const world = await worldWithBad();
  const sources = {
    slices: await new Snapshots(plan, world.ports).newestSlices(),
    index: world.quarantine,
    runs: new RunCache(world.ports.blobs),
  };
  const counted: number[] = [];
  for (let after: string | null = null; ; ) {
    const asked = { after, selection: ALL_QUARANTINED };
    const { reasons, next } = await summarizeQuarantine(asked, sources, new Zone('UTC'), 3);
    counted.push(...reasons.map(({ count }) => count));
    if (next === null) break;
    const request = parseQuarantineRequest([['next', next]], 'UTC');
    after = request.ok ? request.value.after : null;
  }
  expect(counted).toEqual([1, 1, 1, 1]);
});

it('a list and a summary name a run that they cannot read, and a summary that can names none', async () => {
  const world = await worldWithBad();
  for (const shard of [0, 1]) await world.checkpoint(shard);
  const { blobs } = world.ports;
  const head = await world.head(0);
  const { manifest } = await load(plan, head, blobs);
  const [run] = manifest.runs as [RunReference];
  const store = run.place === 'item' ? blobs.items : blobs.objects;
  const ask = (asking: Record<string, string>) =>
    world.newQueries().quarantine(parametersOf(asking));
  const before = await ask({ summary: 'reason' });
  expect(before.ok && before.value).not.toHaveProperty('damaged');

  await store.delete([blobKey(head.sliceId, run)]);
  const damaged = [{ slice: head.sliceId, epoch: run.epoch }];
  expect(await ask({ summary: 'reason' })).toEqual({
    ok: true,
    value: { ...(before.ok ? before.value : {}), damaged },
  });
  expect(await ask({})).toMatchObject({ ok: true, value: { damaged } });
});

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
    [{ from: 'yesterday' }, 'wrong-time', 'from'],
    [{ reason: '' }, 'wrong-reason', 'reason'],
    [{ reason: 'wrongtype' }, 'wrong-reason', 'reason'],
    [{ summary: 'shard' }, 'wrong-summary', 'summary'],
    [{ summary: 'reason', limit: '10' }, 'unknown-parameter', 'limit'],
  ])('refuses %o', async (asking, code, path) => {
    const listed = await new QueryWorld().queries.quarantine(parametersOf(asking));
    expect(listed).toMatchObject({ ok: false, problem: { status: 400, code, path } });
  });
});
