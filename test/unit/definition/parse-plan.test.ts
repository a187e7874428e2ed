import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { planToJson } from '../../../core/definition/plan-json.ts';
import type { Problem } from '../../../core/definition/problem.ts';
import { AGGREGATES_MAX, GROUP_FIELDS_MAX, VIEWS_MAX } from '../../../core/limits.ts';

const COUNTED = { aggregates: { flights: { count: '*' } } };

function planOf(json: unknown): Plan {
  const parsed = parsePlan(json);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems, null, 2));
  return parsed.plan;
}

function problemsOf(json: unknown): readonly Problem[] {
  const parsed = parsePlan(json);
  if (parsed.ok) throw new Error('the file was accepted');
  return parsed.problems;
}

/** The problems of a pipeline that is sound but for what is given, one a line. */
function complaints(part: object): string[] {
  return problemsOf({ name: 'flights', views: { v: COUNTED }, ...part }).map(line);
}

function line({ path, found, expected, hint }: Problem): string {
  const tail = hint === undefined ? '' : ` (${hint})`;
  return `${path}: found ${found}, expected ${expected}${tail}`;
}

function viewComplaints(view: object): string[] {
  return complaints({ views: { v: { ...COUNTED, ...view } } });
}

function aggregateComplaints(aggregate: unknown): string[] {
  return complaints({ views: { v: { aggregates: { a: aggregate } } } });
}

