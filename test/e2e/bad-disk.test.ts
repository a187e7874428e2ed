import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { groups, manyOrders, order, put, writePipeline } from './orders.ts';
import { cleanUp, Dev, newFolder, pause, tidemark } from './tidemark-process.ts';

const folders: string[] = [];
const devs: Dev[] = [];
const mounts: string[] = [];

async function start(folder: string): Promise<Dev> {
  const dev = await Dev.start(folder, '--pipeline', 'shop.json');
  devs.push(dev);
  return dev;
}

afterEach(async () => {
  for (const dev of devs) await dev.end('SIGKILL');
  for (const mount of mounts.splice(0)) system('umount', mount);
  await cleanUp(devs, folders);
});

let filled: string;

/** A folder with 400 orders in a base and 20 more in a delta. */
beforeAll(async () => {
  filled = newFolder();
  writePipeline(filled);
  const dev = await start(filled);
  await put(dev, manyOrders('base', 400));
  expect((await dev.call('/v1/checkpoint', {})).status).toBe(200);
  const after = await put(dev, manyOrders('delta', 20));
  await groups(dev, 'by_shop', 'orders', after);
  expect(await dev.end('SIGTERM')).toBe(0);
});

afterAll(() => cleanUp([], [filled]));

function filledFolder(): string {
  const folder = newFolder();
  folders.push(folder);
  cpSync(filled, folder, { recursive: true });
  return folder;
}

function baseFile(folder: string): string {
  const objects = join(folder, '.tidemark/objects');
  const names = readdirSync(objects, { recursive: true, encoding: 'utf8' });
  const base = names
    .filter((name) => /base\/\d+/.test(name))
    .sort()
    .at(-1);
  if (base === undefined) throw new Error(`no base among ${names}`);
  return join(objects, base);
}

function flipMiddle(bytes: Uint8Array): Uint8Array {
  const flipped = Uint8Array.from(bytes);
  const middle = Math.floor(bytes.length / 2);
  flipped[middle] = (flipped[middle] as number) ^ 1;
  return flipped;
}

/** The slice goes back to an epoch that can be read, says so, and counts every record once. */
async function expectFallback(folder: string): Promise<void> {
  const dev = await start(folder);
  // Found by whoever restores the slice: the owner of the next batch.
  const after = await put(dev, manyOrders('more', 10));
  await dev.prints('stdout', /slice-000000000000 went back to epoch \d+, and is on timeline 1 now/);

  expect(await groups(dev, 'by_shop', 'orders', after)).toEqual({ north: 215, south: 215 });
  const { json } = await dev.call('/v1/status');
  expect(json).toMatchObject({
    records: { folded: 430, duplicates: 0 },
    slices: [{ state: 'OPEN', timeline: 1 }],
  });
  expect(dev.stderr).toBe('');
  expect(await dev.end('SIGTERM')).toBe(0);
}

/** Trims all but the last ten records, as time would. */
function trimStream(folder: string): void {
  const database = new DatabaseSync(join(folder, '.tidemark/stream.db'));
  database.exec('UPDATE shards SET first_ordinal = 411; DELETE FROM records_0 WHERE ordinal < 411');
  database.close();
}

/** Nothing is answered from bytes that are not what was written, and nothing that arrives meanwhile is lost. */
async function expectRefusedThenWhole(folder: string, mend: () => void): Promise<void> {
  const broken = await start(folder);
  const after = await put(broken, manyOrders('more', 10));
  await broken.prints(
    'stderr',
    /CorruptStateFault: .*\n(.*\n)*? *nothing is lost; the batch comes/,
  );
  const answer = await broken.call('/v1/views/by_shop');
  const command = await broken.command('query', 'by_shop');

  expect(answer.status).toBe(500);
  expect(answer.json).toMatchObject({ code: 'corrupt-state', title: 'Internal Server Error' });
  expect(command.code).toBe(1);
  expect(command.stdout).toBe('');
  expect(command.stderr).toMatch(/^error: .*slice-000000000000/);
  expect((await broken.call('/healthz')).status).toBe(200);
  expect(await broken.end('SIGTERM')).toBe(0);

  mend();
  const mended = await start(folder);
  expect(await groups(mended, 'by_shop', 'orders', after)).toEqual({ north: 215, south: 215 });
}

