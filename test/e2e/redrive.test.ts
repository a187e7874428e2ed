import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  groups,
  manyOrders,
  ORDERS,
  order,
  put,
  type ViewAnswer,
  writePipeline,
} from './orders.ts';
import { cleanUp, Dev, newFolder } from './tidemark-process.ts';

const folders: string[] = [];
const devs: Dev[] = [];
let dev: Dev;

/** Quarantined as long as the price is added; not when it is only counted. */
const WRONG = ['x', 'y', 'z'].map((id) => ({ ...order(id, 'north', 0), price: 'free' }));
/** Quarantined as long as there is a `skew`. */
const AHEAD_MS = 3_600_000;
const AHEAD = ['north', 'south'].map((shop) => {
  return order(`ahead-${shop}`, shop, 2.25, new Date(Date.now() + AHEAD_MS).toISOString());
});
const ANY_TIME = { ...ORDERS, time: { ...ORDERS.time, skew: 'none' } };
const COUNTED = {
  ...ORDERS,
  views: { by_shop: { groupBy: ['shop'], aggregates: { orders: { count: '*' } } } },
};

beforeAll(async () => {
  const folder = newFolder();
  folders.push(folder);
  writePipeline(folder);
  dev = await Dev.start(folder, '--pipeline', 'shop.json', '--shards', '2');
  devs.push(dev);
  const after = await put(dev, [...manyOrders('o', 10), ...WRONG, ...AHEAD]);
  await groups(dev, 'by_shop', 'orders', after);
});

afterAll(() => cleanUp(devs, folders));

interface Redriven {
  readonly redriven: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
  readonly pending: readonly string[];
}

async function redrive(...args: string[]): Promise<{ code: number | null; answer: Redriven }> {
  const { code, stdout } = await dev.command('redrive', ...args, '--json');
  return { code, answer: JSON.parse(stdout) as Redriven };
}

async function quarantinedIds(): Promise<string[]> {
  const { stdout } = await dev.command('quarantine', '--json');
  return (JSON.parse(stdout) as { records: { id: string }[] }).records.map(({ id }) => id);
}

/** How many orders a view has counted, in all windows. */
async function ordersIn(view: string): Promise<number> {
  const { json } = await dev.call(`/v1/views/${view}`);
  return (json as ViewAnswer).rows.reduce((sum, { values }) => sum + (values['orders'] ?? 0), 0);
}

describe('tidemark redrive', () => {
  it('brings back what a policy refused once the policy is another, and every view keeps its state', async () => {
    expect(await groups(dev, 'by_shop', 'orders', [])).toEqual({ north: 5, south: 5 });
    writePipeline(dev.folder, ANY_TIME);
    await dev.prints('stdout', /plan 2 [\s\S]*time\.skew holds from the switch on/);
    expect(dev.stdout).toContain('by_shop keeps its state');
    expect(dev.stdout).toContain('minutes keeps its state');
    expect(await groups(dev, 'by_shop', 'orders', [])).toEqual({ north: 5, south: 5 });
    expect(await ordersIn('minutes')).toBe(10);

    const { code, stdout } = await dev.command('redrive', '--reason', 'too-far-in-the-future');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '2 redriven\n' });
    expect(await groups(dev, 'by_shop', 'orders', [])).toEqual({ north: 6, south: 6 });
    expect(await groups(dev, 'by_shop', 'revenue', [])).toEqual({ north: 9.75, south: 9.75 });
    expect(await ordersIn('minutes')).toBe(12);
    const { json } = await dev.call('/v1/views/by_shop');
    expect(json).toMatchObject({ incomplete: ['no-windows'] });
    expect(json).not.toHaveProperty('wholeSince');
  });

  it('refuses records that are still bad, with the reason, and leaves them where they are', async () => {
    const ids = await quarantinedIds();
    expect(ids).toHaveLength(3);
    const { code, answer } = await redrive(...ids);

    expect(code).toBe(1);
    expect(answer).toMatchObject({ redriven: [], pending: [] });
    expect(answer.refused.map(({ id }) => id).sort()).toEqual(ids);
    expect(answer.refused[0]?.reason).toContain('refused again (wrong-type)');
    expect(await quarantinedIds()).toEqual(ids);
  });

  it('brings them back once the pipeline takes them, each once', async () => {
    const [first = '', ...others] = await quarantinedIds();
    writePipeline(dev.folder, COUNTED);
    await dev.prints('stdout', /plan 3 /);

    // The view goes on with what it has counted.
    expect(await redrive(first)).toEqual({
      code: 0,
      answer: { redriven: [first], refused: [], pending: [] },
    });
    const { code, stdout } = await dev.command('redrive', '--reason', 'wrong-type');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '2 redriven\n' });
    expect(await groups(dev, 'by_shop', 'orders', [])).toEqual({ north: 9, south: 6 });
    expect(await quarantinedIds()).toEqual([]);

    // Asked again they are back already, and count no second time.
    const again = await redrive(first, ...others);
    expect(again.code).toBe(0);
    expect(again.answer.refused).toEqual([]);
    expect([...again.answer.redriven].sort()).toEqual([first, ...others]);
    expect(await groups(dev, 'by_shop', 'orders', [])).toEqual({ north: 9, south: 6 });
    const { json } = await dev.call('/v1/status');
    expect(json).toMatchObject({ records: { folded: 15, quarantined: 0 } });
    expect(dev.stderr).toBe('');
  });

  it('says so when nothing has the reason', async () => {
    const { code, stdout } = await dev.command('redrive', '--reason', 'wrong-type');

    expect(code).toBe(0);
    expect(stdout).toBe('nothing in the quarantine is selected\n');
  });

  it.each([
    ['neither ids nor a reason', []],
    ['both', ['some-id', '--reason', 'late']],
  ])('is wrong usage with %s', async (_, args) => {
    const { code, stderr } = await dev.command('redrive', ...args);

    expect(code).toBe(2);
    expect(stderr).toContain('name ids, or at least one of --reason, --from and --to');
  });

  it('takes bounds of arrival, and purges what is not wanted back', async () => {
    const after = await put(dev, [{ ...order('w', 'north', 0), shop: {} }]);
    await groups(dev, 'by_shop', 'orders', after);
    const [id = ''] = await quarantinedIds();
    const past = await redrive('--to', '2020-01-01T00:00:00Z');
    expect(past).toEqual({ code: 0, answer: { redriven: [], refused: [], pending: [] } });
    const { code, stdout } = await dev.command(
      'quarantine',
      'purge',
      '--from',
      '2020-01-01T00:00:00Z',
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: '1 purged\n' });
    expect(await quarantinedIds()).toEqual([]);
    const gone = await redrive(id);
    expect(gone.answer.refused).toEqual([
      { id, reason: 'it was purged: its bytes are no longer kept' },
    ]);
  });

  it('refuses what is no id', async () => {
    const { code, stderr } = await dev.command('redrive', 'some-id');

    expect(code).toBe(1);
    expect(stderr).toContain('ids[0] is no id of a quarantined record');
  });
});
