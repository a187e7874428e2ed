import { beforeEach, describe, expect, it } from 'vitest';
import { RunCache } from '../../../core/checkpoint/run-cache.ts';
import { ConfigurationFault, StreamMismatchFault, TransientFault } from '../../../core/faults.ts';
import { TOKEN_LENGTH_MAX } from '../../../core/limits.ts';
import type { RecordSource } from '../../../core/ports.ts';
import { type Position, START } from '../../../core/position.ts';
import { Snapshots } from '../../../core/query/snapshots.ts';
import { viewAnswer } from '../../../core/query/view-answer.ts';
import { parseViewRequest } from '../../../core/query/view-request.ts';
import { readRows } from '../../../core/query/view-rows.ts';
import { sliceIdOf } from '../../../core/slice/topology.ts';
import {
  answerOf,
  type Flight,
  groupedRows,
  pagesOf,
  plainRow,
  plan,
  problemOf,
  QueryWorld,
  shardIdOf,
} from './query-world.ts';

const flight = (t: number, origin: Flight['origin'], delay: number | null, to = 'X'): Flight => ({
  t,
  origin,
  to,
  delay,
});

describe('the answer of a view', () => {
  let world: QueryWorld;

  beforeEach(async () => {
    world = new QueryWorld();
    await world.deliver(0, flight(1_000, 'LAX', 5), flight(2_000, 'SFO', 7));
    await world.deliver(1, flight(3_000, 'LAX', 1), flight(12_000, 'LAX', 100));
  });

  it('merges what each slice holds of a group', async () => {
    const { rows } = await answerOf(world.queries, 'by_origin');
    expect(rows.map(plainRow)).toEqual(groupedRows('by_origin', world.flights()));
    expect(rows[0]).toMatchObject({
      key: { origin: 'LAX' },
      window: null,
      closed: false,
      values: { flights: 3, total: 106, worst: 100 },
    });
    expect(rows[0]?.values['typical']).toEqual({
      '0.5': expect.any(Number),
      '0.99': expect.any(Number),
    });
    expect(rows[0]).not.toHaveProperty('inexact');
  });

  it('answers a view without group fields with one row', async () => {
    const { rows } = await answerOf(world.queries, 'in_all');
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ key: {}, window: null, values: { flights: 4, total: 113 } });
  });

  it('ends a page before what travels inside JSON is more than Lambda answers', async () => {
    // Each quote in a key is two bytes in the answer, and four in what the function returns.
    const origins = Array.from({ length: 3_000 }, (_, index) => `${'"'.repeat(800)}${index}`);
    for (let from = 0; from < origins.length; from += 500) {
      const some = origins.slice(from, from + 500);
      await world.deliver(0, ...some.map((origin) => flight(2_500, origin, 1)));
    }
    const answer = await answerOf(world.queries, 'by_origin', { limit: '10000' });
    expect(answer.next).not.toBeNull();
    const payload = JSON.stringify({ body: JSON.stringify(answer) });
    expect(payload.length).toBeLessThan(6 * 1024 * 1024);
    expect(payload.length).toBeGreaterThan(3 * 1024 * 1024);
  });

  it('leaves the shard of an empty slice out that the stream no longer has', async () => {
    await world.openSlice(2);
    const source: RecordSource = {
      readAfter: async (shardId, after, limit) => {
        if (shardId === shardIdOf(2)) return { outcome: 'gone' };
        return world.source.readAfter(shardId, after, limit);
      },
    };
    const { rows, watermark } = await answerOf(world.newQueries({ source }), 'by_origin');
    expect(rows.length).toBeGreaterThan(0);
    expect(watermark).not.toBeNull();
  });

  it('says nothing of groups without values but null', async () => {
    await world.deliver(0, flight(2_500, 'OAK', null));
    const { rows } = await answerOf(world.queries, 'by_origin', { 'key.origin': 'OAK' });
    expect(rows[0]?.values).toEqual({
      flights: 1,
      total: null,
      worst: null,
      typical: { '0.5': null, '0.99': null },
    });
  });

  it('names the aggregates whose integers were too large to be exact', async () => {
    const large = 2 ** 53 - 1;
    for (const delay of [large, large, 1]) await world.deliver(0, flight(2_500, 'BIG', delay));
    const { rows } = await answerOf(world.queries, 'by_origin', { 'key.origin': 'BIG' });
    expect(rows[0]?.inexact).toEqual(['total']);
  });

  it('keeps a group called __proto__ like any other', async () => {
    await world.deliver(0, flight(2_500, '__proto__', 1), flight(2_500, '__proto__', 2));
    const { rows } = await answerOf(world.queries, 'by_origin', { 'key.origin': '__proto__' });
    expect(rows.map(plainRow)).toEqual([
      { key: { origin: '__proto__' }, startMs: null, flights: 2, total: 3, worst: 2 },
    ]);
  });

  it('takes the lowest watermark of the slices that had a record', async () => {
    // The slices have seen 2 s and 12 s; windows stay open for 5 s more.
    expect((await answerOf(world.queries, 'by_route')).watermark).toBe('1969-12-31T23:59:57.000Z');
    await world.deliver(0, flight(30_000, 'LAX', 1));
    const answer = await answerOf(world.queries, 'by_route');
    expect(answer.watermark).toBe('1970-01-01T00:00:07.000Z');
    expect(answer.rows.map(({ closed }) => closed)).toEqual([false, false, false, false]);
  });

  it('names a slice that never had a record, and waits for one whose records nobody has folded', async () => {
    const ended = { end: '1970-01-01T00:00:10Z' };
    await world.deliver(0, flight(30_000, 'LAX', 5));
    await world.deliver(1, flight(30_000, 'LAX', 5));
    await world.openSlice(2);
    const idle = await answerOf(world.queries, 'by_route', ended);
    expect(idle).toMatchObject({ exempt: ['slice-000000000002'], complete: true });
    expect(idle.rows.every(({ closed }) => closed)).toBe(true);

    world.append(2, flight(1_500, 'LAX', 1));
    const waiting = await answerOf(world.queries, 'by_route', ended);
    expect(waiting).toMatchObject({
      watermark: null,
      complete: false,
      waiting: ['slice-000000000002'],
    });
    expect(waiting).not.toHaveProperty('exempt');
    expect(waiting.rows.some(({ closed }) => closed)).toBe(false);
  });

  it('judges by the shards of the stream, not by the slices that there are', async () => {
    const ended = { end: '1970-01-01T00:00:10Z' };
    await world.deliver(0, flight(30_000, 'LAX', 5));
    await world.deliver(1, flight(30_000, 'LAX', 5));
    const shards = {
      shardIds: async () => [0, 1, 2, 3].map(shardIdOf),
    };
    const queries = world.newQueries({ shards });
    // Shards 2 and 3 have neither slice nor record.
    const empty = await answerOf(queries, 'by_route', ended);
    const exempt = ['slice-000000000002', 'slice-000000000003'];
    expect(empty).toMatchObject({ exempt, complete: true });
    expect(empty).not.toHaveProperty('waiting');

    // A record in a shard that no slice stands for may be of any window.
    world.append(3, flight(1_500, 'LAX', 1));
    const question = { ...ended, limit: '1' };
    const first = await answerOf(queries, 'by_route', question);
    const next = { ...question, next: first.next as string };
    const pages = [first, await answerOf(queries, 'by_route', next)];
    pages.push(await answerOf(world.newQueries({ shards }), 'by_route', next));
    for (const page of pages) {
      expect(page).toMatchObject({
        watermark: null,
        complete: false,
        incomplete: ['open-windows', 'waiting'],
        exempt: ['slice-000000000002'],
        waiting: ['slice-000000000003'],
      });
      expect(page.rows.map(({ closed }) => closed)).toEqual([false]);
    }
  });

  it('says nothing of windows where the stream does not say which shards it has, or what one holds', async () => {
    await world.deliver(0, flight(30_000, 'LAX', 5));
    await world.deliver(1, flight(30_000, 'LAX', 5));
    const busy = async () => {
      throw new TransientFault('the stream is busy');
    };
    const unlisted = await answerOf(world.newQueries({ shards: { shardIds: busy } }), 'by_route');
    const incomplete = ['no-end', 'not-listed'];
    expect(unlisted).toMatchObject({ watermark: null, complete: false, incomplete, listed: false });
    expect(unlisted.rows.map(plainRow)).toEqual(groupedRows('by_route', world.flights()));

    await world.openSlice(2);
    for (const readAfter of [
      busy,
      async () => ({
        outcome: 'records' as const,
        origin: 'stream' as const,
        records: [],
        reachedTip: false,
      }),
    ]) {
      const answer = await answerOf(world.newQueries({ source: { readAfter } }), 'by_route');
      expect(answer).toMatchObject({ watermark: null, waiting: ['slice-000000000002'] });
    }
  });

  it.each([
    new ConfigurationFault('there is no stream'),
    new StreamMismatchFault('the stream is another one'),
  ])(
    'has its rows, incomplete and with the reason, where the stream answers with %o',
    async (fault) => {
      await world.deliver(0, flight(30_000, 'LAX', 5));
      const silent = async () => {
        throw fault;
      };
      const nothingKnown = { watermark: null, complete: false, streamFault: fault.message };
      const unlisted = await answerOf(
        world.newQueries({ shards: { shardIds: silent } }),
        'by_route',
      );
      expect(unlisted).toMatchObject({ ...nothingKnown, listed: false });
      expect(unlisted.rows.map(plainRow)).toEqual(groupedRows('by_route', world.flights()));
      expect(unlisted.rows.some(({ closed }) => closed)).toBe(false);

      await world.openSlice(2);
      const unread = world.newQueries({ source: { readAfter: silent } });
      const waiting = ['slice-000000000002'];
      for (const view of ['by_route', 'in_all']) {
        expect(await answerOf(unread, view)).toMatchObject({ ...nothingKnown, waiting });
      }
    },
  );

  it('takes no shard for empty since a status found it so a moment ago', async () => {
    const ended = { end: '1970-01-01T00:00:10Z' };
    await world.deliver(0, flight(30_000, 'LAX', 5));
    await world.deliver(1, flight(30_000, 'LAX', 5));
    await world.openSlice(2);
    expect(await world.queries.status()).toMatchObject({
      value: { exempt: ['slice-000000000002'] },
    });
    world.append(2, flight(1_500, 'LAX', 1));
    const answer = await answerOf(world.queries, 'by_route', ended);
    expect(answer).toMatchObject({ complete: false, waiting: ['slice-000000000002'] });
    // What an answer saw, the next status knows.
    expect(await world.queries.status()).toMatchObject({
      value: { waiting: ['slice-000000000002'] },
    });
  });

  it('takes a shard without a slice for empty where the stream has nothing left of it', async () => {
    const shards = { shardIds: async () => [0, 1, 2].map(shardIdOf) };
    const trimmedTo = (oldest: Position | null): RecordSource => ({
      readAfter: async () => ({ outcome: 'trimmed', oldest }),
    });
    const gone = world.newQueries({ shards, source: trimmedTo(null) });
    expect(await answerOf(gone, 'by_route')).toMatchObject({ exempt: ['slice-000000000002'] });
    const left = world.newQueries({ shards, source: trimmedTo({ ...START, sequenceNumber: '7' }) });
    expect(await answerOf(left, 'by_route')).toMatchObject({ waiting: ['slice-000000000002'] });
  });

  it('calls rows closed once the watermark of every slice has reached their end, not before', async () => {
    await world.deliver(0, flight(30_000, 'LAX', 1));
    await world.deliver(1, flight(14_999, 'LAX', 1));
    const open = await answerOf(world.queries, 'by_route', { end: '1970-01-01T00:00:10Z' });
    expect(open.rows.map(({ closed }) => closed)).toEqual([false, false]);
    expect(open.complete).toBe(false);
    await world.deliver(1, flight(15_000, 'LAX', 1));
    const closed = await answerOf(world.queries, 'by_route', { end: '1970-01-01T00:00:10Z' });
    expect(closed.rows.map((row) => row.closed)).toEqual([true, true]);
    expect(closed.complete).toBe(true);
  });

  describe('is complete only if no record but a late one changes it:', () => {
    // The records of both shards are far past the windows of the first ten seconds.
    beforeEach(async () => {
      for (const shard of [0, 1]) await world.deliver(shard, flight(50_000, 'SEA', 2));
    });

    const ten = { end: '1970-01-01T00:00:10Z' };

    it.each([
      ['windows to come', 'by_route', { start: '2030-01-01' }],
      ['a key to come', 'by_route', { 'key.origin': 'new', start: '1970-01-01T00:00:20Z' }],
      ['a page of closed rows', 'by_route', { order: '-worst', limit: '2' }],
      ['a view without windows', 'by_origin', {}],
    ])('not %s', async (_, view, asking: Readonly<Record<string, string>>) => {
      const before = await answerOf(world.queries, view, asking);
      const incomplete = view === 'by_origin' ? ['no-windows'] : ['no-end'];
      expect(before).toMatchObject({ complete: false, incomplete });
      expect(before.rows.every(({ closed }) => closed === (view === 'by_route'))).toBe(true);
      const onTime = [flight(2e12, 'new', 1_000), flight(2e12, 'LAX', 1_000)];
      await world.deliver(0, ...onTime);
      const after = await answerOf(world.queries, view, asking);
      expect(after.rows.map(plainRow)).not.toEqual(before.rows.map(plainRow));
    });

    it('closed windows are, on every page of them, and with no rows at all', async () => {
      const closed = { order: '-worst', limit: '1', ...ten };
      const pages = await pagesOf([world.queries], 'by_route', closed);
      expect(pages).toHaveLength(2);
      pages.push(await answerOf(world.queries, 'by_route', { 'key.origin': 'new', ...ten }));
      for (const page of pages) {
        expect(page.complete).toBe(true);
        expect(page).not.toHaveProperty('incomplete');
      }
    });

    it('windows that end after the watermark are not', async () => {
      const open = { start: '1970-01-02', end: '1970-01-03' };
      expect(await answerOf(world.queries, 'by_route', open)).toMatchObject({
        rows: [],
        complete: false,
        incomplete: ['open-windows'],
        closedBefore: null,
      });
    });

    it('and says which end asks for what has closed', async () => {
      const { watermark, closedBefore } = await answerOf(world.queries, 'by_route');
      expect({ watermark, closedBefore }).toEqual({
        watermark: '1970-01-01T00:00:45.000Z',
        closedBefore: '1970-01-01T00:00:40.000Z',
      });
      const end = closedBefore as string;
      expect((await answerOf(world.queries, 'by_route', { end })).complete).toBe(true);
      const later = new Date(Date.parse(end) + 1).toISOString();
      expect((await answerOf(world.queries, 'by_route', { end: later })).complete).toBe(false);
      expect(await answerOf(world.queries, 'by_origin')).not.toHaveProperty('closedBefore');
    });

    it.each([
      ['1970-01-01T00:00:30Z', '1970-01-01T00:00:40.000Z'],
      ['1970-01-01T00:00:30.001Z', null],
      ['1970-01-01T00:00:40Z', null],
    ])('from %s on, windows before %s have closed', async (start, expected) => {
      const { closedBefore } = await answerOf(world.queries, 'by_route', { start });
      expect(closedBefore).toBe(expected);
    });
  });

  it('raises the revision of rows with each epoch of any slice', async () => {
    const before = await answerOf(world.queries, 'by_origin');
    expect((await answerOf(world.queries, 'by_origin')).rows[0]?.revision).toBe(
      before.rows[0]?.revision,
    );
    await world.deliver(1, flight(12_500, 'LAX', 1));
    const after = await answerOf(world.queries, 'by_origin');
    expect(after.rows[0]?.revision).toBeGreaterThan(before.rows[0]?.revision as number);
  });

  it('says how many records of the pipeline wait in the quarantine, if any', async () => {
    expect(await answerOf(world.queries, 'by_origin')).not.toHaveProperty('quarantined');
    await world.deliver(0, 'no JSON');
    await world.deliver(1, '{"broken', '[]');
    expect(await answerOf(world.queries, 'by_origin')).toMatchObject({ quarantined: 3 });
  });

  it('has no rows, no watermark and no error before the first record', async () => {
    const answer = await answerOf(new QueryWorld().queries, 'by_origin');
    expect(answer).toEqual({
      view: 'by_origin',
      zone: 'UTC',
      watermark: null,
      complete: false,
      incomplete: ['no-windows'],
      gaps: [],
      rows: [],
      next: null,
    });
  });

  it('has reached a record once its slice has a checkpoint with it', async () => {
    const { sequenceNumber } = world.append(0, flight(2_700, 'LAX', 1));
    const after = `${shardIdOf(0)}:${sequenceNumber}`;
    const missing = await answerOf(world.queries, 'by_origin', { after });
    expect(missing).toMatchObject({ reached: false, incomplete: ['no-windows', 'not-reached'] });
    expect(await answerOf(world.queries, 'by_origin')).not.toHaveProperty('reached');
    const both = [after, `${shardIdOf(1)}:20`];
    expect((await answerOf(world.queries, 'by_origin', { after: both })).reached).toBe(false);
    expect(
      (await answerOf(world.queries, 'by_origin', { after: `${shardIdOf(1)}:20` })).reached,
    ).toBe(true);
  });

  it('refuses to wait for a record of a shard that the stream does not have', async () => {
    const after = [`${shardIdOf(0)}:1`, `${shardIdOf(7)}:1`];
    expect(await problemOf(world.queries, 'by_origin', { after })).toEqual({
      status: 400,
      title: 'Bad Request',
      code: 'no-such-shard',
      detail: `The stream has no shard '${shardIdOf(7)}': did you mean '${shardIdOf(0)}'?`,
      path: 'after',
      expected: `${shardIdOf(0)}, ${shardIdOf(1)}`,
      found: shardIdOf(7),
    });
    const shardIds = async () => Array.from({ length: 23 }, (_, index) => shardIdOf(index + 100));
    const many = world.newQueries({ shards: { shardIds } });
    const { expected } = await problemOf(many, 'by_origin', { after });
    expect(expected).toMatch(/^shardId-000000000000, .* and 5 more$/);
  });

  it('waits for one of a shard that came since the stream was listed, or while it does not list them', async () => {
    const after = `${shardIdOf(7)}:1`;
    const seen = [0, 1].map(shardIdOf);
    const shardIds = async (ageMsMax?: number) => (ageMsMax === 0 ? [...seen, shardIdOf(7)] : seen);
    const split = world.newQueries({ shards: { shardIds } });
    expect(await answerOf(split, 'by_origin', { after })).toMatchObject({ reached: false });
    const silent = async () => {
      throw new TransientFault('the stream is busy');
    };
    const busy = world.newQueries({ shards: { shardIds: silent } });
    expect(await answerOf(busy, 'by_origin', { after })).toMatchObject({ reached: false });
  });

  it('ends a page early rather than answer more than a function may', async () => {
    const long = (index: number) => String(index).padStart(4, '0').padEnd(3_000, '.');
    await world.deliver(
      0,
      ...Array.from({ length: 1_450 }, (_, index) => flight(2_900, long(index), 1)),
    );
    const pages = await pagesOf([world.queries], 'by_origin', { limit: '10000' });
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) expect(JSON.stringify(page.rows).length).toBeLessThan(4.3 * 2 ** 20);
    expect(pages.flatMap(({ rows }) => rows.map(plainRow))).toEqual(
      groupedRows('by_origin', world.flights()),
    );
  });

  it('says so when there are more rows and too many slices for a next', async () => {
    const { parts, ...rest } = await new Snapshots(plan, world.ports).newest();
    const asked = parseViewRequest(plan, 'by_origin', [['limit', '1']]);
    const [part] = parts;
    if (!asked.ok || part === undefined) throw new Error('no question');
    const page = await readRows(asked.value, parts, {
      runs: new RunCache(world.blobs),
      isLost: () => false,
    });
    const answerOfSlices = (count: number) => {
      const many = Array.from({ length: count }, (_, index) => ({
        ...part,
        pinned: { ...part.pinned, sliceId: sliceIdOf(shardIdOf(index)), epoch: 1 + index * 7 },
      }));
      return viewAnswer(plan, asked.value, { ...rest, parts: many }, page, 0);
    };
    expect(answerOfSlices(2_000).next?.length).toBeLessThan(TOKEN_LENGTH_MAX);
    expect(() => answerOfSlices(5_000)).toThrow(
      'A next for 5000 slices and a key of 5 bytes does not fit an address.',
    );
  });
});
