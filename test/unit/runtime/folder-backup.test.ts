import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDataFolder } from '../../../adapters/local/data-folder.ts';
import { backUpFolder } from '../../../runtime/folder-backup.ts';
import { smallPlan } from '../../world/small-log.ts';
import { temporaryFolder } from '../adapters-local/temporary-folder.ts';
import { FolderLife } from './data-folder-life.ts';

async function opened(path: string): Promise<FolderLife> {
  const folder = await openDataFolder({ path, pipelineName: smallPlan.name });
  const life = await FolderLife.open(path).catch(async (error) => {
    await folder.close();
    throw error;
  });
  onTestFinished(async () => {
    life.close();
    await folder.close();
  });
  return life;
}

/** A folder that is in use: 12 records in a checkpoint, 5 more in the stream only. */
async function inUse() {
  const path = await temporaryFolder();
  const life = await opened(path);
  life.append(12);
  await life.fold();
  life.append(5);
  return { path, life, to: join(await temporaryFolder(), 'copy') };
}

describe('a backup', () => {
  it('of a folder in use holds what was acknowledged before it, and goes on from there', async () => {
    const { path, life, to } = await inUse();
    const report = await backUpFolder(path, to);
    expect(report).toMatchObject({ pipeline: smallPlan.name, path: to, folded: 12 });
    life.append(7);
    expect(await life.fold()).toBe(24);

    const copy = await opened(to);
    copy.append(2);
    expect(await copy.fold()).toBe(19);
  });

  it('of a folder that nothing holds is the same', async () => {
    const { path, life, to } = await inUse();
    life.close();
    expect(await backUpFolder(path, to)).toMatchObject({ folded: 12 });
    expect(await (await opened(to)).fold()).toBe(17);
  });

  it('goes to a new or empty folder only, outside the data folder', async () => {
    const { path } = await inUse();
    const full = await temporaryFolder();
    writeFileSync(join(full, 'other'), '');
    const link = join(await temporaryFolder(), 'link');
    symlinkSync(path, link);
    for (const [to, why] of [
      [full, 'it is not empty'],
      [join(path, 'backup'), 'it lies in the data folder'],
      [path, 'it lies in the data folder'],
      [link, 'it lies in the data folder'],
      [join(link, 'new', 'backup'), 'it lies in the data folder'],
      [join(full, 'other'), 'it is a file'],
    ] as const) {
      await expect(backUpFolder(path, to)).rejects.toThrow(why);
    }
    await expect(backUpFolder(link, join(path, 'backup'))).rejects.toThrow('in the data folder');
    expect(existsSync(join(path, 'new'))).toBe(false);
    expect(readdirSync(full)).toEqual(['other']);
    await expect(backUpFolder(full, join(full, 'x'))).rejects.toThrow('is no data folder');
  });

  it('that fails leaves nothing, and never a folder that can be started from', async () => {
    const { path, to } = await inUse();
    rmSync(join(path, 'stream.db'));
    await expect(backUpFolder(path, to)).rejects.toThrow('stream.db');
    expect(existsSync(to)).toBe(false);
  });
});

/** As SQLite does when the WAL is long. */
function takeWalIn(path: string): void {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
}

