import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../../core/definition/duration.ts';
import { InvalidPipeline, type SimulateOptions, simulate } from '../../../testing/index.ts';

const START_MS = Date.UTC(2025, 2, 1);
const MINUTE_MS = 60_000;

interface Setting {
  readonly lateness?: string;
  readonly skew?: string;
  readonly idle?: string;
  readonly late?: 'update' | 'side' | 'drop';
  readonly within?: string;
}

function orders({ lateness = '1m', skew, idle, late = 'update', within }: Setting) {
  return {
    name: 'orders',
    time: {
      field: 'at',
      lateness,
      ...(skew === undefined ? {} : { skew }),
      ...(idle === undefined ? {} : { idle }),
    },
    ...(within === undefined ? {} : { dedupe: { id: 'id', within } }),
    views: {
      by_shop: {
        groupBy: ['shop'],
        window: { tumbling: '5m' },
        late,
        aggregates: { orders: { count: '*' }, typical: { quantile: 'amount', at: [0.5] } },
      },
      ever: { aggregates: { orders: { count: '*' } } },
    },
  } as never;
}

const order = (index: number, more: object = {}) => ({
  id: index,
  at: START_MS + index * 10_000,
  shop: `s${index % 5}`,
  amount: index,
  ...more,
});
const records = Array.from({ length: 300 }, (_, index) => order(index));

const found = async (setting: Setting, options: SimulateOptions) => {
  const { findings } = await simulate(orders(setting), { faults: 'none', seeds: 3, ...options });
  return findings;
};
const LATE = { records, delays: { p50: '5s', p99: '4m', max: '10m' } };

