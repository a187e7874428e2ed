import { describe, expect, it } from 'vitest';
import { ConfigurationFault, TransientFault } from '../../../core/faults.ts';
import type { ResourceEvent } from '../../../functions/admin/activation.ts';
import { type AdminHandlerPorts, createAdminHandler } from '../../../functions/admin/handler.ts';
import type { UrlEvent } from '../../../functions/function-url.ts';
import { TrialTelemetry } from './trial-telemetry.ts';

const HASH = 'a'.repeat(32);

function trial(overrides: Partial<AdminHandlerPorts> = {}) {
  const telemetry = new TrialTelemetry();
  const answers: { url: string; body: Record<string, unknown> }[] = [];
  const handler = createAdminHandler({
    zone: 'UTC',
    checkpoint: async () => [{ id: 'slice-1', shardId: 'shardId-1', epoch: 3 }],
    quarantine: async () => ({ ok: true, value: { records: [{ data: 'AA==' }], next: null } }),
    ask: async () => ({ ok: true, value: { requests: [], refused: [] } }),
    outcome: async () => ({ redriven: ['x'], refused: [], pending: [] }),
    tick: async () => {},
    purge: async () => ({ ok: true, value: { purged: 1, unknown: [], refused: [] } }),
    activate: async () => ({ ordinal: 2 }),
    emptyBucket: async () => {},
    patienceMs: 0,
    pauseMs: 1,
    planHash: HASH,
    put: async (url, body) => {
      answers.push({ url, body: JSON.parse(body) });
    },
    telemetry,
    ...overrides,
  });
  return { handler, telemetry, answers };
}

function post(rawPath: string, body = '{}', changes: Partial<UrlEvent> = {}): UrlEvent {
  return {
    rawPath,
    rawQueryString: '',
    headers: { 'content-type': 'application/json' },
    body,
    requestContext: { http: { method: 'POST' } },
    ...changes,
  };
}

async function ask(event: UrlEvent, overrides: Partial<AdminHandlerPorts> = {}) {
  const result = await trial(overrides).handler(event);
  return { status: result?.statusCode, json: JSON.parse(result?.body ?? 'null') };
}

describe('the admin function, asked at its URL', () => {
  it.each(['Application/JSON', 'application/json ; charset=utf-8'])(
    'takes a body of type %s',
    async (type) => {
      const event = post('/v1/checkpoint', '{}', { headers: { 'content-type': type } });
      expect(await ask(event)).toMatchObject({ status: 200 });
    },
  );

  it('answers a checkpoint and a redrive', async () => {
    expect(await ask(post('/v1/checkpoint'))).toEqual({
      status: 200,
      json: { slices: [{ id: 'slice-1', shardId: 'shardId-1', epoch: 3 }] },
    });
    const body = Buffer.from('{"reason":"late"}').toString('base64');
    const encoded = post('/v1/quarantine/redrive', body, { isBase64Encoded: true });
    expect(await ask(encoded)).toEqual({
      status: 200,
      json: { redriven: ['x'], refused: [], pending: [] },
    });
  });

  it('shows what quarantined records hold, and takes the parameters of that question', async () => {
    const asked: unknown[] = [];
    const quarantine: AdminHandlerPorts['quarantine'] = async (parameters) => {
      asked.push(parameters);
      return { ok: true, value: { records: [{ data: 'AA==' }], next: null } };
    };
    const requestContext = { http: { method: 'GET' } };
    const event = { rawPath: '/v1/quarantine', rawQueryString: 'limit=1', requestContext };
    expect(await ask(event, { quarantine })).toEqual({
      status: 200,
      json: { records: [{ data: 'AA==' }], next: null },
    });
    expect(asked).toEqual([[['limit', '1']]]);
    expect(await ask(post('/v1/quarantine'))).toMatchObject({
      status: 405,
      json: { code: 'method-not-allowed', detail: '/v1/quarantine takes GET, not POST.' },
    });
  });

  it('logs who called, what was asked and what was answered', async () => {
    const { handler, telemetry } = trial();
    const caller = 'arn:aws:sts::111122223333:assumed-role/operator/jo';
    const authorizer = { iam: { userArn: caller } };
    const requestContext = { http: { method: 'POST' }, authorizer };
    await handler(post('/v1/quarantine/redrive', '{"reason":"late"}', { requestContext }));
    await handler(post('/v1/nothing', '{}', { requestContext }));
    expect(telemetry.lines).toMatchObject([
      {
        message: 'POST /v1/quarantine/redrive begins',
        details: { caller, body: '{"reason":"late"}' },
      },
      { message: 'POST /v1/quarantine/redrive', details: { caller, status: 200 } },
      { message: 'POST /v1/nothing begins', details: { caller } },
      { message: 'POST /v1/nothing', details: { caller, status: 404 } },
    ]);
  });

  it.each([
    [
      'GET of a call',
      post('/v1/checkpoint', '', { requestContext: { http: { method: 'GET' } } }),
      405,
      'method-not-allowed',
    ],
    ['a question', post('/v1/status'), 404, 'no-such-path'],
    ['a body that is not JSON', post('/v1/checkpoint', '{'), 400, 'not-json'],
    [
      'a body with more than there is',
      post('/v1/checkpoint', '{"slice":1}'),
      400,
      'unknown-member',
    ],
    ['a list for a body', post('/v1/checkpoint', '[]'), 400, 'unknown-member'],
    [
      'a parameter',
      post('/v1/checkpoint', '{}', { rawQueryString: 'a=1' }),
      400,
      'unknown-parameter',
    ],
    ['a redrive of nothing', post('/v1/quarantine/redrive'), 400, 'wrong-body'],
    [
      'a body that is nested too deep',
      post('/v1/quarantine/redrive', '['.repeat(200_000) + ']'.repeat(200_000)),
      400,
      'wrong-body',
    ],
    ['another content type', post('/v1/checkpoint', '{}', { headers: {} }), 400, 'content-type'],
  ] as const)('refuses %s', async (_, event, status, code) => {
    expect(await ask(event)).toMatchObject({ status, json: { status, code } });
  });

  it.each([
    [new TransientFault('busy', { hint: 'wait' }), 503, 'try-again', 'TransientFault: busy: wait'],
    [new Error('broken'), 500, 'internal', 'Error: broken'],
  ] as const)('tells of what the owners throw: %s', async (error, status, code, detail) => {
    const { handler, telemetry } = trial({ checkpoint: () => Promise.reject(error) });
    const result = await handler(post('/v1/checkpoint'));
    expect(JSON.parse(result?.body ?? '')).toMatchObject({ status, code, detail });
    expect(telemetry.lines[1]).toMatchObject({ error });
    expect(telemetry.metrics.get('OtherFaults')).toBe(1);
    expect(telemetry.published).toBe(1);
  });
});

