import { beforeAll, describe, expect, it } from 'vitest';
import { RunCache } from '../../../core/checkpoint/run-cache.ts';
import type { QueryPorts } from '../../../core/query/queries.ts';
import { Snapshots } from '../../../core/query/snapshots.ts';
import { parseViewRequest } from '../../../core/query/view-request.ts';
import { readRows } from '../../../core/query/view-rows.ts';
import {
  answerOf,
  type Flight,
  groupedRows,
  pagesOf,
  parametersOf,
  plainRow,
  plan,
  QueryWorld,
} from './query-world.ts';

/** Origins of every type, several routes and windows, over three shards. */
function flightsOf(shard: number, fromMs: number, count: number): Flight[] {
  const origins = [
    ...['LAX', 'LAS', 'SFO', '', '__proto__', 'L\u0000X', 7, -2.5, true, false, null],
    ...['7', 'null', '70', 70, 700.5, 'True'],
  ];
  return Array.from({ length: count }, (_, index) => ({
    t: fromMs + index * 700,
    origin: origins[(index * 7 + shard) % origins.length] as Flight['origin'],
    to: ['T0', 'T1', 'T2', '2', 2][index % 5] as Flight['to'],
    delay: index % 7 === 0 ? null : (index * 13) % 40,
  }));
}

function digitsOfEitherType(t: number): Flight[] {
  const values = [7, '7'];
  return values.flatMap((origin) => [2, '2'].map((to): Flight => ({ t, origin, to, delay: 3 })));
}

/** Windows that closed long ago lie in merged runs, later ones in the chain, the last are open; some records come late. */
async function filledWorld(): Promise<QueryWorld> {
  const world = new QueryWorld({}, 2);
  for (let round = 0; round < 9; round++) {
    await world.deliver(round % 3, ...digitsOfEitherType(round * 15_000));
    for (const shard of [0, 1, 2]) {
      await world.deliver(shard, ...flightsOf(shard, round * 15_000, 20));
      if (round % 3 === 2) await world.deliver(shard, ...flightsOf(shard, (round - 2) * 15_000, 4));
    }
  }
  return world;
}

