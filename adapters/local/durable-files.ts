/**
 * Files and folders that survive a power cut: what is written is synchronised, and so is the folder that names it.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const TEMPORARY = /^\.[^/]+\.tmp$/;
/** Only the owner may look into data: records are other people's. */
export const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Creates the folder and those above it, where they are missing. True if it was missing. */
export async function createFolder(path: string): Promise<boolean> {
  const topmost = await mkdir(path, { recursive: true, mode: FOLDER_MODE });
  if (topmost === undefined) return false;
  // Each new folder is named by the one above it, up to the first that was there before.
  for (let folder = path; folder.length >= topmost.length; folder = dirname(folder)) {
    await syncFolder(dirname(folder));
  }
  return true;
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
  const path = join(folder, `.${randomUUID()}.tmp`);
  const file = await open(path, 'wx', FILE_MODE);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return path;
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
