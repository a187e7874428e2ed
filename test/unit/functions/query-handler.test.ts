import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import { createQueryHandler, type QueryHandler } from '../../../functions/query/handler.ts';
import { plan, QueryWorld, shardIdOf } from '../query/query-world.ts';

function get(handler: QueryHandler, target: string, method = 'GET') {
  const [rawPath = '', rawQueryString = ''] = target.split('?');
  return handler({ rawPath, rawQueryString, requestContext: { http: { method } } });
}

async function worldOfOne() {
  const world = new QueryWorld();
  await world.deliver(0, { t: 1_000, origin: 'a b&c', to: 'X', delay: 4 }, 'bad');
  return { world, handler: createQueryHandler(world.queries) };
}

it('shows readers which records are quarantined and why, and nothing that a producer sent', async () => {
  const { world, handler } = await worldOfOne();
  const [whole] = JSON.parse((await get(handler, '/v1/quarantine')).body).records;
  expect(whole).toMatchObject({ data: expect.any(String), partitionKey: expect.any(String) });
  const reader = createQueryHandler(world.queries, { payloads: false });
  const answer = JSON.parse((await get(reader, '/v1/quarantine')).body);
  const { id, shardId, sequenceNumber, subSequence, reason, arrival } = whole;
  expect(answer).toEqual({
    records: [{ id, shardId, sequenceNumber, subSequence, reason, arrival }],
    next: null,
  });
  expect((await get(reader, '/v1/quarantine?limit=0')).statusCode).toBe(400);
});

describe('the query function', () => {
  it('answers rows of a view as JSON', async () => {
    const { handler } = await worldOfOne();
    const answer = await get(handler, '/v1/views/by_origin?key.origin=a+b%26c&limit=5');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toEqual({ 'content-type': 'application/json' });
    expect(JSON.parse(answer.body)).toEqual({
      view: 'by_origin',
      zone: 'UTC',
      watermark: '1969-12-31T23:59:56.000Z',
      complete: false,
      incomplete: ['no-windows'],
      quarantined: 1,
      gaps: [],
      rows: [
        {
          key: { origin: 'a b&c' },
          window: null,
          closed: false,
          revision: 1,
          values: { flights: 1, total: 4, typical: { '0.5': 4, '0.99': 4 }, worst: 4 },
        },
      ],
      next: null,
    });
  });

  it('answers the pipeline, from which the same plan is read', async () => {
    const { handler } = await worldOfOne();
    const { hash, pipeline } = JSON.parse((await get(handler, '/v1/pipeline')).body);
    const parsed = parsePlan(pipeline);
    expect(parsed.ok && parsed.plan).toEqual(plan);
    expect(hash).toBe(plan.hash);
  });

  it('answers what the views are', async () => {
    const { handler } = await worldOfOne();
    const { views } = JSON.parse((await get(handler, '/v1/views')).body);
    expect(views.map(({ name }: { name: string }) => name)).toEqual([
      'by_origin',
      'by_route',
      'in_all',
    ]);
    expect(views[1]).toEqual({
      name: 'by_route',
      groupBy: ['origin', 'to'],
      window: { tumbling: '10s' },
      late: 'update',
      aggregates: {
        flights: { count: '*' },
        total: { sum: 'delay' },
        worst: { max: 'delay' },
        typical: { quantile: 'delay', at: [0.5, 0.99] },
      },
    });
    expect(views[2].window).toBeNull();
  });

  it('answers status and quarantine', async () => {
    const { handler } = await worldOfOne();
    const status = JSON.parse((await get(handler, '/v1/status')).body);
    expect(status).toMatchObject({ pipeline: plan.name, records: { folded: 1, quarantined: 1 } });
    const { records } = JSON.parse((await get(handler, '/v1/quarantine?limit=3')).body);
    expect(records).toMatchObject([{ shardId: shardIdOf(0), reason: 'not-json', data: 'YmFk' }]);
  });

  it.each([
    ['GET', '/v1/views/by_orign', 404, 'no-such-view'],
    ['GET', '/v1/views/%ff', 404, 'no-such-view'],
    ['GET', '/v1/views/', 404, 'no-such-path'],
    ['GET', '/v1/view', 404, 'no-such-path'],
    ['GET', '/', 404, 'no-such-path'],
    ['POST', '/v1/status', 405, 'method-not-allowed'],
    ['DELETE', '/v1/views/by_origin', 405, 'method-not-allowed'],
    ['GET', '/v1/views?limit=3', 400, 'unknown-parameter'],
    ['GET', '/v1/status?x', 400, 'unknown-parameter'],
    ['GET', '/v1/views/by_origin?limit=none', 400, 'wrong-limit'],
    ['GET', '/v1/quarantine?after=3', 400, 'unknown-parameter'],
  ])('answers %s %s with a problem', async (method, target, status, code) => {
    const { handler } = await worldOfOne();
    const answer = await get(handler, target, method);
    expect(answer.statusCode).toBe(status);
    expect(answer.headers).toEqual({ 'content-type': 'application/problem+json' });
    const problem = JSON.parse(answer.body);
    expect(problem).toMatchObject({ type: `urn:tidemark:problem:${code}`, status, code });
    expect(problem.title).toMatch(/^[A-Z]/);
    expect(problem.detail).toMatch(/[.?]$/);
  });
});
