import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { FolderWatch } from '../../../adapters/local/folder-watch.ts';
import { CheckpointDatabase } from '../../../adapters/local/store/checkpoint-database.ts';
import { LocalCheckpointStore } from '../../../adapters/local/store/local-checkpoint-store.ts';
import { LostStateFault } from '../../../core/faults.ts';
import { entry, openStream, SHARD_0, streamPath } from './stream-fixture.ts';
import { temporaryFolder } from './temporary-folder.ts';

describe('a stream whose file is no longer where it was', () => {
  it.each<[string, (path: string) => void]>([
    ['the folder was renamed', (path) => renameSync(dirname(path), `${dirname(path)}-away`)],
    ['the folder was removed', (path) => rmSync(dirname(path), { recursive: true })],
    ['the file was removed', (path) => rmSync(path)],
    ['its WAL was removed', (path) => rmSync(`${path}-wal`)],
    [
      'another file is there',
      (path) => {
        renameSync(path, `${path}.before`);
        writeFileSync(path, '');
      },
    ],
    [
      'another folder is there',
      (path) => {
        renameSync(dirname(path), `${dirname(path)}-away`);
        mkdirSync(dirname(path));
      },
    ],
  ])('acknowledges nothing: %s', (_, lose) => {
    const path = streamPath();
    const stream = openStream({ path });
    stream.append([entry('a')]);
    lose(path);
    expect(() => stream.append([entry('b')])).toThrow(LostStateFault);
    expect(() => stream.append([entry('b')])).toThrow(path);
  });

  it('acknowledges nothing from the first append on', () => {
    const path = streamPath();
    const stream = openStream({ path });
    rmSync(`${path}-wal`);
    expect(() => stream.append([entry('b')])).toThrow(LostStateFault);
  });

  it('goes on when it is put back, with what was not acknowledged', () => {
    const path = streamPath();
    const stream = openStream({ path });
    renameSync(dirname(path), `${dirname(path)}-away`);
    expect(() => stream.append([entry('a')])).toThrow('was removed or renamed');
    renameSync(`${dirname(path)}-away`, dirname(path));
    stream.append([entry('b')]);
    expect(stream.tip(SHARD_0).count).toBe(2);
  });
});

describe('a checkpoint store whose file is no longer where it was', () => {
  it('answers no call', async () => {
    const path = join(await temporaryFolder(), 'checkpoint.db');
    const database = CheckpointDatabase.open(path);
    const heads = new LocalCheckpointStore(database);
    expect(await heads.readHead('slice-a')).toBeNull();
    rmSync(path);
    await expect(heads.readHead('slice-a')).rejects.toThrow(LostStateFault);
    const delivered = '0';
    const head = { sliceId: 'slice-a', revision: 1, delivered, body: new Uint8Array(1) };
    await expect(heads.createHead(head)).rejects.toThrow(LostStateFault);
    database.close();
  });
});

describe('the watch over a folder', () => {
  it('tells once of the first name that is not what it was', async () => {
    const folder = await temporaryFolder();
    const [one, later] = [join(folder, 'lock.db'), join(folder, 'objects')];
    writeFileSync(one, '');
    const lost = vi.fn();
    const watch = new FolderWatch([folder, one, later], lost);
    mkdirSync(later);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(lost).not.toHaveBeenCalled();
    renameSync(one, `${one}.before`);
    writeFileSync(one, '');
    await vi.waitFor(() => expect(lost).toHaveBeenCalledOnce(), { timeout: 2_000 });
    expect(lost.mock.calls[0]?.[0]).toBeInstanceOf(LostStateFault);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(lost).toHaveBeenCalledOnce();
    watch.stop();
  });
});
