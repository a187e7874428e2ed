import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { shellLines } from '../../cli/port-environment.ts';
import { groups, manyOrders, put, writePipeline } from './orders.ts';
import { cleanUp, Dev, newFolder, run } from './tidemark-process.ts';

const devs: Dev[] = [];
const folders: string[] = [];

function folder(): string {
  const made = newFolder();
  folders.push(made);
  writePipeline(made);
  return made;
}

async function start(where: string, ...args: string[]): Promise<Dev> {
  const dev = await Dev.start(where, '--pipeline', 'shop.json', ...args);
  devs.push(dev);
  return dev;
}

describe('tidemark dev', () => {
  afterEach(() => cleanUp(devs, folders));

  it('says in one line that it is ready, then how producers find it, and ends with 0 at SIGTERM', async () => {
    const dev = await start(folder(), '--shards', '2', '--region', 'eu-west-1');

    expect(dev.stdout.split('\n')).toEqual([
      `tidemark dev: pipeline shop is ready at ${dev.url} (2 shards, 1 environment)`,
      'Producers find it with any AWS SDK or the AWS CLI after:',
      ...shellLines(dev.url, 'eu-west-1', process.env['SHELL'] ?? 'sh').map((line) => `  ${line}`),
      '',
    ]);
    expect(await dev.end('SIGTERM')).toBe(0);
    expect(dev.stderr).toBe('');
  });

  it('answers right after SIGKILL, and counts a resent record once', async () => {
    const first = await start(folder(), '--shards', '2');
    const orders = manyOrders('o', 2_000);
    await put(first, orders);
    await first.end('SIGKILL');

    const second = await start(first.folder);
    const after = await put(second, orders.slice(1_000));
    const answer = await groups(second, 'by_shop', 'orders', after);

    expect(answer).toEqual({ north: 1_000, south: 1_000 });
    const { json } = await second.call('/v1/status');
    expect(json).toMatchObject({ records: { folded: 2_000, duplicates: 1_000, late: 0 } });
  });

  it('keeps what was acknowledged before SIGTERM, and says nothing of a replay then', async () => {
    const first = await start(folder());
    const after = await put(first, manyOrders('o', 300));
    await groups(first, 'by_shop', 'orders', after);
    expect(await first.end('SIGTERM')).toBe(0);

    const second = await start(first.folder);

    expect(await groups(second, 'by_shop', 'orders', after)).toEqual({ north: 150, south: 150 });
    expect(second.stdout).not.toContain('replay');
  });

  it('gives the same answers when two environments share four slices', async () => {
    const dev = await start(
      folder(),
      '--shards',
      '4',
      '--environments',
      '2',
      '--batch-window',
      '0',
    );
    let after: string[] = [];
    for (let round = 0; round < 20; round++) after = await put(dev, manyOrders(`r${round}`, 100));

    expect(await groups(dev, 'by_shop', 'revenue', after)).toEqual({ north: 1_500, south: 1_500 });
    const { json } = await dev.call('/v1/status');
    expect(json).toMatchObject({ records: { folded: 2_000, duplicates: 0 } });
    expect(dev.stderr).toBe('');
  });
});

describe('the export lines', () => {
  let dev: Dev;

  beforeAll(async () => {
    dev = await start(folder(), '--shards', '2');
  });

  afterAll(() => cleanUp(devs, folders));

  it('are all that boto3 needs', async (context) => {
    const probe = await run('python3', ['-c', 'import boto3'], { cwd: dev.folder }).catch(
      () => null,
    );
    context.skip(probe?.code !== 0, 'boto3 is not installed');
    const script = [
      'import boto3, json',
      'kinesis = boto3.client("kinesis")',
      'def record(i):',
      '    data = {"order": f"py-{i}", "at": "2026-03-01T10:00:00Z", "shop": "python", "price": 2}',
      '    return {"PartitionKey": str(i), "Data": json.dumps(data).encode()}',
      'many = kinesis.put_records(StreamName="orders", Records=[record(i) for i in range(99)])',
      'one = kinesis.put_record(StreamName="orders", **record(99))',
      'assert many["FailedRecordCount"] == 0',
      'shards = {r["ShardId"]: r["SequenceNumber"] for r in [*many["Records"], one]}',
      'print(json.dumps([f"{shard}:{number}" for shard, number in shards.items()]))',
    ].join('\n');
    const { code, stdout, stderr } = await run('sh', ['-c', `${exports(dev)}\npython3 - `], {
      cwd: dev.folder,
      env: withoutAws(),
      input: script,
    });

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const answer = await groups(dev, 'by_shop', 'orders', JSON.parse(stdout) as string[]);
    expect(answer).toMatchObject({ python: 100 });
  });

  it('are all that the SDK for JavaScript needs', async () => {
    const sdk = import.meta.resolve('@aws-sdk/client-kinesis');
    const script = `
      import { KinesisClient, PutRecordCommand } from ${JSON.stringify(sdk)};
      const order = { order: 'js-1', at: '2026-03-01T10:00:00Z', shop: 'javascript', price: 2 };
      const answer = await new KinesisClient().send(new PutRecordCommand({
        StreamName: 'orders', PartitionKey: 'a', Data: Buffer.from(JSON.stringify(order)),
      }));
      console.log(answer.ShardId + ':' + answer.SequenceNumber);
      process.exit();`;
    const { code, stdout, stderr } = await run(
      'sh',
      ['-c', `${exports(dev)}\n"${process.execPath}" --input-type=module -`],
      { cwd: dev.folder, env: withoutAws(), input: script },
    );

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await groups(dev, 'by_shop', 'orders', [stdout.trim()])).toMatchObject({
      javascript: 1,
    });
  });
});

function exports(dev: Dev): string {
  return dev.stdout
    .split('\n')
    .filter((line) => line.startsWith('  export '))
    .join('\n');
}

/** The lines must do without what this shell has of AWS. */
function withoutAws(): Record<string, string> {
  const own = Object.keys(process.env).filter((name) => name.startsWith('AWS_'));
  return Object.fromEntries(own.map((name) => [name, '']));
}
