/**
 * Immutable blobs as plain files, one each, in folders by the parts of their keys.
 *
 * - The bytes are written to a temporary file and synchronised; a hard link then gives them their name, which fails if the
 *   name is taken; the folder is synchronised last. A crash leaves nothing under the name, or all of the bytes, and maybe a
 *   temporary file, which is removed when the store is opened more than an hour later.
 * - Deletions are not synchronised: a blob that a power cut brings back is deleted again by the next collection.
 */
import type { Dirent } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { assert } from '../../../core/assert.ts';
import { hasSurelyPassed } from '../../../core/elapsed.ts';
import { TransientFault } from '../../../core/faults.ts';
import {
  type BlobUpload,
  type Creation,
  isBlobKey,
  type ObjectStore,
  type StoredObject,
} from '../../../core/ports.ts';
import {
  beginTemporary,
  createFolder,
  FOLDER_MODE,
  isTemporary,
  syncFolder,
  writeOn,
  writeTemporary,
} from '../durable-files.ts';
import { isFileError, withLocalFaultsAsync } from '../local-faults.ts';

/** Tells the file of key `a` from the folder of key `a/b`. No part of a key ends with it. */
const SUFFIX = '.blob';
const TEMPORARY_AGE_MS_MAX = 60 * 60_000;

export class FileObjectStore implements ObjectStore {
  readonly #root: string;
  /** Folders that are there and durable, up to the root. */
  readonly #folders = new Set<string>();

  /** Opens the store in the folder `root`, creates it if it is missing, and removes what old crashes left. */
  static async open(root: string): Promise<FileObjectStore> {
    return withLocalFaultsAsync(root, 'open the object store', async () => {
      await createFolder(root);
      await removeOldTemporaries(root);
      return new FileObjectStore(root);
    });
  }

  private constructor(root: string) {
    this.#root = root;
  }

  async create(key: string, bytes: Uint8Array): Promise<Creation> {
    const path = this.#pathOf(key);
    return withLocalFaultsAsync(path, `create ${key}`, async () => {
      const folder = dirname(path);
      await this.#prepareFolder(folder);
      return nameDurably(await writeTemporary(folder, bytes), path);
    });
  }

  async upload(key: string): Promise<BlobUpload> {
    const path = this.#pathOf(key);
    const attempt = <T>(action: () => Promise<T>) =>
      withLocalFaultsAsync(path, `create ${key}`, action);
    const folder = dirname(path);
    const temporary = await attempt(async () => {
      await this.#prepareFolder(folder);
      return beginTemporary(folder);
    });
    let byteLength = 0;
    return {
      write: (piece) =>
        attempt(async () => {
          await writeOn(temporary, byteLength, piece, false);
          byteLength += piece.length;
        }),
      complete: () =>
        attempt(async () => {
          await writeOn(temporary, byteLength, new Uint8Array(), true);
          return nameDurably(temporary, path);
        }),
      abandon: () => attempt(() => rm(temporary, { force: true })),
    };
  }

  async read(key: string): Promise<Uint8Array | null> {
    const path = this.#pathOf(key);
    return withLocalFaultsAsync(path, `read ${key}`, async () => {
      try {
        const bytes = await readFile(path);
        return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      } catch (error) {
        return this.#nothingThere(error);
      }
    });
  }

  async readRange(key: string, from: number, to: number): Promise<Uint8Array | null> {
    assert(
      from >= 0 && from <= to,
      'a-range-does-not-end-before-it-begins',
      () => `${from}..${to}`,
    );
    const path = this.#pathOf(key);
    return withLocalFaultsAsync(path, `read ${key}`, async () => {
      let file: FileHandle;
      try {
        file = await open(path, 'r');
      } catch (error) {
        return this.#nothingThere(error);
      }
      try {
        return await readBetween(file, from, to);
      } finally {
        await file.close();
      }
    });
  }

  async list(prefix: string, after: string | null, limit: number): Promise<StoredObject[]> {
    assert(limit > 0, 'list-limit-is-positive');
    return withLocalFaultsAsync(this.#root, `list ${prefix}`, async () => {
      const found: StoredObject[] = [];
      for await (const key of walk(this.#root, '', prefix, after ?? '')) {
        const object = await describe(this.#pathOf(key), key);
        if (object !== null) found.push(object);
        if (found.length === limit) break;
      }
      return found;
    });
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const path = this.#pathOf(key);
      await withLocalFaultsAsync(path, `delete ${key}`, () => rm(path, { force: true }));
    }
  }

