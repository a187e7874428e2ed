import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { groups, manyOrders, order, PARQUET, put, writePipeline } from './orders.ts';
import { cleanUp, Dev, newFolder, run, SlowCommand, tidemark } from './tidemark-process.ts';

const EXAMPLE = fileURLToPath(
  new URL('../../examples/flights/tidemark.config.ts', import.meta.url),
);
const CLI = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));
const folders: string[] = [];
const devs: Dev[] = [];
let dev: Dev;

beforeAll(async () => {
  const folder = newFolder();
  folders.push(folder);
  writePipeline(folder);
  dev = await Dev.start(folder, '--pipeline', 'shop.json', '--shards', '2');
  devs.push(dev);
});

afterAll(() => cleanUp(devs, folders));

/** Puts a file by the command; the positions that it printed. */
async function putFile(path: string): Promise<string[]> {
  const { code, stdout, stderr } = await dev.command(
    'put',
    path,
    '--key',
    'order',
    '--pipeline',
    'shop.json',
    '--json',
  );
  const remark = /^.*: column price has decimals, .*\n/;
  expect({ code, stderr: stderr.replace(remark, '') }).toEqual({ code: 0, stderr: '' });
  return (JSON.parse(stdout) as { after: string[] }).after;
}

function file(name: string, text: string): string {
  writeFileSync(join(dev.folder, name), text);
  return name;
}

