import { expect, it } from 'vitest';
import {
  count,
  max,
  mean,
  min,
  type PipelineJson,
  pipeline,
  quantile,
  sum,
  tumbling,
  view,
} from '../../../core/definition/index.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';

it('returns exactly the JSON that one would write by hand', () => {
  const built = pipeline({
    name: 'flights',
    time: { field: 'date', lateness: '2h', skew: 'none' },
    dedupe: { id: 'id', within: '1h30m' },
    views: {
      delay_by_origin: view({
        groupBy: ['origin'],
        window: tumbling('1h'),
        aggregates: {
          flights: count(),
          known: count('delay'),
          total: sum('delay'),
          best: min('delay'),
          worst: max('delay'),
          average: mean('delay'),
          typical: quantile('delay', [0.5, 0.99]),
        },
      }),
    },
  });
  const written: PipelineJson = {
    name: 'flights',
    time: { field: 'date', lateness: '2h', skew: 'none' },
    dedupe: { id: 'id', within: '1h30m' },
    views: {
      delay_by_origin: {
        groupBy: ['origin'],
        window: { tumbling: '1h' },
        aggregates: {
          flights: { count: '*' },
          known: { count: 'delay' },
          total: { sum: 'delay' },
          best: { min: 'delay' },
          worst: { max: 'delay' },
          average: { mean: 'delay' },
          typical: { quantile: 'delay', at: [0.5, 0.99] },
        },
      },
    },
  };
  expect(built).toStrictEqual(written);
  expect(JSON.parse(JSON.stringify(built))).toStrictEqual(written);
  expect(parsePlan(built).ok).toBe(true);
});

it('tells an editor what durations and properties look like', () => {
  // @ts-expect-error: a duration has no spaces.
  tumbling('1 hour');
  // @ts-expect-error: a view needs aggregates.
  view({ groupBy: ['origin'] });
  // @ts-expect-error: there is no such property.
  view({ groupby: ['origin'], aggregates: { flights: count() } });
  expect(tumbling('7d')).toEqual({ tumbling: '7d' });
});
