import { describe, expect, it } from 'vitest';
import type { AskedRedrive, RedriveSummary } from '../../../../core/query/redrive.ts';
import { InvocationError } from '../../../../runtime/environment-pool.ts';
import type { PortRequest, PortResponse } from '../../../../runtime/http/route.ts';
import {
  type RedriveRouteOptions,
  redriveRoute,
} from '../../../../runtime/query-api/redrive-route.ts';

const ASKED: AskedRedrive = {
  requests: [
    { sliceId: 'slice-1', id: 'r1' },
    { sliceId: 'slice-1', id: 'r2' },
    { sliceId: 'slice-2', id: 'r3' },
  ],
  refused: [],
};

function request(body: string, query = ''): PortRequest {
  return {
    method: 'POST',
    path: '/v1/quarantine/redrive',
    params: {},
    query: new URLSearchParams(query),
    headers: {},
    body: Buffer.from(body),
    signal: new AbortController().signal,
  };
}

/** Answers as the query function would; `outcomes` one after the other, the last again and again. */
class Trial {
  readonly asked: unknown[] = [];
  readonly ticked: string[] = [];
  readonly outcomes: RedriveSummary[];
  tickMs = 0;

  constructor(...outcomes: RedriveSummary[]) {
    this.outcomes = outcomes;
  }

  options(overrides: Partial<RedriveRouteOptions> = {}): RedriveRouteOptions {
    return {
      zone: () => 'Europe/Berlin',
      invoke: async (payload) => {
        if (payload.redrive === 'outcome') {
          return this.outcomes.length > 1 ? this.outcomes.shift() : this.outcomes[0];
        }
        this.asked.push(payload.choice);
        return { ok: true, value: ASKED };
      },
      tick: async (sliceId) => {
        this.ticked.push(sliceId);
        await new Promise((resolve) => setTimeout(resolve, this.tickMs));
      },
      waitMsMax: 200,
      waitStepMs: 1,
      ...overrides,
    };
  }
}

async function ask(options: RedriveRouteOptions, asked = request('{"reason":"late"}')) {
  const answer: PortResponse = await redriveRoute(options).handle(asked);
  return { status: answer.status, json: JSON.parse(String(answer.body)) };
}

const DONE: RedriveSummary = { redriven: ['a'], refused: [{ id: 'b', reason: 'no' }], pending: [] };
const WAITS: RedriveSummary = { redriven: ['a'], refused: [], pending: ['b'] };

describe('POST /v1/quarantine/redrive', () => {
  it('ticks each slice that was asked, and answers 200 with what became of the records', async () => {
    const trial = new Trial(DONE);

    expect(await ask(trial.options())).toEqual({ status: 200, json: DONE });
    const selection = { reason: 'late', fromMs: null, toMs: null };
    expect(trial.asked).toEqual([{ selection, after: null }]);
    expect(trial.ticked).toEqual(['slice-1', 'slice-2']);
  });

  it('ticks again until all is done', async () => {
    const trial = new Trial(WAITS, WAITS, DONE);

    expect(await ask(trial.options())).toEqual({ status: 200, json: DONE });
    expect(trial.ticked).toHaveLength(6);
  });

  it.each([
    ['whose ticks do nothing', 0],
    ['that does not come to its turn', 3_600_000],
  ])('answers 202 with what is pending for a slice %s', async (_, tickMs) => {
    const trial = new Trial(WAITS);
    trial.tickMs = tickMs;

    expect(await ask(trial.options())).toEqual({ status: 202, json: WAITS });
  });

  it('passes on what the query function refuses', async () => {
    const problem = {
      status: 400,
      title: 'Bad Request',
      code: 'wrong-ids',
      detail: 'ids are those of quarantined records.',
      path: 'ids',
      expected: 'a list',
      found: '1',
    };
    const invoke = async () => ({ ok: false, problem });

    expect(await ask(new Trial(DONE).options({ invoke }))).toEqual({
      status: 400,
      json: { type: 'urn:tidemark:problem:wrong-ids', ...problem },
    });
  });

  it('refuses a body that is not JSON, and parameters', async () => {
    const trial = new Trial(DONE);

    expect(await ask(trial.options(), request('{"ids"'))).toMatchObject({
      status: 400,
      json: { code: 'not-json', found: '{"ids"' },
    });
    expect(await ask(trial.options(), request('{}', 'reason=late'))).toMatchObject({
      status: 400,
      json: { code: 'unknown-parameter', path: 'reason' },
    });
    expect(trial.asked).toEqual([]);
  });

  it('answers 503 when the query function could not answer now', async () => {
    const failure = { name: 'TransientFault', message: 'busy', hint: null, stack: null };
    const invoke = () => Promise.reject(new InvocationError(failure));

    expect(await ask(new Trial(DONE).options({ invoke }))).toMatchObject({
      status: 503,
      json: { code: 'try-again', detail: 'busy' },
    });
  });
});
