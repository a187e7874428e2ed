import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { groups, manyOrders, ORDERS, put, writePipeline } from './orders.ts';
import { cleanUp, Dev, newFolder, tidemark } from './tidemark-process.ts';

const folders: string[] = [];
const devs: Dev[] = [];

function folder(): string {
  const made = newFolder();
  folders.push(made);
  writePipeline(made);
  return made;
}

async function start(where: string): Promise<Dev> {
  const dev = await Dev.start(where, '--pipeline', 'shop.json');
  devs.push(dev);
  return dev;
}

const devCommand = (cwd: string, ...args: string[]) =>
  tidemark(['dev', '--port', '0', '--pipeline', 'shop.json', ...args], { cwd });

describe('an invalid pipeline file', () => {
  afterEach(() => cleanUp(devs, folders));

  it.each(['check', 'dev'])(
    'fails %s with path, what was found and what was expected',
    async (name) => {
      const cwd = folder();
      const views = { by_shop: { groupBy: 'shop', aggregates: { orders: { count: '*' } } } };
      writePipeline(cwd, { ...ORDERS, time: { field: 'at', lateness: '1 minute' }, views });
      const { code, stdout, stderr } = await tidemark([name, '--pipeline', 'shop.json'], { cwd });

      expect(code).toBe(1);
      expect(stdout).toBe('');
      expect(stderr).toContain('shop.json is not a valid pipeline (2 problems)');
      expect(stderr).toMatch(/time\.lateness\n +found +"1 minute".*\n +expected +a duration/);
      expect(stderr).toMatch(/views\.by_shop\.groupBy\n +found +"shop".*\n +expected/);
    },
  );

  it('that is not there is named with the place where it was looked for', async () => {
    const cwd = folder();
    const { code, stderr } = await tidemark(['check', '--pipeline', 'none.json'], { cwd });

    expect(code).toBe(1);
    expect(stderr).toBe(
      `error: there is no pipeline file none.json (looked for ${join(cwd, 'none.json')})\n`,
    );
  });
});

