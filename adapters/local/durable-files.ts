/**
 * Files and folders that survive a power cut: what is written is synchronised, and so is the folder that names it.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigurationFault } from '../../core/faults.ts';
import { isFileError } from './local-faults.ts';

const TEMPORARY = /^\.[^/]+\.tmp$/;
/** Only the owner may look into data: records are other people's. */
export const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Creates the folder and those above it, where they are missing. True if it was missing. */
export async function createFolder(path: string): Promise<boolean> {
  const topmost = await makeFolders(path);
  if (topmost === null) return false;
  // Each new folder is named by the one above it, up to the first that was there before.
  for (let folder = path; folder.length >= topmost.length; folder = dirname(folder)) {
    await syncFolder(dirname(folder));
  }
  return true;
}

/**
 * The topmost folder that it made, or null. Node's own `recursive` never ends where a folder cannot hold others and says ENOENT
 * to that, as `/proc` does.
 */
async function makeFolders(path: string): Promise<string | null> {
  const above = dirname(path);
  try {
    await mkdir(path, { mode: FOLDER_MODE });
    return path;
  } catch (error) {
    if (await isFolder(path)) return null;
    if (!isFileError(error, 'ENOENT')) throw error;
    if (await isFolder(above)) throw cannotHoldFolders(path, above, error);
  }
  const topmost = await makeFolders(above);
  const made = await makeFolders(path);
  return topmost ?? made;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

function cannotHoldFolders(path: string, above: string, cause: unknown): ConfigurationFault {
  return new ConfigurationFault(
    `cannot make the folder ${path}: no folder can be made in ${above}`,
    {
      hint: 'name a folder on a local disk',
      cause,
    },
  );
}

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** A new file with the bytes, durable but for its name, under a name that `isTemporary` knows. Its path. */
export async function writeTemporary(folder: string, bytes: Uint8Array): Promise<string> {
  const path = await beginTemporary(folder);
  await writeOn(path, 0, bytes, true);
  return path;
}

/** A new, empty file under a name that `isTemporary` knows. Its path. */
export async function beginTemporary(folder: string): Promise<string> {
  const path = join(folder, `.${randomUUID()}.tmp`);
  const file = await open(path, 'wx', FILE_MODE);
  await file.close();
  return path;
}

/**
 * Writes bytes into a temporary file that is there, at an offset; `isLast`: and makes the file durable but for its name. It is
 * opened for this alone, so that what is given up half-way holds no descriptor. The file goes where that fails.
 */
export async function writeOn(
  path: string,
  offset: number,
  bytes: Uint8Array,
  isLast: boolean,
): Promise<void> {
  const file = await open(path, 'r+');
  try {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await file.write(bytes, at, bytes.length - at, offset + at);
      at += bytesWritten;
    }
    if (isLast) await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** True for the name of a file that a crash in `writeTemporary`, or after it, may leave. */
export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name);
}

/** Replaces the file: a crash leaves either the old text or the new, whole. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  const temporary = await writeTemporary(folder, new TextEncoder().encode(text));
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(folder);
}
