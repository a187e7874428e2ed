import { describe, expect, it } from 'vitest';
import { count, pipeline, sum, tumbling, view } from '../../../core/definition/index.ts';
import { runPipeline } from '../../../testing/index.ts';

const shops = pipeline({
  name: 'shops',
  time: { field: 'at', lateness: '1m' },
  views: {
    revenue: view({
      groupBy: ['shop'],
      window: tumbling('1h'),
      late: 'side',
      aggregates: { orders: count(), total: sum('amount') },
    }),
  },
});
const order = (at: string, shop: string, amount: unknown) => ({
  at: `2026-03-01T${at}Z`,
  shop,
  amount,
});

describe('runPipeline', () => {
  it('answers as the query API does', async () => {
    const { views, counts, quarantined } = await runPipeline(shops, [
      order('09:10:00', 'Ulm', 0.1),
      order('09:20:00', 'Ulm', 0.2),
      JSON.stringify(order('09:30:00', 'Jena', 5)),
      new TextEncoder().encode(JSON.stringify(order('10:05:00', 'Ulm', 7))),
      order('09:59:00', 'Ulm', 100),
      order('10:06:00', 'Jena', 'much'),
    ]);
    const nine = { start: '2026-03-01T09:00:00.000Z', end: '2026-03-01T10:00:00.000Z' };
    expect(views['revenue']).toMatchObject([
      { key: { shop: 'Jena' }, window: nine, closed: true, values: { orders: 1, total: 5 } },
      { key: { shop: 'Ulm' }, window: nine, closed: true, values: { orders: 2, total: 0.1 + 0.2 } },
      { key: { shop: 'Ulm' }, closed: false, values: { orders: 1, total: 7 } },
    ]);
    expect(counts).toMatchObject({ folded: 4, quarantined: 2 });
    expect(quarantined.map(({ reason }) => reason)).toEqual(['late', 'wrong-type']);
    expect(JSON.parse(quarantined[1]?.record ?? '')).toMatchObject({ amount: 'much' });
  });

  it('is the same over any number of shards', async () => {
    const records = Array.from({ length: 500 }, (_, index) =>
      order(new Date(index * 1_000).toISOString().slice(11, 19), `s${index % 40}`, index / 8),
    );
    const values = async (shards: number) => {
      const { views } = await runPipeline(shops, records, { shards });
      return views['revenue']?.map((row) => [row.key, row.values]);
    };
    expect(await values(1)).toHaveLength(40);
    expect(await values(5)).toEqual(await values(1));
  });

  it('goes by arrival where a pipeline does', async () => {
    const byArrival = { ...shops, time: { lateness: '0s' } as const };
    const arrivals = [0, 1_800_000, 7_200_000].map((ms) => Date.UTC(2026, 5, 1) + ms);
    const records = arrivals.map(() => ({ shop: 'Ulm', amount: 1 }));
    const arrivalOf = (_: unknown, index: number) => arrivals[index] as number;
    const { views } = await runPipeline(byArrival, records, { arrivalOf });
    expect(views['revenue']?.map((row) => row.values['orders'])).toEqual([2, 1]);
  });

  it('answers all rows of a view, however many pages they are', async () => {
    const records = Array.from({ length: 12_000 }, (_, index) => order('09:10:00', `s${index}`, 1));
    const { views } = await runPipeline(shops, records);
    expect(views['revenue']).toHaveLength(12_000);
  });
});