describe('simulate', () => {
  it('finds nothing where records come in order', async () => {
    expect(await found({ late: 'drop', within: '1h' }, { records })).toEqual([]);
  });

  it.each([
    ['drop', 'late-dropped'],
    ['side', 'late-aside'],
  ] as const)(
    'finds what lateness costs under late: %s, and a lateness that would do',
    async (late, kind) => {
      const [finding, ...others] = await found({ late }, LATE);
      expect(others).toEqual([]);
      expect(finding).toMatchObject({ kind, view: 'by_shop', seed: 1, seedCount: 3 });
      expect(finding?.records).toBeGreaterThan(5);
      expect(finding?.rows).toBeGreaterThan(1);
      const [, lateness = ''] = /"lateness": "(\w+)"/.exec(finding?.advice ?? '') ?? [];
      expect(parseDuration(lateness)?.ms).toBeLessThan(10 * MINUTE_MS);
      expect(await found({ late, lateness }, LATE)).toEqual([]);
      const tooSmall = `${(finding?.neededMs as number) - 1}ms`;
      expect(await found({ late, lateness: tooSmall }, LATE)).toHaveLength(1);
    },
  );

  it('finds nothing wrong with late records that are counted whenever they come', async () => {
    expect(await found({ late: 'update' }, LATE)).toEqual([]);
  });

  it('finds producers whose clock is further ahead than skew allows', async () => {
    const ahead = { records, delays: (random: () => number) => (random() < 0.1 ? -660_001 : 0) };
    const [finding] = await found({ lateness: '20m' }, ahead);
    expect(finding).toMatchObject({ kind: 'too-far-ahead', neededMs: 660_001, view: null });
    expect(await found({ lateness: '20m', skew: '660001ms' }, ahead)).toEqual([]);
    expect(await found({ lateness: '20m', skew: '11m' }, ahead)).toHaveLength(1);
  });

  it('finds times before the earliest, such as seconds that are read as milliseconds', async () => {
    const inSeconds = records.map((each, index) =>
      index % 10 === 0 ? { ...each, at: Math.floor(each.at / 1000) } : each,
    );
    const [finding, ...others] = await found({ lateness: '20m' }, { records: inSeconds });
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ kind: 'too-far-back', records: 30, view: null });
    const [, earliest = ''] = /"earliest": "([^"]+)"/.exec(finding?.advice ?? '') ?? [];
    expect(Date.parse(earliest)).toBe(Math.floor(START_MS / 1000));
  });

  it('finds ids that are forgotten before a producer sends again', async () => {
    const resent = { records, retries: { share: 0.2, after: '7m' } } as const;
    const [finding] = await found({ within: '5m' }, resent);
    expect(finding).toMatchObject({ kind: 'counted-twice', view: null, seedCount: 3 });
    const within = `${finding?.neededMs}ms`;
    expect(await found({ within }, resent)).toEqual([]);
    const tooShort = `${(finding?.neededMs as number) - 1}ms`;
    expect(await found({ within: tooShort }, resent)).toHaveLength(1);
  });

  it('finds records that are sent again and have no id, and ids that go to two shards', async () => {
    const resent = { records, retries: { share: 0.2, after: '1s' } } as const;
    expect(await found({}, resent)).toMatchObject([{ kind: 'counted-twice-without-dedupe' }]);
    const twice = records.flatMap((each, index) => (index % 10 === 0 ? [each, each] : [each]));
    const byPlace = { records: twice, partitionKey: (_: unknown, index: number) => `k${index}` };
    const [finding] = await found({ within: '1h' }, { ...byPlace, retries: 'none' });
    expect(finding).toMatchObject({ kind: 'counted-twice-across-shards', view: null });
    expect(finding?.records).toBeLessThan(30);
    expect(await found({ within: '1h' }, { records: twice, retries: 'none' })).toEqual([]);
  });

  it('finds a shard that falls silent and holds windows open, which idle prevents', async () => {
    const fallsSilent = Array.from({ length: 300 }, (_, index) =>
      order(index, { shop: index < 100 ? `s${index % 5}` : 's0' }),
    );
    const [finding, ...others] = await found({}, { records: fallsSilent });
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ kind: 'held-open', view: 'by_shop', rows: 0 });
    expect(finding?.why).toMatch(/^shardId-00000000000[01] has had no record for 33m/);
    expect(await found({ idle: '2m' }, { records: fallsSilent })).toEqual([]);
  });

  it('does not call a shard silent that brings old records', async () => {
    const old = records.map((each, index) =>
      index % 5 === 0 ? { ...each, at: each.at - 3_600_000 } : each,
    );
    expect(await found({}, { records: old })).toEqual([]);
  });

  it('finds what idle costs a shard that was silent and then brings old records', async () => {
    const silence = records.filter(({ shop }, index) => shop !== 's1' || index < 50 || index > 290);
    const old = silence.map((each) =>
      each.shop === 's1' && each.id > 290 ? { ...each, at: each.at - 15 * MINUTE_MS } : each,
    );
    // These two keys go to two shards.
    const partitionKey = (record: unknown) =>
      (record as { shop: string }).shop === 's1' ? 'a' : 'b';
    const alone = { records: old, partitionKey };
    expect(await found({ late: 'drop' }, alone)).toEqual([]);
    const [finding, ...others] = await found({ late: 'drop', idle: '2m' }, alone);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ kind: 'late-dropped', records: 2 });
  });

  it('finds records that cannot be counted, by reason, and says with which they begin', async () => {
    const bad = records.map((each, index) =>
      index % 100 === 42 ? { ...each, amount: '7' } : each,
    );
    const [finding, ...others] = await found({}, { records: [...bad, '{"broken'] });
    expect(finding).toMatchObject({ kind: 'unreadable', records: 3, firstRecord: 43 });
    expect(others).toMatchObject([{ kind: 'unreadable', records: 1, firstRecord: 301 }]);
  });

  it('counts each of them once, says that retries are extra, and what is wrong with the first', async () => {
    const bad = records.map((each, index) => (index % 60 === 42 ? { ...each, amount: '7' } : each));
    const retries = { share: 1, after: '1s' } as const;
    const options = { records: bad, retries, seeds: 1, faults: 'none' } as const;
    const { findings, text, sizes, ...report } = await simulate(orders({ within: '1h' }), options);
    expect(findings).toMatchObject([
      {
        ...{ kind: 'unreadable', records: 5, copies: 5, firstRecord: 43 },
        example: 'field "amount": found "7", expected a number or null',
      },
    ]);
    expect(text).toContain(
      'unreadable: 5 records (and 5 copies that retries sent of them) cannot be counted (wrong-type)',
    );
    expect(text).toContain(
      '\n   record 43: field "amount": found "7", expected a number or null\n',
    );
    expect(report).toMatchObject({ records: 300, retries: 300, heartbeats: 0 });
    expect(text).toContain(
      'with seed 1 the shards got 600 records: the 300 records and 300 copies that retries sent\n',
    );
    expect(sizes.reduce((sum, each) => sum + each.records, 0)).toBe(600);
  });

  it('counts a late record once that comes late twice', async () => {
    const late = records.map((each, index) =>
      index === 200 ? { ...each, at: each.at - 30 * MINUTE_MS } : each,
    );
    const retries = { share: 1, after: '1s' } as const;
    const findings = await found({ late: 'side' }, { records: late, retries });
    expect(findings.find(({ kind }) => kind === 'late-aside')).toMatchObject({
      ...{ records: 1, copies: 1, firstRecord: 201 },
      example: null,
    });
  });

  it('is the same for the same seed, and says what checkpoints weigh', async () => {
    const options = { ...LATE, seeds: [7], faults: 'none' } as const;
    const [a, b] = [await simulate(orders({}), options), await simulate(orders({}), options)];
    expect(a).toEqual(b);
    expect(a.sizes.map((each) => each.records).reduce((x, y) => x + y)).toBe(300);
    for (const { commits, deltaBytes, entriesMax, stateBytesMax } of a.sizes) {
      expect(Math.min(commits, deltaBytes, entriesMax, stateBytesMax)).toBeGreaterThan(0);
    }
    expect(a.text).toMatch(/300 records, 2 shards, seed 7\n\nNothing was found/);
    const other = await simulate(orders({}), { ...options, seeds: [8] });
    expect(other.sizes).not.toEqual(a.sizes);
  });

  it('runs records through a world of faults, which change no answer', async () => {
    const { findings } = await simulate(orders({}), { records, seeds: [3, 4], faults: 'default' });
    expect(findings).toEqual([]);
  });

  it.each([1, 2, 40])(
    'has records for the end of the world of faults where there are %i',
    async (few) => {
      const options = {
        records: records.slice(0, few),
        seeds: [1, 2, 3],
        faults: 'default',
      } as const;
      const { findings } = await simulate(orders({ within: '1h' }), {
        ...options,
        retries: 'none',
      });
      expect(findings).toEqual([]);
    },
  );

  it('says that nothing was simulated where there are no records', async () => {
    const { text } = await simulate(orders({}), { records: [], seeds: 1 });
    expect(text).toContain('There are no records: nothing was simulated.');
    expect(text).not.toContain('Nothing was found');
  });

  it('takes a generator in place of records', async () => {
    const seen: number[] = [];
    const generator = (random: () => number, index: number) => {
      seen.push(index);
      return order(index, { amount: Math.floor(random() * 100) });
    };
    expect(await found({}, { generator, count: 50 })).toEqual([]);
    expect(seen).toHaveLength(3 * 50);
  });

  it('refuses a pipeline as check does, and a delay that is none', async () => {
    await expect(simulate({ name: 'x' } as never, { records })).rejects.toThrow(InvalidPipeline);
    await expect(found({}, { records, delays: 'soon' })).rejects.toThrow('the delay "soon"');
  });
});