  #pathOf(key: string): string {
    // No part is empty or begins with a dot, so that no key leaves the root.
    assert(isBlobKey(key), 'blob-key-is-portable', () => JSON.stringify(key));
    const parts = key.split('/');
    assert(!parts.some((part) => part.endsWith(SUFFIX)), 'a-key-has-no-suffix-of-ours', () => key);
    return join(this.#root, ...parts) + SUFFIX;
  }

  async #prepareFolder(folder: string): Promise<void> {
    if (this.#folders.has(folder)) return;
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    // Whether or not it was there: another thread may have created it a moment ago.
    for (let child = folder; child !== this.#root; child = dirname(child)) {
      await syncFolder(dirname(child));
    }
    this.#folders.add(folder);
  }

  /** Null for "no such file", unless the whole store is gone, as when its disk was unmounted. */
  async #nothingThere(error: unknown): Promise<null> {
    if (!isFileError(error, 'ENOENT')) throw error;
    try {
      await stat(this.#root);
    } catch (cause) {
      throw new TransientFault(`the folder ${this.#root} is gone`, {
        hint: 'bring it back: it holds checkpoints',
        cause,
      });
    }
    return null;
  }
}

/** Gives the content of a temporary file its name, unless that is taken; the temporary name goes. */
async function nameDurably(temporary: string, path: string): Promise<Creation> {
  let creation: Creation = 'created';
  try {
    await link(temporary, path);
  } catch (error) {
    if (!isFileError(error, 'EEXIST')) throw error;
    creation = 'exists';
  } finally {
    await rm(temporary, { force: true });
  }
  // For `exists` too: the process that created it may have died before this line.
  await syncFolder(dirname(path));
  return creation;
}

/** Keys that begin with `prefix` and lie after `after`, in order; folders that can hold none are not read. */
async function* walk(
  folder: string,
  folderKey: string,
  prefix: string,
  after: string,
): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  // A folder sorts as what its keys begin with: between `a-1` and `a0` comes `a/`.
  const children = entries.flatMap((entry) => childOf(entry, folderKey));
  children.sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const { key, name, isFolder } of children) {
    if (!isFolder) {
      if (key.startsWith(prefix) && key > after) yield key;
      continue;
    }
    const mayBegin = key.startsWith(prefix) || prefix.startsWith(key);
    const mayFollow = key > after || after.startsWith(key);
    if (mayBegin && mayFollow) yield* walk(join(folder, name), key, prefix, after);
  }
}

interface Child {
  readonly name: string;
  /** Of a folder: what its keys begin with. */
  readonly key: string;
  readonly isFolder: boolean;
}

/** None for what is not ours, such as temporary files. */
function childOf(entry: Dirent, folderKey: string): Child[] {
  const { name } = entry;
  if (entry.isDirectory()) {
    const isOurs = isBlobKey(name) && !name.endsWith(SUFFIX);
    return isOurs ? [{ name, key: `${folderKey}${name}/`, isFolder: true }] : [];
  }
  if (!entry.isFile() || !name.endsWith(SUFFIX)) return [];
  const part = name.slice(0, -SUFFIX.length);
  return isBlobKey(part) ? [{ name, key: folderKey + part, isFolder: false }] : [];
}

/** Null if it was deleted since it was listed. */
async function describe(path: string, key: string): Promise<StoredObject | null> {
  try {
    const { size, mtimeMs } = await stat(path);
    return { key, byteLength: size, createdMs: Math.floor(mtimeMs) };
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return null;
    throw error;
  }
}

async function readBetween(file: FileHandle, from: number, to: number): Promise<Uint8Array> {
  const { size } = await file.stat();
  const bytes = new Uint8Array(Math.max(0, Math.min(to, size) - from));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

async function removeOldTemporaries(root: string): Promise<void> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (!entry.isFile() || !isTemporary(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const found = await describe(path, entry.name);
    const isOld =
      found !== null && hasSurelyPassed(found.createdMs, TEMPORARY_AGE_MS_MAX, Date.now());
    if (isOld) await rm(path, { force: true });
  }
}
