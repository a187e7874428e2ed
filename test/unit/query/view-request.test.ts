import { describe, expect, it } from 'vitest';
import { parseViewRequest } from '../../../core/query/view-request.ts';
import { parametersOf, plan } from './query-world.ts';

const ask = (view: string, asking: Record<string, string | string[]>) =>
  parseViewRequest(plan, view, parametersOf(asking));

function request(view: string, asking: Record<string, string | string[]>) {
  const asked = ask(view, asking);
  if (!asked.ok) throw new Error(JSON.stringify(asked.problem));
  return asked.value;
}

describe('parameters of a view', () => {
  it('have defaults', () => {
    expect(request('by_route', {})).toMatchObject({
      key: [undefined, undefined],
      prefix: null,
      startMs: null,
      endMs: null,
      order: null,
      limit: 100,
      after: [],
      next: null,
    });
  });

  it('take times as ISO 8601', () => {
    const times = {
      '1970-01-02': 86_400_000,
      '1970-01-01T00:01': 60_000,
      '1970-01-01T00:00:01.500Z': 1_500,
      '1970-01-01T01:00:00+01:00': 0,
    };
    for (const [start, startMs] of Object.entries(times)) {
      expect(request('by_route', { start })).toMatchObject({ startMs });
    }
  });

  it('take times without offset in the zone of the pipeline, and are another question in another zone', () => {
    const inZone = (zone: string) => {
      const asked = parseViewRequest({ ...plan, zone }, 'by_route', [['start', '2024-06-15']]);
      if (!asked.ok) throw new Error(JSON.stringify(asked.problem));
      return asked.value;
    };
    expect(inZone('Europe/Berlin').startMs).toBe(Date.parse('2024-06-15T00:00+02:00'));
    expect(inZone('America/New_York').startMs).toBe(Date.parse('2024-06-15T00:00-04:00'));
    expect(inZone('Europe/Berlin').questionHash).not.toBe(inZone('UTC').questionHash);
    const wrong = parseViewRequest({ ...plan, zone: 'Europe/Berlin' }, 'by_route', [['end', 'x']]);
    expect(wrong).toMatchObject({
      problem: { expected: expect.stringContaining('Europe/Berlin') },
    });
  });

  it('take an aggregate, or a rank of one, with - for the largest first', () => {
    // Aggregates by name: flights, total, typical, worst.
    const orders = {
      flights: { aggregate: 0, rank: null, descending: false },
      '-worst': { aggregate: 3, rank: null, descending: true },
      'typical.0.5': { aggregate: 2, rank: '0.5', descending: false },
      '-typical.0.99': { aggregate: 2, rank: '0.99', descending: true },
    };
    for (const [order, expected] of Object.entries(orders)) {
      expect(request('by_route', { order }).order).toEqual(expected);
    }
  });

  it('take records to wait for, more than once', () => {
    const after = [
      'shardId-000000000000:49590338271490256608559692538361571095921575989136588898',
      's:7',
    ];
    expect(request('by_route', { after }).after).toEqual([
      {
        shardId: 'shardId-000000000000',
        sequenceNumber: '49590338271490256608559692538361571095921575989136588898',
      },
      { shardId: 's', sequenceNumber: '7' },
    ]);
  });

  it.each<[string, Record<string, string | string[]>, object]>([
    [
      'by_rout',
      {},
      {
        status: 404,
        code: 'no-such-view',
        detail: /by_route/,
        expected: 'by_origin, by_route, in_all',
        found: 'by_rout',
      },
    ],
    ['__proto__', {}, { status: 404, code: 'no-such-view' }],
    [
      'by_route',
      { limt: '3' },
      { code: 'unknown-parameter', path: 'limt', detail: /did you mean 'limit'/ },
    ],
    [
      'by_route',
      { origin: 'x' },
      { code: 'unknown-parameter', path: 'origin', detail: /key\.origin/ },
    ],
    [
      'by_route',
      { asOf: '2020-01-01' },
      { code: 'unknown-parameter', detail: /not supported in this version/ },
    ],
    [
      'by_route',
      { 'key.orgin': 'x' },
      {
        code: 'no-such-field',
        path: 'key.orgin',
        detail: /did you mean 'origin'/,
        expected: 'key.origin, key.to',
      },
    ],
    ['in_all', { 'key.origin': 'x' }, { code: 'no-such-field', expected: /no key/ }],
    ['by_route', { 'key.to': '"x' }, { code: 'wrong-key', path: 'key.to', found: '"x' }],
    ['by_route', { 'key.to': '{"a":1}' }, { code: 'wrong-key', detail: /an object/ }],
    ['by_route', { 'key.to': '[]' }, { code: 'wrong-key', detail: /an array/ }],
    ['by_route', { 'key.to': '[9007199254740992]' }, { code: 'number-too-large' }],
    ['by_route', { prefix: '"x' }, { code: 'wrong-key', path: 'prefix' }],
    ['by_route', { 'key.to': ['a', 'b'] }, { code: 'repeated-parameter', path: 'key.to' }],
    ['by_route', { limit: ['1', '2'] }, { code: 'repeated-parameter', path: 'limit' }],
    [
      'by_route',
      { limit: '0' },
      { code: 'wrong-limit', expected: 'a whole number from 1 to 10000' },
    ],
    ['by_route', { limit: '10001' }, { code: 'wrong-limit', found: '10001' }],
    ['by_route', { limit: '1e3' }, { code: 'wrong-limit' }],
    ['by_route', { limit: '' }, { code: 'wrong-limit' }],
    ['by_route', { start: 'yesterday' }, { code: 'wrong-time', path: 'start', found: 'yesterday' }],
    ['by_route', { start: '2001-02-30' }, { code: 'wrong-time' }],
    ['by_route', { end: '1601856000000' }, { code: 'wrong-time', path: 'end' }],
    ['by_route', { end: '1970-01-01T01:00:00 01:00' }, { code: 'wrong-time', detail: /%2B/ }],
    ['by_route', { start: '2001-01-02', end: '2001-01-02' }, { code: 'empty-range', path: 'end' }],
    [
      'by_origin',
      { start: '2001-01-01' },
      { code: 'no-windows', path: 'start', detail: /no windows/ },
    ],
    [
      'by_route',
      { order: 'fligths' },
      { code: 'no-such-aggregate', path: 'order', detail: /did you mean 'flights'/ },
    ],
    [
      'by_route',
      { order: '-typical' },
      { code: 'no-such-aggregate', detail: /ranks/, expected: /typical\.0\.5, typical\.0\.99/ },
    ],
    ['by_route', { order: '+flights' }, { code: 'no-such-aggregate' }],
    ['by_route', { order: '' }, { code: 'no-such-aggregate' }],
    [
      'by_route',
      { prefix: 'x', 'key.origin': 'a', 'key.to': 'b' },
      { code: 'no-field-for-prefix', path: 'prefix' },
    ],
    ['in_all', { prefix: 'x' }, { code: 'no-field-for-prefix', detail: /has no group field/ }],
    ['by_route', { after: 'shardId-000000000000' }, { code: 'wrong-after', path: 'after' }],
    ['by_route', { after: ':7' }, { code: 'wrong-after' }],
    ['by_route', { after: 's:07' }, { code: 'wrong-after' }],
    ['by_route', { after: `s:${'9'.repeat(57)}` }, { code: 'wrong-after' }],
    [
      'by_route',
      { after: Array.from({ length: 65 }, () => 's:1') },
      { code: 'too-many-after', found: '65' },
    ],
    ['by_route', { next: 'nonsense' }, { code: 'wrong-next', path: 'next' }],
  ])('of %s are refused: %o', (view, asking, expected) => {
    const asked = ask(view, asking);
    if (asked.ok) throw new Error('was taken');
    const { problem } = asked;
    const parts: Record<string, unknown> = { status: 400, ...expected };
    for (const [name, wanted] of Object.entries(parts)) {
      const found = problem[name as keyof typeof problem];
      if (wanted instanceof RegExp) expect(found, name).toMatch(wanted);
      else expect(found, name).toBe(wanted);
    }
    expect(problem.detail).not.toBe('');
  });

  it('of one question have one hash, whatever their order and page', () => {
    const hash = (asking: Record<string, string | string[]>) =>
      request('by_route', asking).questionHash;
    const one = hash({ prefix: 'a', order: 'flights' });
    expect(hash({ order: 'flights', limit: '3', prefix: 'a', after: 's:1' })).toBe(one);
    expect(hash({ order: 'flights', prefix: 'b' })).not.toBe(one);
    expect(hash({ order: 'flights' })).not.toBe(one);
  });
});