describe('damage that an older epoch and the stream make good', () => {
  it('of a base is found by its checksum', async () => {
    const folder = filledFolder();
    const path = baseFile(folder);
    writeFileSync(path, flipMiddle(readFileSync(path)));

    await expectFallback(folder);
  });

  it('of a delta of checkpoint.db is found by its checksum', async () => {
    const folder = filledFolder();
    flipItem(folder, "key LIKE '%/delta/%'");

    await expectFallback(folder);
  });

  it('may be that a base is gone', async () => {
    const folder = filledFolder();
    rmSync(baseFile(folder));

    await expectFallback(folder);
  });
});

describe('a corrupt byte', () => {
  it('in a delta whose records the stream no longer has is never used', async () => {
    const folder = filledFolder();
    trimStream(folder);
    const mend = flipItem(folder, "key LIKE '%/delta/%'");

    await expectRefusedThenWhole(folder, mend);
  });

  it('in a HEAD keeps dev from starting, which says where', async () => {
    const folder = filledFolder();
    const mend = flipHead(folder);
    const { code, stderr } = await tidemark(['dev', '--port', '0', '--pipeline', 'shop.json'], {
      cwd: folder,
    });

    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: the checksum of HEAD of slice-000000000000 is \d+, not \d+/);
    mend();
    const dev = await start(folder);
    expect(await groups(dev, 'by_shop', 'orders', [])).toEqual({ north: 210, south: 210 });
  });

  it('in format.json keeps dev from starting, which names the file', async () => {
    const folder = filledFolder();
    writeFileSync(join(folder, '.tidemark/format.json'), '{"format": 1, "pipel');
    const { code, stderr } = await tidemark(['dev', '--port', '0', '--pipeline', 'shop.json'], {
      cwd: folder,
    });

    expect(code).toBe(1);
    expect(stderr).toMatch(/format\.json is damaged/);
  });
});

async function expectNoStart(folder: string, message: RegExp): Promise<void> {
  const args = ['dev', '--port', '0', '--pipeline', 'shop.json'];
  const { code, stdout, stderr } = await tidemark(args, { cwd: folder });
  expect(code).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toMatch(message);
}

describe('a data folder that goes under a running dev', () => {
  it('ends it with a message; what was acknowledged is there when the folder is back', async () => {
    const folder = filledFolder();
    const data = join(folder, '.tidemark');
    const dev = await start(folder);
    let acknowledged = 420;
    renameSync(data, `${data}-away`);
    await put(dev, manyOrders('late', 1)).then(
      () => acknowledged++,
      () => {},
    );
    await dev.prints('stderr', /error: .*\.tidemark.* was removed or renamed while it was in use/);
    expect(await dev.ended).toBe(1);
    expect(acknowledged).toBe(420);
    expect(existsSync(data)).toBe(false);

    renameSync(`${data}-away`, data);
    const back = await start(folder);
    const after = await put(back, manyOrders('more', 10));
    const { north, south } = await groups(back, 'by_shop', 'orders', after);
    // Of the record that was not acknowledged either may hold.
    expect([430, 431]).toContain(Number(north) + Number(south));
  });

  it('ends it when its lock is deleted, so that a second one never works beside it', async () => {
    const folder = filledFolder();
    const dev = await start(folder);
    rmSync(join(folder, '.tidemark/lock.db'));
    await dev.prints('stderr', /lock\.db was (?:removed|replaced)/);
    expect(await dev.ended).toBe(1);
    expect((await start(folder)).stderr).toBe('');
  });
});

describe('a backup', () => {
  it('taken while records flow holds all that were acknowledged before it, each once, and goes on', async () => {
    const folder = filledFolder();
    const dev = await start(folder);
    let [batches, isDone] = [0, false];
    const flow = (async () => {
      while (!isDone) {
        const batch = Array.from({ length: 20 }, (_, index) =>
          order(`b${batches}-${index}`, `shop-${batches}`, 1),
        );
        await put(dev, batch);
        batches++;
      }
    })();
    while (batches < 5) await pause(5);
    const before = batches;
    const backup = await dev.backup('copy');
    isDone = true;
    await flow;
    expect(backup.stderr).toBe('');
    expect(backup.stdout).toMatch(/backed up pipeline shop to .*copy/);
    await dev.end('SIGKILL');

    const args = ['--pipeline', 'shop.json', '--data', 'copy'];
    const restored = await Dev.start(folder, ...args);
    devs.push(restored);
    const after = await put(restored, manyOrders('after', 10));
    const counts = await groups(restored, 'by_shop', 'orders', after);
    for (let batch = 0; batch < before; batch++) expect(counts[`shop-${batch}`]).toBe(20);
    for (const [shop, count] of Object.entries(counts)) {
      if (shop.startsWith('shop-')) expect(count).toBe(20);
    }
    expect(counts).toMatchObject({ north: 215, south: 215 });
    const { json } = await restored.call('/v1/status');
    expect(json).toMatchObject({ records: { duplicates: 0, quarantined: 0 } });
  });
});

