import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { groups, manyOrders, ORDERS, put, writePipeline } from './orders.ts';
import { cleanUp, Dev, newFolder, pause } from './tidemark-process.ts';

const devs: Dev[] = [];
const folders: string[] = [];

function folder(): string {
  const made = newFolder();
  folders.push(made);
  writePipeline(made);
  return made;
}

async function start(where: string, ...args: string[]): Promise<Dev> {
  const dev = await Dev.start(where, ...args);
  devs.push(dev);
  return dev;
}

interface Status {
  readonly plan: { readonly ordinal: number };
  readonly records: { readonly folded: number };
  readonly slices: readonly { readonly state: string; readonly timeline: number }[];
}

async function statusOf(dev: Dev): Promise<Status> {
  return (await dev.call('/v1/status')).json as Status;
}

const { by_shop, minutes } = ORDERS.views;
const WIDER = {
  ...ORDERS,
  views: { by_shop, minutes: { ...minutes, window: { tumbling: '5m' } } },
};

afterEach(() => cleanUp(devs, folders));

describe('tidemark dev with a changed pipeline file', () => {
  it('goes over at its next start, says what changed, and keeps what did not', async () => {
    const first = await start(folder(), '--pipeline', 'shop.json', '--shards', '2');
    const after = await put(first, manyOrders('o', 100));
    await groups(first, 'by_shop', 'orders', after);
    await first.end('SIGTERM');
    writePipeline(first.folder, WIDER);

    const second = await start(first.folder, '--pipeline', 'shop.json');
    expect(second.stdout).toMatch(
      /^the pipeline changed: plan 2 \([0-9a-f]{8}\) takes the place of/,
    );
    expect(second.stdout).toContain('  view minutes: window 1m → 5m\n');
    expect(second.stdout).toContain('  by_shop keeps its state\n');
    expect(second.stdout).toContain('  minutes begins where each slice is now');
    const more = await put(second, manyOrders('p', 10));

    expect(await groups(second, 'by_shop', 'orders', more)).toEqual({ north: 55, south: 55 });
    expect(await groups(second, 'minutes', 'orders', more)).toEqual({ north: 5, south: 5 });
    expect(second.stderr).toBe('');
  });

  it('reloads while records flow; a rollback loses nothing, and says that it went back', async () => {
    const dev = await start(folder(), '--pipeline', 'shop.json', '--shards', '2');
    const earlier = await put(dev, manyOrders('a', 200));
    await groups(dev, 'minutes', 'orders', earlier);
    writePipeline(dev.folder, WIDER);
    let after: string[] = [];
    let sent = 200;
    for (let round = 0; !/plan 2 /.test(dev.stdout); round++) {
      after = await put(dev, manyOrders(`b${round}`, 20));
      sent += 20;
      await pause(50);
    }
    after = await put(dev, manyOrders('c', 200));
    sent += 200;

    const byShop = { north: sent / 2, south: sent / 2 };
    expect(await groups(dev, 'by_shop', 'orders', after)).toEqual(byShop);
    writePipeline(dev.folder);
    await dev.prints('stdout', /plan 3 /);
    expect(dev.stdout).toContain('  minutes goes on from where it was left');
    await dev.prints('stdout', /slice-000000000000 went back to epoch \d+, and is on timeline 1/);
    await dev.prints('stdout', /slice-000000000001 went back to epoch/);
    after = await put(dev, manyOrders('d', 20));
    const all = { north: sent / 2 + 10, south: sent / 2 + 10 };

    expect(await groups(dev, 'by_shop', 'orders', after)).toEqual(all);
    expect(await groups(dev, 'minutes', 'orders', after)).toEqual(all);
    const status = await statusOf(dev);
    expect(status).toMatchObject({ plan: { ordinal: 3 }, records: { folded: sent + 20 } });
    expect(status.slices.map(({ state, timeline }) => ({ state, timeline }))).toEqual([
      { state: 'OPEN', timeline: 1 },
      { state: 'OPEN', timeline: 1 },
    ]);
    expect(dev.stderr).toBe('');
  });

  it('has idle slices go over too', async () => {
    const dev = await start(folder(), '--pipeline', 'shop.json', '--shards', '2');
    await groups(dev, 'by_shop', 'orders', await put(dev, manyOrders('a', 20)));
    const before = (await dev.call('/v1/status')).json as { plan: { hash: string } };
    writePipeline(dev.folder, WIDER);
    await dev.prints('stdout', /plan 2 /);
    let status = await statusOf(dev);
    for (let look = 0; look < 100 && status.plan.ordinal < 2; look++) {
      await pause(50);
      status = await statusOf(dev);
    }

    expect(status.plan).toMatchObject({ ordinal: 2 });
    expect(status.plan).not.toMatchObject({ hash: before.plan.hash });
    expect(dev.stderr).toBe('');
  });

  it('goes on as before with a file that cannot be used, says why, and takes the next one', async () => {
    const dev = await start(folder(), '--pipeline', 'shop.json');
    writePipeline(dev.folder, { ...ORDERS, views: { by_shop: { groupBy: 'shop' } } });
    await dev.prints('stderr', /the pipeline that ran before goes on running/);
    expect(dev.stderr).toContain('shop.json');
    expect(dev.stderr).toContain('views.by_shop.groupBy');
    writePipeline(dev.folder, { ...ORDERS, stream: 'sales' });
    await dev.prints('stderr', /the stream is 'sales' now, this process runs 'orders'/);
    writePipeline(dev.folder, { ...ORDERS, time: { ...ORDERS.time, zone: 'UTC' } });
    await dev.prints('stdout', /shop\.json changed, but not in what it means/);

    const after = await put(dev, manyOrders('o', 10));
    expect(await groups(dev, 'minutes', 'orders', after)).toEqual({ north: 5, south: 5 });
    expect(dev.stdout).not.toContain('the pipeline changed');
    writePipeline(dev.folder, WIDER);
    await dev.prints('stdout', /plan 2 /);
  });

  it('goes on beside a file that never comes to an end, takes the next one, and ends in order', async () => {
    const where = folder();
    const file = join(where, 'shop.ts');
    const sound = `export default ${JSON.stringify(ORDERS)};\n`;
    writeFileSync(file, sound);
    const dev = await start(where, '--pipeline', 'shop.ts');
    writeFileSync(file, `console.log('looping');\nfor (;;);\n`);
    await dev.prints('stdout', /looping/);
    const after = await put(dev, manyOrders('o', 10));
    expect(await groups(dev, 'minutes', 'orders', after)).toEqual({ north: 5, south: 5 });
    writeFileSync(file, `process.exit(0);\n${sound}`);
    await dev.prints('stderr', /shop\.ts ended the process, .*\n.*the pipeline that ran before/);
    writeFileSync(file, `export default ${JSON.stringify(WIDER)};\n`);
    await dev.prints('stdout', /plan 2 /);
    writeFileSync(
      file,
      `console.log('waiting');\nawait new Promise((r) => setTimeout(r, 60_000));\n`,
    );
    await dev.prints('stdout', /waiting/);
    // The command itself says that the call blocks: after a line before the call the thread could still be ended in order.
    writeFileSync(
      file,
      `import { execSync } from 'node:child_process';\nexecSync('echo blocked; exec sleep 20 >&2', { stdio: ['ignore', 'inherit', 'ignore'] });\n`,
    );
    await dev.prints('stdout', /blocked/);

    expect(await dev.end('SIGINT')).toBe(0);
    expect(dev.stderr).not.toContain('waiting');
    expect(dev.stderr).toContain('this process ends without it');
  });

  it('notices a change of a module that the file imports', async () => {
    const where = folder();
    mkdirSync(join(where, 'parts'));
    const views = (window: string) =>
      `export const views = { minutes: { window: { tumbling: '${window}' }, aggregates: { orders: { count: '*' } } } };\n`;
    writeFileSync(join(where, 'parts/views.ts'), views('1m'));
    const config = [
      `import { pipeline } from 'tidemark';`,
      `import { views } from './parts/views.ts';`,
      `export default pipeline({ name: 'shop', stream: 'orders', views } as never);`,
    ].join('\n');
    writeFileSync(join(where, 'shop.config.ts'), config);
    const dev = await start(where, '--pipeline', 'shop.config.ts');
    writeFileSync(join(where, 'parts/views.ts'), views('2m'));

    await dev.prints('stdout', /view minutes: window 1m → 2m/);

    // As a switch of branches does it.
    rmSync(join(where, 'parts'), { recursive: true });
    await dev.prints('stderr', /Cannot find module .*\n(.*\n)*.*the pipeline that ran before/);
    mkdirSync(join(where, 'parts'));
    writeFileSync(join(where, 'parts/views.ts'), views('3m'));
    await dev.prints('stdout', /view minutes: window 2m → 3m/);
  });
});

describe('a pipeline with an idle time', () => {
  it('closes windows of shards that no record comes to', async () => {
    const where = folder();
    writePipeline(where, { ...ORDERS, time: { ...ORDERS.time, lateness: '1s', idle: '1s' } });
    const dev = await start(where, '--pipeline', 'shop.json', '--shards', '2');
    const after = await put(dev, [{ order: 'one', at: new Date().toISOString(), shop: 'north' }]);
    await groups(dev, 'minutes', 'orders', after);
    const startMs = Date.now();
    let watermark = 0;
    while (watermark < startMs && Date.now() < startMs + 30_000) {
      await pause(100);
      const { json } = await dev.call('/v1/status');
      // None, as long as a shard has a record that is not folded.
      watermark = Date.parse((json as { watermark: string | null }).watermark ?? '1970-01-01');
    }

    expect(watermark).toBeGreaterThanOrEqual(startMs);
    expect(dev.stderr).toBe('');
  });
});