describe('a copy of a folder in use, file by file', () => {
  const copyOf = (path: string, to: string, names: readonly string[]) => {
    for (const name of names) cpSync(join(path, name), join(to, name), { recursive: true });
  };
  const WITHOUT_WAL = ['format.json', 'stream.db', 'checkpoint.db', 'objects'];
  const EVERYTHING = [...WITHOUT_WAL, 'stream.db-wal', 'checkpoint.db-wal'];

  it('without the WAL is refused, although its parts agree', async () => {
    const { path, to } = await inUse();
    copyOf(path, to, WITHOUT_WAL);
    const refused = {
      name: 'CorruptStateFault',
      message: expect.stringContaining('the newest records are missing'),
      hint: expect.stringContaining('tidemark backup'),
    };
    // A backup of it would look whole.
    await expect(backUpFolder(to, `${to}-backup`)).rejects.toMatchObject(refused);
    await expect(opened(to)).rejects.toMatchObject(refused);
  });

  it('with the WAL of the same moment goes on', async () => {
    const { path, to } = await inUse();
    copyOf(path, to, EVERYTHING);
    expect(await backUpFolder(to, `${to}-backup`)).toMatchObject({ folded: 12 });
    expect(await (await opened(to)).fold()).toBe(17);
  });

  it('of one moment goes on after a start that was refused for another reason', async () => {
    const { path, to } = await inUse();
    copyOf(path, to, EVERYTHING);
    const other = openDataFolder({ path: to, pipelineName: 'other' });
    await expect(other).rejects.toMatchObject({ problem: 'other-pipeline' });
    expect(await (await opened(to)).fold()).toBe(17);
  });

  it('of a folder whose process was killed goes on, also after a start that was refused', async () => {
    const { path, to } = await inUse();
    const killed = `${to}-killed`;
    copyOf(path, killed, EVERYTHING);
    const database = new DatabaseSync(join(killed, 'stream.db'));
    const inode = String(statSync(join(killed, 'stream.db'), { bigint: true }).ino);
    database.prepare('UPDATE stream SET home = ?').run(inode);
    // Closing it takes the WAL in; a process that is killed leaves it.
    const wal = readFileSync(join(killed, 'stream.db-wal'));
    database.close();
    writeFileSync(join(killed, 'stream.db-wal'), wal);
    const other = openDataFolder({ path: killed, pipelineName: 'other' });
    await expect(other).rejects.toMatchObject({ problem: 'other-pipeline' });
    cpSync(killed, to, { recursive: true });
    expect(await (await opened(to)).fold()).toBe(17);
  });

  it.each([
    ['records are missing in between', 'DELETE FROM records_0 WHERE ordinal IN (14, 15)'],
    ['the newest records are missing', 'DELETE FROM records_0 WHERE ordinal > 15'],
  ])('into which SQLite wrote meanwhile is refused: %s', async (_, change) => {
    const { path, to } = await inUse();
    const [whole, torn] = [`${to}-whole`, `${to}-torn`];
    copyOf(path, whole, EVERYTHING);
    const database = new DatabaseSync(join(whole, 'stream.db'));
    database.exec(change);
    copyOf(whole, torn, EVERYTHING);
    database.close();
    const refused = { message: expect.stringMatching(/stream.db is a copy .* different moments/) };
    // Its numbers of commits are sound, and of a backup of it no start would ask more.
    await expect(backUpFolder(torn, `${torn}-backup`)).rejects.toMatchObject(refused);
    expect(existsSync(`${torn}-backup`)).toBe(false);
    for (const _attempt of [1, 2]) await expect(opened(torn)).rejects.toMatchObject(refused);
  });

  it('with the WAL of a later moment is refused', async () => {
    const { path, life, to } = await inUse();
    copyOf(path, to, WITHOUT_WAL);
    // The WAL is taken into the file, and begins again, which the copied file has not seen.
    const large = { partitionKey: 'k', explicitHashKey: null, data: Buffer.alloc(900_000) };
    for (let round = 0; round < 24; round++) life.stores.stream.append([large]);
    copyOf(path, to, ['stream.db-wal', 'checkpoint.db-wal']);
    await expect(opened(to)).rejects.toMatchObject({ name: 'CorruptStateFault' });
  });

  it('with a checkpoint.db and its WAL of different moments is refused, and backed up by no one', async () => {
    const { path, life, to } = await inUse();
    for (const first of ['checkpoint.db', 'checkpoint.db-wal']) {
      const copy = `${to}-${first}`;
      takeWalIn(join(path, 'checkpoint.db'));
      life.append(1);
      await life.fold();
      copyOf(path, copy, [first]);
      life.append(1);
      await life.fold();
      takeWalIn(join(path, 'checkpoint.db'));
      life.append(1);
      await life.fold();
      copyOf(
        path,
        copy,
        ['checkpoint.db', 'checkpoint.db-wal'].filter((name) => name !== first),
      );
      copyOf(path, copy, ['format.json', 'objects', 'stream.db', 'stream.db-wal']);
      const refused = {
        message: expect.stringMatching(/checkpoint.db is a copy .* different moments/),
      };
      await expect(backUpFolder(copy, `${copy}-backup`)).rejects.toMatchObject(refused);
      await expect(opened(copy)).rejects.toMatchObject(refused);
    }
  });

  it('of a folder that was closed goes on', async () => {
    const { path, life, to } = await inUse();
    life.close();
    copyOf(path, to, WITHOUT_WAL);
    expect(await (await opened(to)).fold()).toBe(17);
  });
});