describe('the rows of a view', () => {
  let world: QueryWorld;

  beforeAll(async () => {
    world = await filledWorld();
  });

  it('come from open windows, closed ones since the base, and runs', async () => {
    const keys = (await world.blobs.objects.list('', null, 10_000)).map(({ key }) => key);
    expect(keys.filter((key) => key.includes('/run/')).length).toBeGreaterThan(5);
    const { rows } = await answerOf(world.queries, 'by_route', { limit: '10000' });
    expect(rows.some(({ closed }) => closed)).toBe(true);
    expect(rows.some(({ closed }) => !closed)).toBe(true);
    expect(rows.map(plainRow)).toEqual(groupedRows('by_route', world.flights()));
  });

  it('are whole although each block came with a wrong bit once, and its index too', async () => {
    const { objects } = world.blobs;
    const seen = new Set<string>();
    const badOnce = new Proxy(objects, {
      get(target, name) {
        const method = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>;
        if (name !== 'readRange') return method.bind(target);
        return async (key: string, from: number, to: number) => {
          const bytes = new Uint8Array((await target.readRange(key, from, to)) as Uint8Array);
          const range = `${key} ${from} ${to}`;
          if (!seen.has(range)) bytes[0] = (bytes[0] as number) ^ 1;
          seen.add(range);
          return bytes;
        };
      },
    });
    const blobs = { ...world.blobs, objects: badOnce };
    const snapshot = await new Snapshots(plan, { ...world.ports, blobs }).newest();
    const request = parseViewRequest(plan, 'by_route', [['limit', '10000']]);
    if (!request.ok) throw new Error(request.problem.detail);
    const runs = new RunCache(blobs);
    for (let time = 1; time <= 2; time++) {
      const page = await readRows(request.value, snapshot.parts, { runs, isLost: () => false });
      expect(page.damaged).toEqual([]);
      expect(page.rows).toHaveLength(groupedRows('by_route', world.flights()).length);
    }
    expect(seen.size).toBeGreaterThan(5);
  });

  it('are the same to a reader that followed and to one that begins now', async () => {
    const world = await filledWorld();
    await answerOf(world.queries, 'by_route');
    for (const shard of [0, 1, 2]) await world.deliver(shard, ...flightsOf(shard, 140_000, 5));
    const warm = await answerOf(world.queries, 'by_route', { limit: '10000' });
    expect(await answerOf(world.newQueries(), 'by_route', { limit: '10000' })).toEqual(warm);
  });

  it.each<[number, { readonly order?: string }[]]>([
    [3, [{}, { order: 'worst' }]],
    [20, [{}, { order: '-flights' }, { order: 'worst' }, { order: '-typical.0.99' }]],
  ])('are the same in pages of %i', async (limit, orders) => {
    for (const order of orders) {
      const whole = await answerOf(world.queries, 'by_route', { ...order, limit: '10000' });
      expect(whole.next).toBeNull();
      const pages = await pagesOf([world.queries], 'by_route', { ...order, limit: String(limit) });
      expect(pages.flatMap(({ rows }) => rows)).toEqual(whole.rows);
      for (const page of pages.slice(0, -1)) expect(page.rows).toHaveLength(limit);
    }
  });

  it('are ordered by an aggregate, groups without a value last, equal ones by key', async () => {
    const expected = groupedRows('by_origin', world.flights());
    for (const [order, sign] of [
      ['worst', 1],
      ['-worst', -1],
    ] as const) {
      const { rows } = await answerOf(world.queries, 'by_origin', { order });
      // Sorting is stable, so that equal ones stay in the order of keys.
      const sorted = [...expected].sort((a, b) => {
        if (a.worst === b.worst) return 0;
        if (a.worst === null || b.worst === null) return a.worst === null ? 1 : -1;
        return sign * (a.worst - b.worst);
      });
      expect(rows.map(plainRow)).toEqual(sorted);
    }
  });

  it('are ordered by the rank of a quantile', async () => {
    const { rows } = await answerOf(world.queries, 'by_origin', { order: '-typical.0.5' });
    const medians = rows.map(
      ({ values }) => (values['typical'] as Record<string, number | null>)['0.5'],
    );
    const known = medians.filter((median) => median !== null) as number[];
    expect(known).toEqual([...known].sort((a, b) => b - a));
    expect(new Set(known).size).toBeGreaterThan(2);
  });

  it.each<[string, Flight['origin'][]]>([
    ['LAX', ['LAX']],
    ['"LAX"', ['LAX']],
    ['', ['']],
    ['7', [7, '7']],
    ['"7"', ['7']],
    ['[7]', [7]],
    ['-2.5', [-2.5]],
    ['true', [true]],
    ['True', ['True']],
    ['null', [null, 'null']],
    ['[null]', [null]],
    ['"null"', ['null']],
    ['__proto__', ['__proto__']],
    ['L\u0000X', ['L\u0000X']],
  ])('are chosen by key.origin=%s, whole and page by page', async (text, origins) => {
    for (const view of ['by_origin', 'by_route']) {
      const asked = { 'key.origin': text, limit: '10000' };
      const { rows } = await answerOf(world.queries, view, asked);
      const flights = world.flights().filter((flight) => origins.includes(flight.origin));
      expect(new Set(rows.map(({ key }) => key['origin']))).toEqual(new Set(origins));
      expect(rows.map(plainRow)).toEqual(groupedRows(view, flights));
      const pages = await pagesOf([world.queries], view, { ...asked, limit: '1' });
      expect(pages.flatMap((page) => page.rows)).toEqual(rows);
    }
  });

  it('have no number 7 where 07 is asked for', async () => {
    expect((await answerOf(world.queries, 'by_origin', { 'key.origin': '07' })).rows).toEqual([]);
  });

  it('are chosen by several fields of either type, in every combination', async () => {
    const asked = { 'key.origin': '7', 'key.to': '2', limit: '10000' };
    const chosen = world
      .flights()
      .filter(({ origin, to }) => [7, '7'].includes(origin as string) && (to === 2 || to === '2'));
    const { rows } = await answerOf(world.queries, 'by_route', asked);
    const combinations = rows.map(({ key }) => JSON.stringify(Object.values(key)));
    expect(new Set(combinations)).toEqual(new Set(['[7,2]', '[7,"2"]', '["7",2]', '["7","2"]']));
    expect(rows.map(plainRow)).toEqual(groupedRows('by_route', chosen));
    for (const order of [{}, { order: '-flights' }]) {
      const whole = await answerOf(world.queries, 'by_route', { ...asked, ...order });
      const pages = await pagesOf([world.queries], 'by_route', { ...asked, ...order, limit: '3' });
      expect(pages.flatMap((page) => page.rows)).toEqual(whole.rows);
    }
  });

  it('are chosen by a field that is not the first', async () => {
    const { rows } = await answerOf(world.queries, 'by_route', { 'key.to': 'T1', limit: '10000' });
    const flights = world.flights().filter(({ to }) => to === 'T1');
    expect(rows.map(plainRow)).toEqual(groupedRows('by_route', flights));
  });

  it('are chosen by a prefix of the first field that no key asks for', async () => {
    const spelled = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
    const chosenBy = (prefix: string) =>
      world.flights().filter(({ origin }) => spelled(origin).startsWith(prefix));
    for (const prefix of [
      'L',
      'LA',
      'LAX',
      'L\u0000',
      '',
      'Q',
      '7',
      '70',
      '-',
      '-2',
      'n',
      'tr',
      'T',
    ]) {
      const asked = { prefix, limit: '10000' };
      const { rows } = await answerOf(world.queries, 'by_route', asked);
      expect(rows.map(plainRow)).toEqual(groupedRows('by_route', chosenBy(prefix)));
      const pages = await pagesOf([world.queries], 'by_route', { ...asked, limit: '4' });
      expect(pages.flatMap((page) => page.rows)).toEqual(rows);
    }
    const textOnly = await answerOf(world.queries, 'by_origin', { prefix: '"7"' });
    expect(textOnly.rows.map(({ key }) => key['origin'])).toEqual(['7', '70']);
    const asked = { 'key.origin': 'LAX', prefix: 'T2', limit: '10000' };
    const { rows } = await answerOf(world.queries, 'by_route', asked);
    const flights = world.flights().filter(({ origin, to }) => origin === 'LAX' && to === 'T2');
    expect(rows.map(plainRow)).toEqual(groupedRows('by_route', flights));
  });

  it('are those of windows that begin at or after start and before end', async () => {
    const iso = (ms: number) => new Date(ms).toISOString();
    for (const [startMs, endMs] of [
      [0, 10_000],
      [10_000, 60_000],
      [15_000, 45_000],
      [110_000, 900_000],
    ] as const) {
      const asked = { start: iso(startMs), end: iso(endMs), limit: '10000' };
      const { rows } = await answerOf(world.queries, 'by_route', asked);
      const expected = groupedRows('by_route', world.flights()).filter(
        (row) => (row.startMs ?? 0) >= startMs && (row.startMs ?? 0) < endMs,
      );
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.map(plainRow)).toEqual(expected);
    }
  });

  it('of one key do not read the runs of others', async () => {
    const world = new QueryWorld();
    let bytesRead = 0;
    const { objects, items } = world.blobs;
    const counting = new Proxy(objects, {
      get: (target, name) => {
        if (name !== 'readRange') return Reflect.get(target, name).bind(target);
        return async (...args: Parameters<typeof objects.readRange>) => {
          const bytes = await target.readRange(...args);
          bytesRead += bytes?.length ?? 0;
          return bytes;
        };
      },
    });
    const blobs: QueryPorts['blobs'] = { items, objects: counting };
    const wide = Array.from({ length: 3_000 }, (_, index) => ({
      t: 200_000,
      origin: `O${String(index).padStart(5, '0')}`,
      to: 'X',
      delay: index,
    }));
    await world.deliver(0, ...wide);
    await world.deliver(0, { t: 300_000, origin: 'end', to: 'X', delay: 0 });
    await world.checkpoint(0);
    const queries = world.newQueries({ blobs });
    const point = await answerOf(queries, 'by_route', { 'key.origin': 'O01500' });
    expect(point.rows.map(plainRow)).toEqual([
      {
        key: { origin: 'O01500', to: 'X' },
        startMs: 200_000,
        flights: 1,
        total: 1500,
        worst: 1500,
      },
    ]);
    const pointBytes = bytesRead;
    await answerOf(queries, 'by_route', { prefix: 'O', limit: '5' });
    const pageBytes = bytesRead - pointBytes;
    await answerOf(queries, 'by_route', { prefix: 'O', limit: '10000' });
    const wholeBytes = bytesRead;
    expect(pointBytes).toBeLessThan(wholeBytes / 3);
    expect(pageBytes).toBeLessThan(wholeBytes / 3);
    // What was read is kept: the same question again reads nothing.
    await answerOf(queries, 'by_route', { 'key.origin': 'O01500' });
    expect(bytesRead).toBe(wholeBytes);
  });

  it.each([{ order: 'flights' }, {}, { prefix: 'O' }])(
    'of %j give way between portions, and end when the caller has gone',
    async (asking: Record<string, string>) => {
      const world = new QueryWorld();
      const closed = Array.from({ length: 9_000 }, (_, index) => ({
        t: 1_000,
        origin: `O${index}`,
        to: 'X',
        delay: 1,
      }));
      await world.deliver(0, ...closed);
      let pauses = 0;
      const pace = {
        pause: async () => {
          if (++pauses === 2) throw new Error('the caller has gone');
        },
      };
      const queries = world.newQueries({ pace });
      await expect(queries.view('by_origin', parametersOf(asking))).rejects.toThrow('has gone');
      expect(pauses).toBe(2);
      // The next reader finds everything as it was.
      const answer = await answerOf(queries, 'by_origin', { ...asking, limit: '3' });
      expect(answer.rows).toHaveLength(3);
      expect(pauses).toBeGreaterThan(3);
    },
  );

  it('are given in an order however many groups there are, of which two slices may have a part each', async () => {
    const world = new QueryWorld();
    const many = Array.from({ length: 5_000 }, (_, origin) => ({
      t: 1,
      origin,
      to: 'X',
      delay: 1,
    }));
    await world.deliver(0, ...many);
    await world.deliver(1, ...many.slice(0, 3_000));
    // 6 + 6 in two slices are more than 10 in one.
    for (const shard of [0, 1]) {
      await world.deliver(shard, ...Array(6).fill({ t: 2, origin: 'g', to: 'X', delay: 1 }));
    }
    await world.deliver(0, ...Array(10).fill({ t: 3, origin: 'h', to: 'X', delay: 1 }));
    const { rows } = await answerOf(world.queries, 'by_origin', { order: '-flights', limit: '4' });
    const found = rows.map(({ key, values }) => [key['origin'], values['flights']]);
    expect(found).toEqual([
      ['g', 12],
      ['h', 10],
      [0, 2],
      [1, 2],
    ]);
    const pages = await pagesOf([world.queries], 'by_origin', { order: 'flights', limit: '1000' });
    expect(pages.flatMap((page) => page.rows)).toHaveLength(5_002);
  });
});