describe('a valid pipeline file', () => {
  it('gets every default where only a name and a view are given', () => {
    const { hash, views, ...plan } = planOf({ name: 'flights', views: { v: COUNTED } });
    expect(plan).toEqual({
      name: 'flights',
      stream: 'flights',
      time: null,
      zone: 'UTC',
      latenessMs: 60_000,
      skewMs: null,
      earliestMs: null,
      idleMs: null,
      category: null,
      dedupe: null,
      fields: [],
    });
    expect(views).toEqual([
      {
        name: 'v',
        category: null,
        groupBy: [],
        window: { kind: 'all' },
        late: 'update',
        aggregates: [{ name: 'flights', kind: 'count', field: null, options: {}, column: 0 }],
        columns: [{ kind: 'count', fieldText: '*', field: null }],
        hash: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    ]);
    expect(hash).toMatch(/^[0-9a-f]{32}$/);
  });

  it('becomes a plan with units in milliseconds and fields by index', () => {
    const plan = planOf({
      name: 'flights',
      stream: 'raw.flights',
      time: { field: 'at.local', unit: 's', zone: 'America/New_York', lateness: '2h', skew: '1m' },
      category: { field: 'type' },
      dedupe: { id: 'event_id', within: '5m' },
      views: {
        delay_by_origin: {
          category: 'flight',
          groupBy: ['origin', 'a\\.b'],
          window: { tumbling: '1h' },
          late: 'side',
          aggregates: {
            typical: { quantile: 'delay', at: [0.99, 0.5] },
            known: { count: 'delay' },
            flights: { count: '*' },
          },
        },
      },
    });
    expect(plan).toMatchObject({
      stream: 'raw.flights',
      time: { path: ['at', 'local'], unitMs: 1000 },
      zone: 'America/New_York',
      latenessMs: 7_200_000,
      skewMs: 60_000,
      idleMs: null,
      category: ['type'],
      dedupe: { path: ['event_id'], withinMs: 300_000 },
      fields: [['a.b'], ['delay'], ['origin']],
    });
    expect(plan.views).toMatchObject([
      {
        category: 'flight',
        groupBy: [
          { name: 'origin', field: 2 },
          { name: 'a\\.b', field: 0 },
        ],
        window: { kind: 'tumbling', sizeMs: 3_600_000, days: 0 },
        late: 'side',
        aggregates: [
          { name: 'flights', kind: 'count', field: null, options: {} },
          { name: 'known', kind: 'count', field: 1, options: {} },
          { name: 'typical', kind: 'quantile', field: 1, options: { at: [0.5, 0.99] } },
        ],
      },
    ]);
  });

  it('allows times ten minutes ahead by default, and any with "none"', () => {
    expect(planOf({ name: 'p', time: { field: 't' }, views: { v: COUNTED } }).skewMs).toBe(600_000);
    const replayed = { name: 'p', time: { field: 't', skew: 'none' }, views: { v: COUNTED } };
    expect(planOf(replayed).skewMs).toBeNull();
  });

  it('takes times from 2000 on by default, from "earliest" in the zone, and any with "none"', () => {
    const earliest = (time: object) =>
      planOf({ name: 'p', time: { field: 't', ...time }, views: { v: COUNTED } }).earliestMs;
    expect(earliest({})).toBe(Date.UTC(2000, 0, 1));
    expect(earliest({ skew: 'none' })).toBeNull();
    expect(earliest({ earliest: 'none' })).toBeNull();
    expect(earliest({ earliest: '1987-10-01', skew: 'none' })).toBe(Date.UTC(1987, 9, 1));
    const inBerlin = { earliest: '2024-06-15', zone: 'Europe/Berlin' };
    expect(earliest(inBerlin)).toBe(Date.UTC(2024, 5, 14, 22));
    expect(earliest({ earliest: '1969-12-31T23:00:00+01:00' })).toBe(Date.UTC(1969, 11, 31, 22));
    expect(planOf({ name: 'p', time: {}, views: { v: COUNTED } }).earliestMs).toBeNull();
  });

  it('takes days as days of the zone and hours as hours', () => {
    const windowOf = (tumbling: string): unknown =>
      planOf({ name: 'p', views: { v: { ...COUNTED, window: { tumbling } } } }).views[0]?.window;
    expect(windowOf('7d')).toEqual({ kind: 'tumbling', sizeMs: 604_800_000, days: 7 });
    expect(windowOf('24h')).toEqual({ kind: 'tumbling', sizeMs: 86_400_000, days: 0 });
  });

  it('takes what lies under undefined as not given', () => {
    const plan = planOf({
      name: 'p',
      stream: undefined,
      views: { v: { ...COUNTED, window: undefined } },
    });
    expect(plan).toEqual(planOf({ name: 'p', views: { v: COUNTED } }));
  });

  it('may name a view after a property of every object', () => {
    const views = JSON.parse('{"constructor": {"aggregates": {"toString": {"count": "*"}}}}');
    const [view] = planOf({ name: 'p', views }).views;
    expect(view?.name).toBe('constructor');
    expect(view?.aggregates.map(({ name }) => name)).toEqual(['toString']);
  });

  it('groups by and adds fields named __proto__', () => {
    const view = { groupBy: ['__proto__'], aggregates: { a: { sum: 'constructor' } } };
    expect(planOf({ name: 'p', views: { v: view } }).fields).toEqual([
      ['__proto__'],
      ['constructor'],
    ]);
  });

  it('comes back from its own JSON as the same plan', () => {
    const plan = planOf({
      name: 'p',
      time: { field: 't', skew: '0s', lateness: '90m' },
      dedupe: { id: 'a.b', within: '7d' },
      views: {
        days: { groupBy: ['\\*'], window: { tumbling: '7d' }, aggregates: { n: { count: '\\*' } } },
        hours: { window: { tumbling: '48h' }, late: 'drop', aggregates: { n: { mean: 'x' } } },
      },
    });
    expect(planOf(planToJson(plan))).toEqual(plan);
    expect(planToJson(plan).views['hours']?.window).toEqual({ tumbling: '48h' });
  });
});

describe('an invalid pipeline file', () => {
  it('is told all of its problems at once', () => {
    const problems = problemsOf({
      name: 'my flights',
      stream: 'a/b',
      time: { field: '', unit: 'us', lateness: '-1m', skew: '1 hour' },
      dedupe: { id: 'id' },
      window: { tumbling: '1h' },
      views: {
        v: { groupBy: 'origin', window: { tumbling: '0s' }, aggregate: {}, aggregates: {} },
      },
    });
    expect(problems.map(({ path }) => path)).toEqual([
      'window',
      'name',
      'stream',
      'time.unit',
      'time.field',
      'time.lateness',
      'time.skew',
      'dedupe.within',
      'views.v.aggregate',
      'views.v.groupBy',
      'views.v.window.tumbling',
      'views.v.aggregates',
    ]);
  });

  it.each([
    [null, 'null'],
    [undefined, 'nothing'],
    ['x', '"x"'],
    [[], 'an empty array'],
    [() => 1, 'a function'],
    [Promise.resolve(), 'an object (Promise)'],
    [new Map(), 'an object (Map)'],
  ])('that is no object is refused as a whole: %o', (json, found) => {
    expect(problemsOf(json).map(line)).toEqual([
      expect.stringContaining(`: found ${found}, expected a pipeline: an object with "name"`),
    ]);
  });

  it('names what is missing', () => {
    expect(problemsOf({}).map(line)).toEqual([
      'name: found nothing, expected a name of 1 to 64 letters, digits and "_", "-", ".", the first a letter or a digit',
      'views: found nothing, expected an object of views such as {"delay_by_origin": {…}}',
    ]);
  });

  it.each(['__proto__', '..', '.hidden', '-x', 'a b', 'a/b', '', 'é', 'a'.repeat(65)])(
    'may not be named %j, nor may its views and aggregates',
    (name) => {
      const json = (key: string, value: unknown): unknown =>
        JSON.parse(`{${JSON.stringify(key)}: ${JSON.stringify(value)}}`);
      expect(problemsOf({ name, views: { v: COUNTED } })).toHaveLength(1);
      expect(problemsOf({ name: 'p', views: json(name, COUNTED) })).toHaveLength(1);
      const view = { aggregates: json(name, { count: '*' }) };
      expect(problemsOf({ name: 'p', views: { v: view } })).toHaveLength(1);
    },
  );

  it('never loses a view that was written as __proto__ in an object literal', () => {
    const views = { v: COUNTED, __proto__: COUNTED };
    expect(complaints({ views })).toEqual([
      'views: found an object, expected an object of views such as {"delay_by_origin": {…}}, without a prototype of its own',
    ]);
  });

  it('is told the property that was meant', () => {
    expect(complaints({ veiws: {} })).toEqual([
      'veiws: found an object, expected no property of this name (did you mean "views"?)',
    ]);
    expect(viewComplaints({ group_by: ['a'] })).toEqual([
      'views.v.group_by: found an array, expected no property of this name (did you mean "groupBy"?)',
    ]);
    expect(complaints({ time: { tz: 'UTC' } })).toEqual([
      'time.tz: found "UTC", expected no property of this name (the properties here are field, unit, zone, lateness, skew, earliest, idle)',
    ]);
    expect(complaints({ 'odd name': 1 })[0]).toMatch(/^\["odd name"\]: /);
  });

  it('is told which parts of the design are not there yet, and never has them ignored', () => {
    expect(viewComplaints({ where: 'delay > 0' })).toEqual([
      'views.v.where: found "delay > 0", expected no "where": it is not supported in this version',
    ]);
    expect(viewComplaints({ window: { hopping: '1h', every: '10m' }, late: 'drop' })).toEqual([
      'views.v.window.hopping: found "1h", expected no "hopping": it is not supported in this version',
      'views.v.window.every: found "10m", expected no "every": it is not supported in this version',
    ]);
    expect(viewComplaints({ window: { session: '30m' } })).toEqual([
      'views.v.window.session: found "30m", expected no "session": it is not supported in this version',
    ]);
    for (const kind of ['distinct', 'top', 'variance', 'first', 'last']) {
      expect(aggregateComplaints({ [kind]: 'destination', k: 10 })).toEqual([
        `views.v.aggregates.a.${kind}: found "destination", expected no "${kind}": it is not supported in this version`,
      ]);
    }
  });

  it('has durations with units and above zero where zero makes no sense', () => {
    const kind = 'of at most 3650d, such as "500ms", "30s", "10m", "1h30m" or "7d"';
    expect(viewComplaints({ window: { tumbling: '0s' } })).toEqual([
      `views.v.window.tumbling: found "0s", expected a duration above zero ${kind}`,
    ]);
    expect(viewComplaints({ window: { tumbling: 3600 } })).toEqual([
      `views.v.window.tumbling: found 3600, expected a duration above zero ${kind} (write the unit too, in quotes)`,
    ]);
    expect(viewComplaints({ window: {} })[0]).toContain('views.v.window.tumbling: found nothing');
    expect(complaints({ time: { lateness: '1.5h' } })[0]).toContain('"1h30m" instead of "1.5h"');
    for (const month of ['10 M', '1M', '2mo', '3 months', '1Q', '1y', '2 years']) {
      const [complaint] = complaints({ time: { lateness: month } });
      expect(complaint).toContain('there is no unit for months, quarters and years');
      expect(complaint).not.toContain('did you mean');
    }
    expect(complaints({ time: { lateness: '10 M' } })[0]).toContain('minutes are "10m"');
    for (const [text, meant] of [
      ['10 minutes', '10m'],
      ['1H 30Min', '1h30m'],
      ['2 days', '2d'],
      ['500 milliseconds', '500ms'],
      ['5SEC', '5s'],
    ] as const) {
      expect(complaints({ time: { lateness: text } })[0]).toContain(`did you mean "${meant}"?`);
    }
    expect(complaints({ time: { lateness: 'PT15M' } })[0]).toContain('without the P and T');
    expect(complaints({ time: { lateness: '1w' } })[0]).toContain('write weeks as days');
    expect(complaints({ time: { field: 't', skew: 'never' } })).toEqual([
      `time.skew: found "never", expected a duration ${kind}, or "none"`,
    ]);
    expect(complaints({ dedupe: { id: 'id', within: '0s' } })[0]).toContain('above zero');
    expect(planOf({ name: 'p', time: { lateness: '0s' }, views: { v: COUNTED } }).latenessMs).toBe(
      0,
    );
  });

  it('does not mix days and hours in one window', () => {
    expect(viewComplaints({ window: { tumbling: '1d12h' } })[0]).toContain(
      'expected whole days, or hours and smaller units, not both',
    );
  });

  it('is told what an earliest time is', () => {
    const earliest = (found: unknown): unknown =>
      complaints({ time: { field: 't', earliest: found } })[0];
    expect(earliest('10y')).toBe(
      'time.earliest: found "10y", expected ISO 8601 text such as "2000-01-01" or "2000-01-01T00:00:00Z", or "none"',
    );
    expect(earliest(946_684_800)).toContain('(write the date as text, in quotes)');
  });

  it('is told the zone that was meant', () => {
    const zone = (name: unknown): string | undefined => complaints({ time: { zone: name } })[0];
    expect(zone('utc')).toBe(
      'time.zone: found "utc", expected an IANA time zone such as "UTC" or "Europe/Berlin" (did you mean "UTC"?)',
    );
    expect(zone('Europe/Berln')).toContain('did you mean "Europe/Berlin"?');
    expect(zone('New York')).toContain('did you mean "America/New_York"?');
    expect(zone('Nowhere/At_All')).not.toContain('did you mean');
    expect(zone(5)).toContain('found 5');
  });

  it('has no use for settings of event time without a time field', () => {
    expect(
      complaints({ time: { unit: 's', skew: '5m', earliest: 'none', zone: 'Asia/Tokyo' } }),
    ).toEqual([
      'time.unit: found "s", expected a "field" beside it: arrival times need none of this',
      'time.skew: found "5m", expected a "field" beside it: arrival times need none of this',
      'time.earliest: found "none", expected a "field" beside it: arrival times need none of this',
    ]);
  });

  it('needs the category field that a view selects by', () => {
    expect(viewComplaints({ category: 'flight' })[0]).toMatch(
      /^views\.v\.category: found "flight", expected a "category" of the pipeline/,
    );
    expect(complaints({ category: {} })[0]).toContain('category.field: found nothing');
    expect(complaints({ category: 'type' })[0]).toContain(
      'category: found "type", expected an object',
    );
  });

  it('groups by an array of different fields, up to the bound', () => {
    expect(viewComplaints({ groupBy: 'origin' })[0]).toContain('put it in brackets');
    expect(viewComplaints({ groupBy: ['a', 'a'] })).toEqual([
      'views.v.groupBy[1]: found "a", expected each field once',
    ]);
    expect(viewComplaints({ groupBy: [7, '*', 'a..b'] }).map((text) => text.split(',')[0])).toEqual(
      [
        'views.v.groupBy[0]: found 7',
        'views.v.groupBy[1]: found "*"',
        'views.v.groupBy[2]: found "a..b"',
      ],
    );
    const many = Array.from({ length: GROUP_FIELDS_MAX + 1 }, (_, index) => `f${index}`);
    expect(viewComplaints({ groupBy: many })).toEqual([
      'views.v.groupBy: found 9, expected 0 to 8 fields to group by',
    ]);
  });

  it('has aggregates of one known kind each', () => {
    const kinds = '"count", "sum", "min", "max", "mean" or "quantile"';
    expect(aggregateComplaints({ variants: 'delay' })).toEqual([
      `views.v.aggregates.a: found "variants", expected one of ${kinds}`,
    ]);
    expect(aggregateComplaints({})).toEqual([
      `views.v.aggregates.a: found an empty object, expected one of ${kinds}`,
    ]);
    const many = { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 };
    expect(aggregateComplaints(many)[0]).toContain('found "a", "b", "c", "d", "e" and 1 more,');
    for (const [word, meant] of [
      ['summe', 'sum'],
      ['maximum', 'max'],
      ['AVG', 'mean'],
      ['average', 'mean'],
      ['counts', 'count'],
      ['median', 'quantile'],
    ] as const) {
      const [complaint] = aggregateComplaints({ [word]: 'delay' });
      expect(complaint).toContain(`found "${word}", expected`);
      expect(complaint).toContain(`did you mean "${meant}"?`);
    }
    expect(aggregateComplaints({ percentile: 'delay', at: [0.5] })[0]).toContain('"quantile"?');
    expect(aggregateComplaints({ summ: 'delay' })[0]).toContain('did you mean "sum"?');
    expect(aggregateComplaints({ sum: 'a', max: 'a' })).toHaveLength(1);
    expect(aggregateComplaints({})).toHaveLength(1);
    expect(aggregateComplaints('count')[0]).toContain(`such as {"sum": "delay"}: ${kinds}`);
    expect(aggregateComplaints({ sum: '*' })[0]).toContain('only a count takes it');
    expect(aggregateComplaints({ sum: 'delay', at: [0.5] })).toEqual([
      'views.v.aggregates.a.at: found an array, expected no other property beside "sum"',
    ]);
  });

  it('has quantiles with ranks from 0 to 1', () => {
    expect(aggregateComplaints({ quantile: 'delay' })[0]).toContain(
      'an array of ranks from 0 to 1',
    );
    expect(aggregateComplaints({ quantile: 'delay', at: [] })[0]).toContain('1 to 16 ranks');
    expect(
      aggregateComplaints({ quantile: 'delay', at: [50, -0.1, Number.NaN, '0.5', 0.5, 0.5] }),
    ).toEqual([
      'views.v.aggregates.a.at[0]: found 50, expected a number from 0 to 1 (ranks are not percentages)',
      'views.v.aggregates.a.at[1]: found -0.1, expected a number from 0 to 1',
      'views.v.aggregates.a.at[2]: found NaN, expected a number from 0 to 1',
      'views.v.aggregates.a.at[3]: found "0.5", expected a number from 0 to 1',
      'views.v.aggregates.a.at[5]: found 0.5, expected each rank once',
    ]);
  });

  it('does not speak of late records where there are none', () => {
    expect(viewComplaints({ late: 'drop' })).toEqual([
      'views.v.late: found "drop", expected a "window" beside it: without one no record is ever late',
    ]);
    expect(viewComplaints({ window: { tumbling: '1h' }, late: 'ignore' })).toEqual([
      'views.v.late: found "ignore", expected "update" or "side" or "drop"',
    ]);
  });

  it('has at least one view and at most the bound of views and aggregates', () => {
    expect(complaints({ views: {} })).toEqual(['views: found none, expected 1 to 64 views']);
    const many = (count: number, value: unknown): object =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, value]));
    expect(complaints({ views: many(VIEWS_MAX + 1, COUNTED) })).toEqual([
      'views: found 65, expected 1 to 64 views',
    ]);
    expect(viewComplaints({ aggregates: many(AGGREGATES_MAX + 1, { count: '*' }) })).toEqual([
      'views.v.aggregates: found 33, expected 1 to 32 aggregates',
    ]);
    expect(viewComplaints({ aggregates: {} })[0]).toContain('1 to 32 aggregates');
  });

  it('cuts long values short in messages', () => {
    const [text = ''] = complaints({ stream: 'x'.repeat(100_000) });
    expect(text.length).toBeLessThan(250);
    expect(text).toContain('… (100000 characters)');
  });
});