const RESOURCE: ResourceEvent = {
  RequestType: 'Create',
  ResponseURL: 'https://answers.example/1',
  StackId: 'stack',
  RequestId: 'request',
  LogicalResourceId: 'ActivePlan',
  ResourceProperties: { PlanHash: HASH, OnDelete: 'keep' },
};
const NAMES = { StackId: 'stack', RequestId: 'request', LogicalResourceId: 'ActivePlan' };

describe('the admin function, asked by CloudFormation', () => {
  it('activates the plan of its code and answers at the URL', async () => {
    const { handler, answers, telemetry } = trial();
    expect(await handler(RESOURCE)).toBeNull();
    expect(answers).toEqual([
      {
        url: RESOURCE.ResponseURL,
        body: {
          ...NAMES,
          PhysicalResourceId: 'tidemark-active-plan',
          Status: 'SUCCESS',
          Data: { PlanHash: HASH },
        },
      },
    ]);
    expect(telemetry.lines).toMatchObject([{ details: { ordinal: 2 } }]);
  });

  it('answers with what went wrong, so that the deployment fails at once', async () => {
    const activate = () => Promise.reject(new TransientFault('no table', { hint: 'make one' }));
    const { handler, answers, telemetry } = trial({ activate });
    await handler({ ...RESOURCE, RequestType: 'Update' });
    expect(answers[0]?.body).toMatchObject({ Status: 'FAILED', Reason: 'no table: make one' });
    expect(telemetry.metrics.get('OtherFaults')).toBe(1);
  });

  it('does not activate another plan than the one that was deployed', async () => {
    let activations = 0;
    const activate = async () => ({ count: activations++ });
    const { handler, answers } = trial({ activate });
    const event: ResourceEvent = {
      ...RESOURCE,
      ResourceProperties: { PlanHash: 'b'.repeat(32), OnDelete: 'keep' },
    };
    // Lambda brings it twice again, by then perhaps to the code that was deployed.
    await expect(handler(event)).rejects.toMatchObject({ name: 'OtherPlanError' });
    await expect(handler(event)).rejects.toMatchObject({ name: 'OtherPlanError' });
    expect(answers).toEqual([]);
    await handler(event);
    expect(activations).toBe(0);
    expect(answers).toHaveLength(1);
    expect(answers[0]?.body).toMatchObject({
      Status: 'FAILED',
      Reason: expect.stringContaining(`carries ${HASH}`),
    });
  });

  it('leaves everything as it is when the stack goes', async () => {
    let activations = 0;
    const activate = async () => ({ count: activations++ });
    const { handler, answers } = trial({ activate });
    await handler({ ...RESOURCE, RequestType: 'Delete', PhysicalResourceId: 'x' });
    expect(activations).toBe(0);
    expect(answers[0]?.body).toMatchObject({ Status: 'SUCCESS' });
  });

  it('tries again for a while: rights take a moment to spread', async () => {
    let attempts = 0;
    const activate = async () => {
      if (++attempts < 3) throw new ConfigurationFault('denied');
      return { ordinal: 1 };
    };
    const { handler, answers } = trial({ activate, patienceMs: 60_000 });
    await handler(RESOURCE);
    expect(attempts).toBe(3);
    expect(answers).toMatchObject([{ body: { Status: 'SUCCESS' } }]);
  });

  it.each([
    ['empty', 1],
    ['keep', 0],
  ] as const)(
    'deletes the objects of a stack that goes if that is to be: %s',
    async (OnDelete, times) => {
      let emptied = 0;
      const emptyBucket = async () => {
        emptied++;
      };
      const { handler, answers } = trial({ emptyBucket });
      const ResourceProperties = { PlanHash: 'of an older plan', OnDelete };
      await handler({ ...RESOURCE, RequestType: 'Delete', ResourceProperties });
      expect(emptied).toBe(times);
      expect(answers).toMatchObject([{ body: { Status: 'SUCCESS' } }]);
    },
  );
});
