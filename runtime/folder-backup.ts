/**
 * A copy of a data folder that can be started from, taken while `tidemark dev` runs or not: by SQLite's own snapshots, so it
 * needs no lock and no process to ask.
 *
 *   checkpoint.db ─ objects ─ stream.db ─ checked: restored, replayable ─ format.json
 *
 * - The order is the point. What HEADs of the first snapshot name is kept for an hour by every collector, so it is there to
 *   be copied; the stream comes last, so that it is never behind the checkpoints, and holds all that was acknowledged before.
 * - `format.json` comes when all else is durable and was read back: a folder without it is refused at start.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { refuseTornCopies } from '../adapters/local/data-folder.ts';
import {
  createFolder,
  FOLDER_MODE,
  isTemporary,
  replaceFile,
  syncFolder,
} from '../adapters/local/durable-files.ts';
import { isFileError, localFault, withLocalFaults } from '../adapters/local/local-faults.ts';
import { readBlob } from '../core/checkpoint/blobs.ts';
import { type Head, parseHead } from '../core/checkpoint/head.ts';
import { restore } from '../core/checkpoint/restore.ts';
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { Plan } from '../core/definition/plan.ts';
import { ConfigurationFault, ReplayGapFault, TransientFault } from '../core/faults.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import { comparePositions } from '../core/position.ts';
import { proveDelivered } from '../core/task/stream-proof.ts';
import { type LocalPorts, openLocalPorts } from './local-ports.ts';

export interface BackupReport {
  readonly pipeline: string;
  /** Absolute. */
  readonly path: string;
  /** Records that the copied checkpoints hold. */
  readonly folded: number;
  readonly objects: number;
  readonly tookMs: number;
}

const FORMAT_FILE = 'format.json';

/**
 * Copies the data folder `from` to `to`, which must not exist or be empty. Throws `ConfigurationFault` where that cannot be,
 * `CorruptStateFault` where what is stored is damaged, `TransientFault` for a full disk; nothing is left then.
 */
export async function backUpFolder(from: string, to: string): Promise<BackupReport> {
  const [source, target] = [resolve(from), resolve(to)];
  const startedMs = performance.now();
  const format = await readFormat(source);
  await refuseTarget(source, target);
  const isNew = await createFolder(target);
  try {
    // No start of the copy would look any more: it has no home.
    refuseTornCopies(source);
    copyDatabase(join(source, 'checkpoint.db'), join(target, 'checkpoint.db'), []);
    const objects = await copyObjects(join(source, 'objects'), join(target, 'objects'));
    const leaveHome = ['UPDATE stream SET home = NULL'];
    copyDatabase(join(source, 'stream.db'), join(target, 'stream.db'), leaveHome);
    const folded = await check(target);
    const tookMs = Math.round(performance.now() - startedMs);
    // What the first snapshot names may have been collected since.
    if (tookMs >= DEFAULT_KNOBS.retentionGraceMs) throw tookTooLong();
    for (const name of ['checkpoint.db', 'stream.db']) await syncFile(join(target, name));
    await syncFolder(target);
    await replaceFile(join(target, FORMAT_FILE), format.text);
    return { pipeline: format.pipeline, path: target, folded, objects, tookMs };
  } catch (error) {
    await empty(target, isNew);
    throw localFault(target, 'back up the data folder', error);
  }
}

async function readFormat(source: string): Promise<{ text: string; pipeline: string }> {
  try {
    const text = await readFile(join(source, FORMAT_FILE), 'utf8');
    return { text, pipeline: String((JSON.parse(text) as { pipeline?: unknown }).pipeline) };
  } catch (error) {
    throw new ConfigurationFault(`${source} is no data folder of Tidemark that can be read`, {
      hint: 'name the folder that `tidemark dev` uses: --data DIR',
      cause: error,
    });
  }
}

async function refuseTarget(source: string, target: string): Promise<void> {
  const refused = (why: string) =>
    new ConfigurationFault(`cannot back up to ${target}: ${why}`, {
      hint: 'name a folder that does not exist yet, outside the data folder',
    });
  const [realSource, realTarget] = await Promise.all([realpath(source), realPathOf(target)]);
  if (`${realTarget}${sep}`.startsWith(`${realSource}${sep}`)) {
    throw refused('it lies in the data folder');
  }
  try {
    if ((await readdir(target)).length > 0) throw refused('it is not empty');
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return;
    throw isFileError(error, 'ENOTDIR') ? refused('it is a file') : error;
  }
}

/** Where links lead from a path, of which the last part or several may not exist yet. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const above = dirname(path);
    if (!isFileError(error, 'ENOENT') || above === path) return path;
    return join(await realPathOf(above), basename(path));
  }
}

/** One snapshot of the file, with what its WAL holds; `statements` run on the copy. */
function copyDatabase(from: string, to: string, statements: readonly string[]): void {
  withLocalFaults(from, 'take a snapshot', () => {
    const database = new DatabaseSync(from, { readOnly: true, timeout: 5_000 });
    try {
      database.prepare('VACUUM INTO ?').run(to);
    } finally {
      database.close();
    }
  });
  if (statements.length === 0) return;
  const copy = new DatabaseSync(to);
  try {
    for (const statement of statements) copy.exec(statement);
  } finally {
    copy.close();
  }
}

/** Resolves to how many there are. One that is collected meanwhile is named by no HEAD of the snapshot. */
async function copyObjects(from: string, to: string): Promise<number> {
  const folders = new Set<string>([to]);
  await mkdir(to, { mode: FOLDER_MODE });
  let count = 0;
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || isTemporary(entry.name)) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(to, source.slice(from.length));
    const folder = dirname(target);
    if (!folders.has(folder)) await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    folders.add(folder);
    try {
      await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    } catch (error) {
      if (!isFileError(error, 'ENOENT')) throw error;
      continue;
    }
    await syncFile(target);
    count++;
  }
  for (const folder of folders) await syncFolder(folder);
  return count;
}

/** Reads the copy as a start would; how many records its checkpoints hold. */
async function check(target: string): Promise<number> {
  const ports = await openLocalPorts(target);
  try {
    const active = await ports.plans.active();
    const parsed = active === null ? null : parsePlan(JSON.parse(active.pipeline));
    const plan = parsed?.ok ? parsed.plan : null;
    const heads = (await ports.heads.listHeads()).map(parseHead);
    for (const head of heads) await checkSlice(head, plan, ports);
    return heads.reduce((sum, { recordCount }) => sum + recordCount, 0);
  } finally {
    ports.close();
  }
}

async function checkSlice(head: Head, plan: Plan | null, ports: LocalPorts): Promise<void> {
  const { sliceId, shardId, cursor, delivered, base, delta, planHash } = head;
  if (plan?.hash === planHash) await restore(plan, head, ports.blobs);
  else
    for (const blob of [base, delta]) if (blob !== null) await readBlob(ports.blobs, sliceId, blob);
  await proveDelivered(head, ports.source, ports.source);
  if (comparePositions(cursor, delivered) === 0) return;
  const read = await ports.source.readAfter(shardId, cursor, 1);
  if (read.outcome === 'records') return;
  throw new ReplayGapFault(`the stream no longer has what follows the checkpoint of ${sliceId}`);
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function empty(target: string, isNew: boolean): Promise<void> {
  if (isNew) return rm(target, { recursive: true, force: true });
  for (const name of await readdir(target)) {
    await rm(join(target, name), { recursive: true, force: true });
  }
}

function tookTooLong(): TransientFault {
  return new TransientFault('the backup took more than an hour: what it began with may be gone', {
    hint: 'write to a faster disk, and copy the folder from there',
  });
}
