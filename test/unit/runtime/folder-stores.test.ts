import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../adapters-local/temporary-folder.ts';
import { FolderLife, namesIn } from './data-folder-life.ts';

async function opened(path: string): Promise<FolderLife> {
  const life = await FolderLife.open(path);
  onTestFinished(() => life.close());
  return life;
}

/** A folder of a process that ended: `count` records, all of them in a checkpoint. */
async function filled(count: number): Promise<string> {
  const path = await temporaryFolder();
  const life = await opened(path);
  life.append(count);
  expect(await life.fold()).toBe(count);
  life.close();
  return path;
}

/** Goes on in the folder with `count` records more; the copy beside it stays as it was. */
async function copyThenGoOn(path: string, count: number): Promise<string> {
  const copy = join(await temporaryFolder(), 'copy');
  cpSync(path, copy, { recursive: true });
  const life = await opened(path);
  life.append(count);
  await life.fold();
  life.close();
  return copy;
}

function put(name: string, from: string, to: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(join(to, name + end), { force: true });
  cpSync(join(from, name), join(to, name));
}

describe('a data folder whose files are of one age', () => {
  it('goes on where it was', async () => {
    const path = await filled(12);
    const life = await opened(path);
    life.append(3);
    expect(await life.fold()).toBe(15);
  });

  it('is a copy, too, and then both go their own ways', async () => {
    const path = await filled(12);
    const copy = await copyThenGoOn(path, 8);
    const life = await opened(copy);
    life.append(2);
    expect(await life.fold()).toBe(14);
  });

  it('may have an older checkpoint.db: what it lacks is replayed', async () => {
    const path = await filled(12);
    const copy = await copyThenGoOn(path, 8);
    put('checkpoint.db', copy, path);
    const life = await opened(path);
    life.append(1);
    expect(await life.fold()).toBe(21);
  });
});

describe('a stream.db that is older than its checkpoint.db', () => {
  it('is refused, and told which is the older', async () => {
    const path = await filled(12);
    const copy = await copyThenGoOn(path, 8);
    put('stream.db', copy, path);
    const refused = opened(path);
    await expect(refused).rejects.toMatchObject({
      name: 'StreamMismatchFault',
      message: expect.stringMatching(
        /have answered for \d+ \(record 20 of .*\).*the stream ends before it: its newest record is number 12 of .*The stream is the older/,
      ),
      hint: expect.stringContaining('saved together'),
    });
  });

  it('is refused, too, once it has grown past the cursor with other records', async () => {
    const path = await filled(12);
    const copy = await copyThenGoOn(path, 8);
    // A time later than any record of the first life.
    await new Promise((resolve) => setTimeout(resolve, 2));
    const other = await opened(copy);
    other.append(30);
    other.close();
    put('stream.db', copy, path);
    await expect(opened(path)).rejects.toMatchObject({
      name: 'StreamMismatchFault',
      message: expect.stringContaining('the stream has another record there'),
    });
  });
});

describe('a stream.db of another stream', () => {
  it('is refused, by its identity, before any record tells', async () => {
    const [path, other] = [await filled(12), await filled(12)];
    put('stream.db', other, path);
    await expect(opened(path)).rejects.toMatchObject({
      name: 'StreamMismatchFault',
      message: expect.stringContaining('are of stream'),
    });
  });

  it('is refused where what HEAD answered for was trimmed, too: a copy that went its own way', async () => {
    const path = await filled(12);
    const copy = await copyThenGoOn(path, 8);
    await new Promise((resolve) => setTimeout(resolve, 2));
    const other = await opened(copy);
    other.append(8);
    const [{ sequenceNumber } = { sequenceNumber: '' }] = other.append(1);
    const position = { sequenceNumber, subSequence: 0 };
    await other.stores.stream.trimBefore('shardId-000000000000', position);
    other.close();
    put('stream.db', copy, path);
    await expect(opened(path)).rejects.toMatchObject({ name: 'StreamMismatchFault' });
  });
});

describe('a file that is missing', () => {
  it('stream.db beside checkpoints is not made again', async () => {
    const path = await filled(12);
    rmSync(join(path, 'stream.db'));
    await expect(opened(path)).rejects.toMatchObject({
      name: 'StreamMismatchFault',
      message: expect.stringContaining('is missing'),
    });
    expect(namesIn(path)).not.toContain('stream.db');
  });

  it('checkpoint.db beside objects is no beginning, and is not made again', async () => {
    const path = await filled(12);
    rmSync(join(path, 'checkpoint.db'));
    await expect(opened(path)).rejects.toMatchObject({
      name: 'LostStateFault',
      hint: expect.stringContaining('delete the objects'),
    });
    expect(namesIn(path)).not.toContain('checkpoint.db');
  });

  it('checkpoint.db and objects beside a whole stream is a beginning: all is folded again', async () => {
    const path = await filled(12);
    rmSync(join(path, 'checkpoint.db'));
    rmSync(join(path, 'objects'), { recursive: true });
    const life = await opened(path);
    expect(await life.fold()).toBe(12);
  });

  it('checkpoint.db and objects beside a trimmed stream is none', async () => {
    const path = await filled(12);
    const life = await opened(path);
    const { records } = life.stores.stream.readFrom('shardId-000000000000', 1, {
      countMax: 5,
      bytesMax: 1_000_000,
    });
    await life.stores.stream.trimBefore('shardId-000000000000', records[4] as never);
    life.close();
    rmSync(join(path, 'checkpoint.db'));
    rmSync(join(path, 'objects'), { recursive: true });
    await expect(opened(path)).rejects.toMatchObject({
      name: 'LostStateFault',
      message: expect.stringContaining('no longer has the first records'),
    });
  });
});