describe('wrong usage', () => {
  const cwd = process.cwd();

  it.each([
    [['deploy'], "unknown command 'deploy'"],
    [['dev', '--shards', '0'], 'expected a whole number from 1 to 256'],
    [['dev', '--port', 'http'], 'expected a whole number from 0 to 65535'],
    [['dev', '--speed', '9'], "unknown option '--speed'"],
    [['put', 'x.ndjson'], "required option '--key <field>' not specified"],
    [
      ['put', 'x.xml', '--key', 'a', '--stream', 's'],
      'x.xml: expected a name that ends in .ndjson, .jsonl',
    ],
    [['query', 'v', '--key', 'shop'], 'expected FIELD=VALUE'],
    [['query', '--query-url', 'here'], 'expected a URL such as http://127.0.0.1:4580'],
  ])('%j ends with 2 and says how', async (args, says) => {
    const { code, stdout, stderr } = await tidemark(args, { cwd });

    expect(stderr).toContain(says);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('a command that finds nobody says where it looked, and ends with 1', async () => {
    const free = await listen();
    const url = `http://127.0.0.1:${(free.address() as AddressInfo).port}`;
    await new Promise((resolve) => free.close(resolve));
    const { code, stderr } = await tidemark(['status', '--query-url', url], { cwd });

    expect(code).toBe(1);
    expect(stderr).toContain(`nothing answers at ${url}: start it with 'npx tidemark dev'`);
  });
});

describe('a wrong query', () => {
  let dev: Dev;

  beforeAll(async () => {
    dev = await start(folder());
  });

  afterAll(() => cleanUp(devs, folders));

  it.each([
    ['/v1/views/nothing', 404, 'view', 'by_shop, minutes', 'nothing'],
    ['/v1/views/by_shop?key.city=x', 400, 'key.city', 'key.shop', 'key.city'],
    [
      '/v1/views/by_shop?color=red',
      400,
      'color',
      expect.stringContaining('key.shop, prefix, start'),
      'color',
    ],
    ['/v1/views/by_shop?limit=0', 400, 'limit', 'a whole number from 1 to 10000', '0'],
    ['/v1/views/by_shop?order=weight', 400, 'order', expect.stringContaining('revenue'), 'weight'],
    ['/v1/views/by_shop?start=2026-03-01', 400, 'start', 'no start', '2026-03-01'],
    ['/v1/views/minutes?start=noon', 400, 'start', expect.stringContaining('ISO 8601'), 'noon'],
    [
      '/v1/views/minutes?end=2026-02-30T00:00:00Z',
      400,
      'end',
      expect.stringContaining('ISO 8601'),
      '2026-02-30T00:00:00Z',
    ],
    ['/v1/views/by_shop?after=7', 400, 'after', expect.stringContaining('shardId'), '7'],
    ['/v1/views/by_shop?next=abc', 400, 'next', expect.stringContaining('next'), 'abc'],
    ['/v1/status?deep=1', 400, 'deep', 'no parameters', 'deep'],
    ['/v1/quarantine?limit=many', 400, 'limit', 'a whole number from 1 to 1000', 'many'],
  ])('%s is %i with path, expected and found', async (path, status, at, expected, found) => {
    const response = await fetch(`${dev.url}${path}`);

    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.status).toBe(status);
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).toMatchObject({ status, path: at, expected, found });
    for (const name of ['type', 'title', 'detail', 'code']) expect(body[name]).toBeTypeOf('string');
  });

  it('ends the command with 1 and says the same', async () => {
    const { code, stdout, stderr } = await dev.command('query', 'minutes', '--start', 'noon');

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      'error: start is no time.\n  at       start\n  expected ISO 8601 such as 2001-06-30, 2001-06-30T12:00 (both in UTC) or 2001-06-30T12:00:00Z\n  found    noon\n',
    );
  });

  it.each([
    ['/v1/nothing', 'GET', 404],
    ['/v1/views', 'DELETE', 405],
  ])('%s by %s is a problem too', async (path, method, status) => {
    const response = await fetch(`${dev.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
    });

    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
  });

  it('of a path that finds nothing is explained by status', async () => {
    await put(dev, [{ order: 'h-1', at: '2026-03-01T10:00:00Z', Shop: 'x', price: 1 }]);
    const { json } = await dev.call('/v1/status');
    const { stdout } = await dev.command('status');

    expect(json).toMatchObject({ hints: [{ path: 'shop', found: 'Shop', records: 1 }] });
    expect(stdout).toContain("warning: field shop, by which view 'by_shop' groups, is not in");
  });

  it('a checkpoint with an unknown member is refused', async () => {
    const { status, json } = await dev.call('/v1/checkpoint', { slice: 'a' });

    expect(status).toBe(400);
    expect(json).toMatchObject({ code: 'unknown-member', expected: '{}', found: '{"slice":"a"}' });
  });
});

describe('tidemark dev that cannot start', () => {
  let used: string;

  beforeAll(async () => {
    used = newFolder();
    writePipeline(used);
    await (await start(used)).end('SIGTERM');
  });

  afterEach(() => cleanUp(devs, folders));

  afterAll(() => cleanUp([], [used]));

  /** One in which dev has run. */
  function usedFolder(): string {
    const made = newFolder();
    folders.push(made);
    cpSync(used, made, { recursive: true });
    return made;
  }

  it('names the port that is in use', async () => {
    const taken = await listen();
    const { port } = taken.address() as AddressInfo;
    const cwd = folder();
    const args = ['dev', '--pipeline', 'shop.json', '--port', String(port)];
    const { code, stderr } = await tidemark(args, { cwd });
    await new Promise((resolve) => taken.close(resolve));

    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^error: .*\\b${port}\\b`));
    expect(stderr).toContain('--port');
    // The folder is free again.
    const dev = await start(cwd);
    expect(await dev.end('SIGTERM')).toBe(0);
  });

  it('refuses the data folder of another pipeline', async () => {
    const cwd = usedFolder();
    writePipeline(cwd, { ...ORDERS, name: 'market' });
    const { code, stderr } = await devCommand(cwd);

    expect(code).toBe(1);
    expect(stderr).toContain('holds the pipeline "shop", not "market"');
    expect(stderr).toContain('use another data folder');
  });

  it('refuses a data folder of a newer format', async () => {
    const cwd = usedFolder();
    const path = join(cwd, '.tidemark/format.json');
    const format = JSON.parse(readFileSync(path, 'utf8')) as { format: number };
    writeFileSync(path, JSON.stringify({ ...format, format: format.format + 1 }));
    const { code, stderr } = await devCommand(cwd);

    expect(code).toBe(1);
    expect(stderr).toMatch(/has format 4; this Tidemark reads format 3 only\n +upgrade tidemark/);
  });

  it('refuses a data folder that another process uses, and names that process', async () => {
    const dev = await start(folder());
    const { code, stderr } = await devCommand(dev.folder);

    expect(code).toBe(1);
    expect(stderr).toMatch(/data folder .*\.tidemark is in use by another process \(pid \d+\)/);
    expect((await dev.call('/healthz')).status).toBe(200);
  });

  it('refuses another number of shards', async () => {
    const cwd = usedFolder();
    const { code, stderr } = await devCommand(cwd, '--shards', '3');

    expect(code).toBe(1);
    expect(stderr).toContain("the stream 'orders' has 1 shards, not 3");
  });

  it('refuses the folder of another stream, and leaves the active plan as it is', async () => {
    const cwd = usedFolder();
    writePipeline(cwd, { ...ORDERS, stream: 'sales' });
    const { code, stderr } = await devCommand(cwd);

    expect(code).toBe(1);
    expect(stderr).toContain("holds the stream 'orders', not 'sales'");
    writePipeline(cwd);
    expect((await start(cwd)).stdout).not.toContain('the pipeline changed');
  });

  it('goes on with a file of the same meaning in other words', async () => {
    const first = await start(folder());
    const after = await put(first, manyOrders('o', 10));
    await groups(first, 'by_shop', 'orders', after);
    await first.end('SIGTERM');
    const { by_shop, minutes } = ORDERS.views;
    // Another order, a default spelled out, another unit.
    writePipeline(first.folder, {
      views: {
        by_shop: { late: 'update', ...by_shop },
        minutes: { ...minutes, window: { tumbling: '60s' } },
      },
      dedupe: { id: 'order', within: '60m' },
      time: { ...ORDERS.time, zone: 'UTC', unit: 'ms' },
      stream: 'orders',
      name: 'shop',
    });
    const second = await start(first.folder);

    expect(second.stdout).not.toContain('the pipeline changed');
    expect(await groups(second, 'by_shop', 'orders', after)).toEqual({ north: 5, south: 5 });
  });
});

async function listen(): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