describe('tidemark put', () => {
  it('puts NDJSON, and a query that waits for it has it', async () => {
    const lines = ['a', 'b', 'c'].map((id) => JSON.stringify(order(`nd-${id}`, 'ndjson', 2)));
    const after = await putFile(file('orders.ndjson', `${lines.join('\n')}\n\n`));

    const { code, stdout } = await dev.command(
      'query',
      'by_shop',
      '--key',
      'shop=ndjson',
      ...after.flatMap((position) => ['--after', position]),
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(/by_shop: as of watermark 2026-03-01T09:59:00Z/);
    expect(stdout).toMatch(/^ndjson +3 +6$/m);
  });

  it('puts CSV with quotes, commas and line breaks in fields', async () => {
    const text = 'order,at,shop,price\r\n"csv-1",2026-03-01T10:00:00Z,"a, ""b""\nc",1.25\r\n';
    const after = await putFile(file('orders.csv', text));

    expect(await groups(dev, 'by_shop', 'revenue', after)).toMatchObject({ 'a, "b"\nc': 1.25 });
  });

  it('puts Parquet with its times and wide integers', async () => {
    const after = await putFile(PARQUET);

    expect(await groups(dev, 'by_shop', 'revenue', after)).toMatchObject({ north: 3.75, south: 4 });
    const minutes = await dev.call('/v1/views/minutes?key.shop=north&end=2026-03-01T10:01:00Z');
    expect(minutes.json).toMatchObject({ rows: [{ values: { orders: 2 } }] });
  });

  it('refuses a key that the records do not have, before it sends any', async () => {
    const options = { cwd: dev.folder, input: JSON.stringify(order('in-2', 'stdin', 7)) };
    const args = ['put', '-', '--key', 'ordr', '--stream', 'orders', '--kinesis-endpoint'];
    const { code, stderr } = await tidemark([...args, dev.url], options);

    expect(code).toBe(2);
    expect(stderr).toContain('--key ordr: the first record has no such field; it has ');
  });

  it('puts NDJSON from stdin', async () => {
    const options = { cwd: dev.folder, input: JSON.stringify(order('in-1', 'stdin', 7)) };
    const args = ['put', '-', '--key', 'order', '--stream', 'orders', '--kinesis-endpoint'];
    const { code, stdout } = await tidemark([...args, dev.url], options);

    expect(code).toBe(0);
    expect(stdout).toContain('put 1 record into orders');
    const after = /--after (\S+)/.exec(stdout)?.[1] ?? '';
    expect(await groups(dev, 'by_shop', 'orders', [after])).toMatchObject({ stdin: 1 });
  });

  it.runIf(existsSync('/dev/full'))(
    'says that the records are in where its output has no room, as a query says so',
    async () => {
      const orders = file('full.ndjson', JSON.stringify(order('full-a', 'full', 1)));
      const cli = [process.execPath, CLI].map((path) => `"${path}"`).join(' ');
      const lost = (command: string) =>
        run('sh', ['-c', `${cli} ${command} > /dev/full`], { cwd: dev.folder });
      const put = await lost(`put ${orders} --key order --json --kinesis-endpoint ${dev.url}`);
      expect(put).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^error: standard output cannot be written \(ENOSPC: .*\): 1 record was put into orders and acknowledged all the same; do not put them again\n$/,
        ),
      });
      await expect
        .poll(() => groups(dev, 'by_shop', 'orders', []), { timeout: 20_000 })
        .toMatchObject({ full: 1 });
      const query = await lost(`query by_shop --query-url ${dev.url}`);
      expect(query).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^error: standard output cannot be written \(ENOSPC: .*\n$/),
      });
    },
  );

  const putStdin = () => ['put', '-', '--key', 'order', '--pipeline', 'shop.json', '--json'];

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'sends what comes slowly, and at %s all that was read, and says how far it came',
    async (signal, code) => {
      const shop = `slow-${signal}`;
      const slow = new SlowCommand([...putStdin(), '--kinesis-endpoint', dev.url], {
        cwd: dev.folder,
      });
      const line = (id: string) => `${JSON.stringify(order(`${shop}-${id}`, shop, 1))}\n`;
      slow.write(line('a'));
      // The input is open still, and no second record comes.
      await expect
        .poll(() => groups(dev, 'by_shop', 'orders', []), { timeout: 20_000 })
        .toMatchObject({ [shop]: 1 });
      // The last line is not whole: it is not sent.
      slow.write(`${line('b')}${line('c')}${line('d').slice(0, 20)}`);
      await expect
        .poll(() => groups(dev, 'by_shop', 'orders', []), { timeout: 20_000 })
        .toMatchObject({ [shop]: 3 });
      const ended = await slow.end(signal);

      expect(ended.code).toBe(code);
      expect(JSON.parse(ended.stdout)).toMatchObject({ put: 3, stoppedBy: signal, fromLine: 4 });
      expect(ended.stderr).toContain(
        `stopped by ${signal} after 3 records; to go on, add --from-line 4`,
      );
    },
  );

  it('puts what comes before a record that is too large, names it, and goes on after it', async () => {
    const [first, last] = ['a', 'c'].map((id) => JSON.stringify(order(`big-${id}`, 'big', 1)));
    const big = JSON.stringify({ ...order('big-b', 'big', 1), note: 'x'.repeat(1_048_576 - 80) });
    const path = file('big.ndjson', `${first}\n${big}\n${last}\n`);
    const options = ['--key', 'order', '--pipeline', 'shop.json'];
    const refused = await dev.command('put', path, ...options);

    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^error: big\.ndjson, line 2 has 1,048,\d+ bytes, and Kinesis takes records of 1,048,576 bytes at most, .*\n {2}1 record before it was put, and nothing after it: fix it and add --from-line 2, or skip it with --from-line 3\n$/,
    );
    const rest = await dev.command('put', path, ...options, '--from-line', '3');
    expect(rest.code).toBe(0);
    const after = /--after (\S+)/.exec(rest.stdout)?.[1] ?? '';
    expect(await groups(dev, 'by_shop', 'orders', [after])).toMatchObject({ big: 2 });
  });

  it('sends nothing of a CSV file with a wrong row, and warns of a path that finds nothing', async () => {
    const text = 'order,at,Shop,price\ncsv-9,2026-03-01T10:00:00Z,nine,110\n';
    const options = ['--key', 'order', '--pipeline', 'shop.json'];
    const refused = await dev.command('put', file('bad.csv', `${text}x,y\n`), ...options);
    const put = await dev.command('put', file('case.csv', text), ...options);

    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toBe(
      'error: bad.csv, line 3: the row has 2 fields, and the header names 4: fields are missing at its end\n  nothing was put\n',
    );
    expect(put.code).toBe(0);
    expect(put.stderr).toContain(
      "warning: field shop, by which view 'by_shop' groups, is not in the first record; they have Shop: names are told apart by case",
    );
  });
});

