import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { groups, manyOrders, order, put, writePipeline } from './orders.ts';
import { cleanUp, Dev, newFolder } from './tidemark-process.ts';

const MINUTE_MS = 60_000;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const at = '2026-03-01T10:00:00Z';

/** Each is refused for its reason, and comes back as it was put. */
const BAD: readonly { readonly reason: string; readonly data: Uint8Array }[] = [
  { reason: 'not-json', data: bytes('{"order":"x",') },
  { reason: 'not-json', data: Uint8Array.from([0x7b, 0xff, 0xfe, 0x00, 0x7d]) },
  { reason: 'not-an-object', data: bytes('[1,2,3]') },
  { reason: 'not-an-object', data: bytes('"text"') },
  { reason: 'no-time', data: bytes('{"order":"no-time","shop":"north","price":1}') },
  { reason: 'no-time', data: bytes('{"order":"when","at":"yesterday","shop":"north"}') },
  { reason: 'no-dedupe-id', data: bytes(`{"at":"${at}","shop":"north","price":1}`) },
  { reason: 'wrong-type', data: bytes(`{"order":"w1","at":"${at}","shop":"north","price":"1"}`) },
  { reason: 'wrong-type', data: bytes(`{"order":"w2","at":"${at}","shop":["north"]}`) },
  { reason: 'not-finite', data: bytes(`{"order":"inf","at":"${at}","price":1e999}`) },
  { reason: 'integer-too-large', data: bytes(`{"order":9007199254740993,"at":"${at}"}`) },
  {
    reason: 'integer-too-large',
    data: bytes(`{"order":"i","at":"${at}","shop":9007199254740993}`),
  },
  {
    reason: 'group-key-too-large',
    data: bytes(JSON.stringify({ order: 'long', at, shop: 'x'.repeat(5_000) })),
  },
  {
    reason: 'too-far-in-the-future',
    data: bytes(
      JSON.stringify({ order: 'ahead', at: new Date(Date.now() + 30 * MINUTE_MS), shop: 'north' }),
    ),
  },
];
const LATE = order('late', 'north', 1, '2026-03-01T09:00:00Z');

interface Page {
  readonly records: readonly {
    readonly id: string;
    readonly reason: string;
    readonly detail: string;
    readonly arrival: string;
    readonly data: string;
  }[];
  readonly next: string | null;
}

const folders: string[] = [];
const devs: Dev[] = [];
let dev: Dev;
let after: string[];

beforeAll(async () => {
  const folder = newFolder();
  folders.push(folder);
  writePipeline(folder);
  dev = await Dev.start(folder, '--pipeline', 'shop.json');
  devs.push(dev);
  const neighbours = manyOrders('n', BAD.length);
  const records = BAD.flatMap(({ data }, index) => [neighbours[index] as object, data]);
  after = await put(dev, [...records, LATE]);
});

afterAll(() => cleanUp(devs, folders));

async function quarantine(): Promise<Page['records']> {
  const { stdout } = await dev.command('quarantine', '--json', '--limit', '1000');
  const page = JSON.parse(stdout) as Page;
  expect(page.next).toBeNull();
  return page.records;
}

describe('bad records', () => {
  it('do not touch their neighbours, which count once', async () => {
    const half = BAD.length / 2;

    // The late one still counts where there is no window.
    expect(await groups(dev, 'by_shop', 'orders', after)).toEqual({ north: half + 1, south: half });
    expect(await groups(dev, 'minutes', 'orders', after)).toEqual({ north: half, south: half });
    const { json } = await dev.call('/v1/status');
    expect(json).toMatchObject({
      records: { folded: 2 * half + 1, duplicates: 0, late: 0, quarantined: BAD.length },
      partlyQuarantined: 1,
    });
  });

  it('are in the quarantine once each, whole and with the reason', async () => {
    const found = (await quarantine()).map(({ reason, data }) => ({ reason, data }));

    const late = { reason: 'late', data: bytes(JSON.stringify(LATE)) };
    expect(found).toEqual(
      [...BAD, late].map(({ reason, data }) => ({
        reason,
        data: Buffer.from(data).toString('base64'),
      })),
    );
  });

  it('say what was found and what was expected', async () => {
    const details = (await quarantine()).map(({ detail }) => detail);

    expect(details).toContain('field "price": found "1", expected a number or null');
    expect(details[4]).toMatch(
      /^field "at": found nothing.*, expected ISO 8601 text such as .* or a number/,
    );
    expect(details.at(-1)).toBe("its window had closed in 'minutes'");
  });

  it('are listed page by page', async () => {
    const ids: string[] = [];
    let next: string | null = null;
    do {
      const options: string[] = next === null ? [] : ['--next', next];
      const { stdout } = await dev.command('quarantine', '--json', '--limit', '4', ...options);
      const page = JSON.parse(stdout) as Page;
      expect(page.records.length).toBeLessThanOrEqual(4);
      ids.push(...page.records.map(({ id }) => id));
      next = page.next;
    } while (next !== null);

    expect(ids).toEqual((await quarantine()).map(({ id }) => id));
  });

  it('are a few lines each for a person, without control characters, and counts by reason', async () => {
    const { code, stdout } = await dev.command('quarantine');

    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^too-far-in-the-future {2}20\d\d-\S+ {2}shardId-\d+\n {2}why {3}.+\n {2}data {2}.+\n {2}id {4}slice-/m,
    );
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);

    const some = await dev.command('quarantine', '--reason', 'too-far-in-the-future');
    expect(some.stdout.match(/^ {2}id /gm)).toHaveLength(1);
    const { stdout: summary } = await dev.command('quarantine', '--summary');
    expect(summary).toMatch(/^reason +records +first arrival +last arrival$/m);
    expect(summary).toMatch(/^too-far-in-the-future +1 +20\d\d-/m);
  });

  it('are not made of a CSV file that is put without a pipeline file: dev is asked for its own', async () => {
    writeFileSync(join(dev.folder, 'more.csv'), `order,at,shop,price\ncsv-1,${at},east,2.50\n`);
    const put = await dev.command('put', 'more.csv', '--key', 'shop');

    const stderr = expect.stringMatching(/^more\.csv: column price has decimals, .*\n$/);
    expect(put).toMatchObject({ code: 0, stderr });
    const [, after] = /--after (\S+)/.exec(put.stdout) as unknown as [string, string];
    expect(await groups(dev, 'by_shop', 'revenue', [after])).toMatchObject({ east: 2.5 });
  });

  it('are still there, once, after SIGKILL', async () => {
    const before = await quarantine();
    await dev.end('SIGKILL');
    dev = await Dev.start(dev.folder, '--pipeline', 'shop.json');
    devs.push(dev);

    expect(await quarantine()).toEqual(before);
  });
});
