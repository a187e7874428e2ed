import { describe, expect, it } from 'vitest';
import { createQueryHandler } from '../../../functions/query/handler.ts';
import { observedQuery } from '../../../functions/query/observed-query.ts';
import { askPatiently } from '../../../functions/query/patient-query.ts';
import { QueryWorld, shardIdOf } from '../query/query-world.ts';
import { TrialTelemetry } from './trial-telemetry.ts';

const EVENT = {
  rawPath: '/v1/views/by_origin',
  rawQueryString: '',
  requestContext: { http: { method: 'GET' } },
};

describe('the query function, observed', () => {
  it('answers what the handler answers, and says nothing of it', async () => {
    const telemetry = new TrialTelemetry();
    const result = { statusCode: 404, headers: {}, body: '{}' };
    expect(await observedQuery(async () => result, telemetry)(EVENT)).toBe(result);
    expect(telemetry.lines).toEqual([]);
  });

  it('answers with a problem where the handler throws, and tells of it', async () => {
    const telemetry = new TrialTelemetry();
    const error = Object.assign(new Error('no table'), { name: 'ConfigurationFault' });
    const result = await observedQuery(() => Promise.reject(error), telemetry)(EVENT);
    expect(result.statusCode).toBe(500);
    expect(JSON.parse(result.body)).toMatchObject({
      code: 'internal',
      detail: 'ConfigurationFault: no table',
    });
    expect(telemetry.metrics.get('OtherFaults')).toBe(1);
    expect(telemetry.lines).toMatchObject([{ error, details: { path: EVENT.rawPath } }]);
  });
});

describe('waiting for a record, where HEADs are looked at', () => {
  it('asks twice, and looks in between', async () => {
    const world = new QueryWorld();
    await world.deliver(0, { t: 1_000, origin: 'LAX', to: 'X', delay: 1 });
    let questions = 0;
    const handler = createQueryHandler(world.queries);
    const ask: typeof handler = (event) => {
      questions++;
      return handler(event);
    };
    let looks = 0;
    const cursors = async () => {
      if (++looks === 3) await world.deliver(0, { t: 2_000, origin: 'LAX', to: 'X', delay: 1 });
      return new Map([[shardIdOf(0), (await world.head(0)).cursor.sequenceNumber]]);
    };
    const event = { ...EVENT, rawQueryString: `after=${shardIdOf(0)}:20` };
    const result = await askPatiently(ask, event, { waitStepMs: 1, cursors });
    expect(JSON.parse(result.body)).toMatchObject({ reached: true });
    expect([questions, looks]).toEqual([2, 3]);
  });

  it('answers with what there is where nobody can say how far slices are', async () => {
    const world = new QueryWorld();
    await world.deliver(0, { t: 1_000, origin: 'LAX', to: 'X', delay: 1 });
    const ask = createQueryHandler(world.queries);
    const event = { ...EVENT, rawQueryString: `after=${shardIdOf(0)}:20` };
    const patience = { waitMsMax: 60_000, waitStepMs: 1, cursors: async () => null };
    expect(JSON.parse((await askPatiently(ask, event, patience)).body)).toMatchObject({
      reached: false,
    });
  });
});
