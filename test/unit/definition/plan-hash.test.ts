import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { Plan } from '../../../core/definition/plan.ts';

const FLIGHTS = {
  name: 'flights',
  time: { field: 'date' },
  category: { field: 'type' },
  views: {
    hourly: {
      category: 'flight',
      groupBy: ['origin', 'carrier'],
      window: { tumbling: '1h' },
      aggregates: { flights: { count: '*' }, typical: { quantile: 'delay', at: [0.5] } },
    },
    always: { aggregates: { total: { sum: 'delay' } } },
  },
};

type Loose = Record<string, unknown>;

/** The plan of FLIGHTS with the value at a path replaced. */
function changed(path: string, value: unknown): Plan {
  const json = structuredClone(FLIGHTS) as unknown as Loose;
  const names = path === '' ? [] : path.split('/');
  const last = names.pop();
  let target = json;
  for (const name of names) {
    target[name] ??= {};
    target = target[name] as Loose;
  }
  if (last !== undefined) target[last] = value;
  const parsed = parsePlan(json);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

const original = changed('', null);

function viewHashes({ views }: Plan): Record<string, string> {
  return Object.fromEntries(views.map(({ name, hash }) => [name, hash]));
}

describe('a hash of meaning', () => {
  it('is the same for ever: state is kept under it', () => {
    expect(original.hash).toBe('28f97e45aed3405f921ab23d74602d89');
    expect(viewHashes(original)).toEqual({
      always: '717362623d7c8f15f3c89bb539e1144d',
      hourly: '23d0124385c6dd0744f1357f264ec12a',
    });
  });

  it.each([
    ['stream', 'flights'],
    ['time', { lateness: '60s', skew: '10m', zone: 'UTC', unit: 'ms', field: 'date' }],
    ['views/hourly/late', 'update'],
    ['views/hourly/window/tumbling', '60m'],
    ['views/always/groupBy', []],
    ['views/always/window', undefined],
    ['views', { always: FLIGHTS.views.always, hourly: FLIGHTS.views.hourly }],
    [
      'views/hourly/aggregates',
      { typical: { at: [0.5], quantile: 'delay' }, flights: { count: '*' } },
    ],
  ])('does not change with how %s is written', (path, value) => {
    expect(changed(path, value)).toEqual(original);
  });

  it.each<[string, unknown, string[]]>([
    ['name', 'other', []],
    ['stream', 'other', []],
    ['time/field', 'when', ['hourly']],
    ['time/unit', 's', ['hourly']],
    ['time/zone', 'Asia/Tokyo', ['hourly']],
    ['time/earliest', '1990-01-01', []],
    ['time/skew', '1h', []],
    ['time/lateness', '2m', []],
    ['time/idle', '2m', []],
    ['category/field', 'kind', ['hourly']],
    ['dedupe', { id: 'id', within: '5m' }, []],
    ['views/hourly/category', 'train', ['hourly']],
    ['views/hourly/groupBy', ['carrier', 'origin'], ['hourly']],
    ['views/hourly/groupBy', ['origin'], ['hourly']],
    ['views/hourly/window/tumbling', '2h', ['hourly']],
    ['views/hourly/window', undefined, ['hourly']],
    ['views/hourly/late', 'drop', []],
    ['views/hourly/aggregates/flights', { count: 'delay' }, []],
    ['views/hourly/aggregates/more', { max: 'delay' }, []],
    ['views/hourly/aggregates/typical', { quantile: 'distance', at: [0.5] }, []],
    ['views/hourly/aggregates/typical', { quantile: 'delay', at: [0.9] }, []],
    ['views/always/aggregates/total', { mean: 'delay' }, []],
  ])(
    'changes with %s = %j, and so does that of the views whose state it concerns',
    (path, value, views) => {
      const other = changed(path, value);
      expect(other.hash).not.toBe(original.hash);
      const before = viewHashes(original);
      const moved = Object.entries(viewHashes(other)).filter(
        ([name, hash]) => before[name] !== hash,
      );
      expect(moved.map(([name]) => name)).toEqual(views);
    },
  );

  it('of a view stays when the view is renamed', () => {
    const renamed = changed('views', { hourly_2: FLIGHTS.views.hourly });
    expect(viewHashes(renamed)['hourly_2']).toBe(viewHashes(original)['hourly']);
    expect(renamed.hash).not.toBe(original.hash);
  });

  it('of a view tells a day of the zone from 24 hours, and zones where days are cut', () => {
    const days = (zone: string, tumbling: string): string | undefined => {
      const json = {
        name: 'p',
        time: { zone },
        views: { v: { window: { tumbling }, aggregates: { n: { count: '*' } } } },
      };
      const parsed = parsePlan(json);
      return parsed.ok ? parsed.plan.views[0]?.hash : undefined;
    };
    expect(days('UTC', '1d')).not.toBe(days('UTC', '24h'));
    expect(days('UTC', '1d')).not.toBe(days('Asia/Tokyo', '1d'));
    expect(days('UTC', '24h')).toBe(days('Asia/Tokyo', '24h'));
  });
});
