import { describe, expect, it } from 'vitest';
import { createQueryHandler } from '../../../../functions/query/handler.ts';
import { InvocationError } from '../../../../runtime/environment-pool.ts';
import type { PortRequest } from '../../../../runtime/http/route.ts';
import {
  type InvokeQuery,
  type QueryRouteOptions,
  queryRoutes,
} from '../../../../runtime/query-api/query-routes.ts';
import { QueryWorld, shardIdOf } from '../../query/query-world.ts';

const FAST = { waitMsMax: 2_000, waitStepMs: 5 };
const flight = { t: 1_000, origin: 'LAX', to: 'X', delay: 1 };

function request(target: string, signal = new AbortController().signal): PortRequest {
  const { pathname, searchParams } = new URL(target, 'http://localhost');
  return {
    method: 'GET',
    path: pathname,
    params: {},
    query: searchParams,
    headers: {},
    body: Buffer.alloc(0),
    signal,
  };
}

function ask(invoke: InvokeQuery, asked: PortRequest, options: QueryRouteOptions = FAST) {
  const [route] = queryRoutes(invoke, options);
  if (route === undefined) throw new Error('no route');
  return route.handle(asked);
}

describe('the routes of the query API', () => {
  it('are those of the query function', () => {
    const routes = queryRoutes(async () => null);
    expect(routes.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/views',
      'GET /v1/views/{view}',
      'GET /v1/pipeline',
      'GET /v1/status',
      'GET /v1/quarantine',
    ]);
  });

  it('pass path and parameters on, and the answer back', async () => {
    const world = new QueryWorld();
    await world.deliver(0, { ...flight, origin: 'ä +&=%' }, flight);
    const handler = createQueryHandler(world.queries);
    const value = encodeURIComponent('ä +&=%');
    const answer = await ask(handler, request(`/v1/views/by_origin?key.origin=${value}`));
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(String(answer.body)).rows).toMatchObject([{ key: { origin: 'ä +&=%' } }]);
    const problem = await ask(handler, request('/v1/views/nothing'));
    expect(problem).toMatchObject({
      status: 404,
      headers: { 'content-type': 'application/problem+json' },
    });
  });

  it('add to the status what the first records say of the paths', async () => {
    const handler = createQueryHandler(new QueryWorld().queries);
    const hint = { path: 'a.b', found: 'a\\.b', records: 1, text: 'field a.b' };
    const asked = async (path: string, hints: readonly (typeof hint)[]) => {
      const routes = queryRoutes(handler, { ...FAST, hints: () => hints });
      const answer = await routes[0]?.handle(request(path));
      return JSON.parse(String(answer?.body));
    };

    expect(await asked('/v1/status', [hint])).toMatchObject({ pipeline: 'flights', hints: [hint] });
    expect(await asked('/v1/status', [])).not.toHaveProperty('hints');
    expect(await asked('/v1/views', [hint])).not.toHaveProperty('hints');
  });

  it('wait until the record of after is in', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight);
    const handler = createQueryHandler(world.queries);
    const after = `${shardIdOf(0)}:20`;
    const answer = ask(handler, request(`/v1/views/by_origin?after=${after}`));
    await new Promise((resolve) => setTimeout(resolve, 40));
    await world.deliver(0, flight);
    const body = JSON.parse(String((await answer).body));
    expect(body).toMatchObject({ reached: true, rows: [{ values: { flights: 2 } }] });
  });

  it('answer with what there is when the record does not come in time', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight);
    const paths: string[] = [];
    const handler = createQueryHandler(world.queries);
    const invoke: InvokeQuery = (event) => {
      paths.push(event.rawPath);
      return handler(event);
    };
    const asked = request(`/v1/views/by_origin?after=${shardIdOf(0)}:20`);
    const answer = await ask(invoke, asked, { waitMsMax: 400, waitStepMs: 10 });
    expect(JSON.parse(String(answer.body))).toMatchObject({ reached: false, rows: [{}] });
    // Looks while it waits are cheap ones.
    expect(paths.filter((path) => path === '/v1/views/by_origin')).toHaveLength(2);
    expect(paths.length).toBeGreaterThan(2);
  });

  it('wait for the first record of a shard that has no slice yet', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight);
    const shards = { shardIds: async () => [0, 1].map(shardIdOf) };
    const handler = createQueryHandler(world.newQueries({ shards }));
    const answer = ask(handler, request(`/v1/views/by_origin?after=${shardIdOf(1)}:10`));
    await new Promise((resolve) => setTimeout(resolve, 40));
    await world.deliver(1, flight);
    expect(JSON.parse(String((await answer).body))).toMatchObject({ reached: true });
  });

  it('refuse to wait for a shard that the stream does not have', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight);
    const handler = createQueryHandler(world.queries);
    const asked = request(`/v1/views/by_origin?after=${shardIdOf(5)}:1`);
    const answer = await ask(handler, asked, { waitMsMax: 3_600_000, waitStepMs: 5 });
    expect(answer.status).toBe(400);
    expect(JSON.parse(String(answer.body))).toMatchObject({ code: 'no-such-shard' });
  });

  it('do not wait for a client that has gone, nor on a page of an older snapshot', async () => {
    const world = new QueryWorld();
    await world.deliver(0, flight, { ...flight, origin: 'SFO' });
    const handler = createQueryHandler(world.queries);
    const after = `after=${shardIdOf(0)}:30`;
    const patient = { waitMsMax: 60_000, waitStepMs: 5 };
    const gone = request(`/v1/views/by_origin?${after}`, AbortSignal.abort());
    expect((await ask(handler, gone, patient)).status).toBe(200);
    const page = await ask(handler, request('/v1/views/by_origin?limit=1'));
    const { next } = JSON.parse(String(page.body));
    const rest = await ask(handler, request(`/v1/views/by_origin?${after}&next=${next}`), patient);
    expect(JSON.parse(String(rest.body))).toMatchObject({ reached: false, rows: [{}] });
  });

  it('tell a client when to come again where too many wait already', async () => {
    const failure = {
      name: 'Overloaded',
      message: '16 scan requests wait',
      hint: null,
      stack: null,
    };
    const invoke = async () => {
      throw new InvocationError(failure);
    };
    const answer = await ask(invoke, request('/v1/status'));
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
    expect(JSON.parse(String(answer.body))).toMatchObject({ code: 'overloaded' });
  });

  it.each([
    ['Timeout', 503, 'try-again'],
    ['Closed', 503, 'try-again'],
    ['ERR_WORKER_OUT_OF_MEMORY', 500, 'internal'],
  ])('say with a problem that the function ended by %s', async (name, status, code) => {
    const failure = { name, message: 'it did not answer', hint: 'ask for less', stack: null };
    const invoke = async () => {
      throw new InvocationError(failure);
    };
    const answer = await ask(invoke, request('/v1/status'));
    expect(answer.status).toBe(status);
    expect(JSON.parse(String(answer.body))).toMatchObject({
      code,
      detail: 'it did not answer: ask for less',
    });
  });
});