describe('the other commands', () => {
  it('tells by its exit code that a record is not in the answer, and refuses a shard that there is not', async () => {
    const whole = await dev.command('query', 'by_shop', '--limit', '1', '--json');
    const { next, reached } = JSON.parse(whole.stdout);
    expect({ code: whole.code, reached }).toEqual({ code: 0, reached: undefined });
    // A pinned page waits for nothing.
    const never = `shardId-000000000000:${'9'.repeat(56)}`;
    const page = ['query', 'by_shop', '--next', next, '--after', never] as const;
    for (const options of [[], ['--json']]) {
      const { code, stdout, stderr } = await dev.command(...page, ...options);
      expect({ code, stderr }).toEqual({
        code: 3,
        stderr: 'warning: the records of --after were not in yet when the answer was due\n',
      });
      if (options.length > 0) expect(JSON.parse(stdout).reached).toBe(false);
    }
    const { code, stderr } = await dev.command('query', 'by_shop', '--after', 'shardId-7:1');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /The stream has no shard 'shardId-7'[\s\S]*expected shardId-000000000000/,
    );
  });

  it('query without a view lists the views', async () => {
    const { code, stdout } = await dev.command('query');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^by_shop +shop +orders, revenue$/m);
    expect(stdout).toMatch(/^minutes +shop +orders$/m);
  });

  it('status says where the records went', async () => {
    const after = await put(dev, [...manyOrders('st', 20), order('st-1', 'status', 1)]);
    await groups(dev, 'by_shop', 'orders', after);
    const { code, stdout } = await dev.command('status');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^pipeline shop, plan 1 \([0-9a-f]{8}\), watermark 2026-03-01T/m);
    expect(stdout).toMatch(
      /^records: folded \d+, duplicates 1, late 0, quarantined 0, unmatched 0/m,
    );
    expect(stdout).toMatch(/^slice +state +timeline +epoch/m);
    expect(stdout).toMatch(/^slice-000000000001 +OPEN +0 +\d+ /m);
  });

  it('checkpoint completes an epoch of every slice', async () => {
    const epochs = async () => {
      const { json } = await dev.call('/v1/status');
      return (json as { slices: { id: string; epoch: number }[] }).slices;
    };
    const before = await epochs();
    const { code, stdout } = await dev.command('checkpoint', '--json');

    expect(code).toBe(0);
    const { slices } = JSON.parse(stdout) as { slices: { id: string; epoch: number }[] };
    expect(slices.map(({ id, epoch }) => ({ id, epoch }))).toEqual(
      (await epochs()).map(({ id, epoch }) => ({ id, epoch })),
    );
    for (const { id, epoch } of before) {
      expect(slices.find((slice) => slice.id === id)?.epoch).toBeGreaterThan(epoch);
    }
  });

  it('check says what a pipeline file means, as text and as JSON', async () => {
    const text = await tidemark(['check', '--pipeline', EXAMPLE], { cwd: dev.folder });
    const json = await tidemark(['check', '--pipeline', 'shop.json', '--json'], {
      cwd: dev.folder,
    });

    expect(text).toMatchObject({ code: 0, stderr: '' });
    expect(text.stdout).toContain("is sound: pipeline 'flights' over stream 'flights'");
    expect(json.code).toBe(0);
    expect(JSON.parse(json.stdout)).toMatchObject({ name: 'shop', views: { minutes: {} } });
  });

  it('check tries a pipeline on records', async () => {
    const lines = [order('c-1', 'check', 1), { ...order('c-2', 'check', 1), price: '1' }];
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const args = ['check', '--pipeline', 'shop.json', '--records', '-'];
    const { code, stdout } = await tidemark(args, { cwd: dev.folder, input: text });
    const json = await tidemark([...args, '--json'], {
      cwd: dev.folder,
      input: lines[0] === undefined ? '' : JSON.stringify(lines[0]),
    });

    expect(code).toBe(1);
    expect(stdout).toContain(
      'stdin: 1 of the first 2 records can be counted\n  wrong-type: 1, the first on line 2: field "price": found "1", expected a number or null',
    );
    expect(json.code).toBe(0);
    expect(JSON.parse(json.stdout)).toMatchObject({
      records: { records: 1, isSound: true, refused: [], hints: [] },
    });
  });

  it('--version prints the version of package.json', async () => {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { code, stdout } = await tidemark(['--version'], { cwd: dev.folder });

    expect({ code, stdout }).toEqual({ code: 0, stdout: `${JSON.parse(manifest).version}\n` });
  });
});