describe('files of a data folder that do not belong together', () => {
  it('keep dev from starting: an older stream.db, no stream.db, no checkpoint.db', async () => {
    const folder = filledFolder();
    const data = join(folder, '.tidemark');
    const dev = await start(folder);
    const after = await put(dev, manyOrders('more', 20));
    await groups(dev, 'by_shop', 'orders', after);
    expect(await dev.end('SIGTERM')).toBe(0);
    const newest = readFileSync(join(data, 'stream.db'));

    cpSync(join(filled, '.tidemark/stream.db'), join(data, 'stream.db'));
    await expectNoStart(folder, /The stream is the older of the two/);
    rmSync(join(data, 'stream.db'));
    await expectNoStart(folder, /stream\.db is missing or empty/);
    writeFileSync(join(data, 'stream.db'), newest);
    renameSync(join(data, 'checkpoint.db'), join(folder, 'checkpoint.db'));
    await expectNoStart(folder, /checkpoint\.db was removed/);
    renameSync(join(folder, 'checkpoint.db'), join(data, 'checkpoint.db'));

    const mended = await start(folder);
    const more = await put(mended, manyOrders('mended', 10));
    expect(await groups(mended, 'by_shop', 'orders', more)).toEqual({ north: 225, south: 225 });
  });
});

describe('a full disk', () => {
  it('refuses records with an error, loses none that was acknowledged, and goes on with free space', async (context) => {
    const folder = newFolder();
    folders.push(folder);
    writePipeline(folder);
    const data = join(folder, '.tidemark');
    mkdirSync(data);
    const isMounted = mountSmall(data);
    context.skip(!isMounted, 'only root can mount a small disk');
    const filler = join(folder, '.tidemark/lost+found');
    writeFileSync(filler, Buffer.alloc(2_000_000));
    const dev = await start(folder);
    const wide = 'x'.repeat(2_000);
    let acknowledged = 0;
    const refusal = await fill(async () => {
      const orders = manyOrders(`o${acknowledged}`, 100).map((each) => ({ ...each, wide }));
      await put(dev, orders);
      acknowledged += 100;
    });

    expect(String(refusal)).toMatch(/disk is full/);
    expect((await dev.call('/healthz')).status).toBe(200);
    rmSync(filler);
    const after = await put(dev, [order('last', 'east', 1)]);
    const { north, south, east } = await groups(dev, 'by_shop', 'orders', after);
    expect(east).toBe(1);
    // The refused request is not in: an append is all or nothing.
    expect(Number(north) + Number(south)).toBe(acknowledged);
  });
});

/** What the first put that fails throws. */
async function fill(putMore: () => Promise<void>): Promise<unknown> {
  for (let round = 0; round < 200; round++) {
    try {
      await putMore();
    } catch (error) {
      return error;
    }
  }
  throw new Error('the disk is never full');
}

function system(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: 'ignore' });
}

function mountSmall(path: string): boolean {
  try {
    system('mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', path);
    mounts.push(path);
    return true;
  } catch {
    return false;
  }
}

function flipItem(folder: string, where: string): () => void {
  return flipRow(folder, 'items', 'bytes', where);
}

function flipHead(folder: string): () => void {
  return flipRow(folder, 'heads', 'body', 'true');
}

/** Flips a bit in the last row; the returned function puts it right. */
function flipRow(folder: string, table: string, column: string, where: string): () => void {
  const path = join(folder, '.tidemark/checkpoint.db');
  const write = (bytes: Uint8Array, rowid: number) => {
    const database = new DatabaseSync(path);
    database.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`).run(bytes, rowid);
    database.close();
  };
  const database = new DatabaseSync(path);
  const row = database
    .prepare(`SELECT rowid, ${column} AS bytes FROM ${table} WHERE ${where} ORDER BY rowid DESC`)
    .get() as { rowid: number; bytes: Uint8Array };
  database.close();
  const bytes = Uint8Array.from(row.bytes);
  write(flipMiddle(bytes), row.rowid);
  return () => write(bytes, row.rowid);
}
