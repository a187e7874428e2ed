import {
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FileObjectStore } from '../../../adapters/local/store/file-object-store.ts';
import { temporaryFolder } from './temporary-folder.ts';

const HOUR_MS = 3_600_000;
const LEFTOVER = '.0f8fad5b-d9cb-469f-a165-70867728950e.tmp';
const bytes = new TextEncoder().encode('content');

async function age(path: string, byMs: number): Promise<void> {
  const time = new Date(Date.now() - byMs);
  await utimes(path, time, time);
}

describe('FileObjectStore', () => {
  it('leaves one file a blob and nothing else, also when the key was taken', async () => {
    const root = join(await temporaryFolder(), 'objects');
    const store = await FileObjectStore.open(root);
    await store.create('slice-a/base/1', bytes);
    await store.create('slice-a/base/1', bytes);
    expect((await readdir(root, { recursive: true })).sort()).toEqual([
      'slice-a',
      'slice-a/base',
      'slice-a/base/1.blob',
    ]);
  });

  it('lets only the owner look at blobs', async () => {
    const root = join(await temporaryFolder(), 'objects');
    const store = await FileObjectStore.open(root);
    await store.create('slice-a/base/1', bytes);
    for (const path of ['.', 'slice-a', 'slice-a/base', 'slice-a/base/1.blob']) {
      expect((await stat(join(root, path))).mode & 0o077, path).toBe(0);
    }
  });

  it('does not list what a crash in create left, and removes it when it is an hour old', async () => {
    const root = join(await temporaryFolder(), 'objects');
    const store = await FileObjectStore.open(root);
    await store.create('slice-a/base/1', bytes);
    const old = join(root, 'slice-a', 'base', LEFTOVER);
    const young = join(root, 'slice-a', LEFTOVER);
    for (const path of [old, young]) await writeFile(path, 'half of it');
    await age(old, HOUR_MS + 60_000);
    await age(young, HOUR_MS - 60_000);
    await age(join(root, 'slice-a/base/1.blob'), 100 * HOUR_MS);
    expect((await store.list('', null, 10)).map(({ key }) => key)).toEqual(['slice-a/base/1']);

    await FileObjectStore.open(root);
    expect(await readdir(join(root, 'slice-a', 'base'))).toEqual(['1.blob']);
    expect(await readdir(join(root, 'slice-a'))).toContain(LEFTOVER);
  });

  it('says when a blob was created, by its file', async () => {
    const root = await temporaryFolder();
    const store = await FileObjectStore.open(root);
    await store.create('a', bytes);
    const time = new Date(1_600_000_000_500);
    await utimes(join(root, 'a.blob'), time, time);
    expect(await store.list('', null, 1)).toEqual([
      { key: 'a', byteLength: bytes.length, createdMs: 1_600_000_000_500 },
    ]);
  });

  it('lists only what is its own', async () => {
    const root = await temporaryFolder();
    const store = await FileObjectStore.open(root);
    await store.create('slice-a/base/1', bytes);
    await writeFile(join(root, 'notes.txt'), 'foreign');
    await writeFile(join(root, 'slice-a', '.hidden.blob'), 'foreign');
    await mkdir(join(root, 'lost+found'));
    await writeFile(join(root, 'lost+found', 'x.blob'), 'foreign');
    await mkdir(join(root, 'folder.blob'));
    await writeFile(join(root, 'folder.blob', 'x.blob'), 'foreign');
    expect((await store.list('', null, 10)).map(({ key }) => key)).toEqual(['slice-a/base/1']);
  });

  it('does not follow a link out of the store when it lists', async () => {
    const [outside, root] = [await temporaryFolder(), await temporaryFolder()];
    const store = await FileObjectStore.open(root);
    await writeFile(join(outside, 'secret.blob'), 'foreign');
    await symlink(outside, join(root, 'slice-a'));
    expect(await store.list('', null, 10)).toEqual([]);
  });

  it('refuses keys that end like its files: such a folder could take a blob’s name', async () => {
    const store = await FileObjectStore.open(await temporaryFolder());
    for (const key of ['a.blob', 'a.blob/b']) {
      await expect(store.create(key, bytes)).rejects.toMatchObject({
        name: 'InvariantFault',
        invariant: 'a-key-has-no-suffix-of-ours',
      });
    }
  });

  it('gives the bytes that are there of a file that was cut off: their checksum is the reader’s', async () => {
    const root = await temporaryFolder();
    const store = await FileObjectStore.open(root);
    await store.create('a', bytes);
    const file = await open(join(root, 'a.blob'), 'r+');
    await file.truncate(3);
    await file.close();
    expect(await store.read('a')).toEqual(bytes.slice(0, 3));
    expect(await store.readRange('a', 2, 5)).toEqual(bytes.slice(2, 3));
  });

  it('does not say that a blob is missing when the whole store is', async () => {
    const root = join(await temporaryFolder(), 'objects');
    const store = await FileObjectStore.open(root);
    await store.create('a/b', bytes);
    await rename(root, `${root}-unmounted`);
    const gone = { name: 'TransientFault', message: expect.stringContaining(`${root} is gone`) };
    await expect(store.read('a/b')).rejects.toMatchObject(gone);
    await expect(store.readRange('a/b', 0, 1)).rejects.toMatchObject(gone);
    await expect(store.list('', null, 1)).rejects.toMatchObject({
      message: expect.stringContaining(root),
    });
    await expect(store.create('a/c', bytes)).rejects.toMatchObject({
      message: expect.stringContaining('cannot create a/c'),
    });
  });

  it('says where, when a file stands in the way', async () => {
    const root = await temporaryFolder();
    await writeFile(join(root, 'slice-a'), 'foreign');
    const store = await FileObjectStore.open(root);
    await expect(store.create('slice-a/base/1', bytes)).rejects.toMatchObject({
      message: expect.stringContaining(join(root, 'slice-a')),
    });
  });

  it('may be listed while blobs come and go', async () => {
    const root = await temporaryFolder();
    const [writer, reader] = [await FileObjectStore.open(root), await FileObjectStore.open(root)];
    await writer.create('kept', bytes);
    let isDone = false;
    const churn = async (): Promise<void> => {
      for (let at = 0; at < 60; at++) {
        await writer.create(`slice-a/delta/${at}`, bytes);
        await writer.delete([`slice-a/delta/${at}`]);
      }
      isDone = true;
    };
    const watch = async (): Promise<void> => {
      while (!isDone) {
        const listed = await reader.list('', null, 100);
        expect(listed[0]).toMatchObject({ key: 'kept', byteLength: bytes.length });
        for (const { byteLength } of listed) expect(byteLength).toBe(bytes.length);
      }
    };
    await Promise.all([churn(), watch()]);
    await rm(root, { recursive: true });
  });
});
