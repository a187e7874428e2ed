/**
 * The data folder of one pipeline on one machine: who may use it, and whose it is.
 *
 *   format.json     format version, pipeline              stream.db       the stream
 *   lock.db         held for the life of the process      checkpoint.db   HEADs, active plan, small blobs, quarantine
 *   owner.json      who holds the lock                    objects/        large blobs
 *
 * - One process at a time: the lock is the operating system's, on an empty SQLite file, and goes with the process however it
 *   ends. Nothing may open that file in any other way: closing it would drop the lock. Since the file may be deleted and made
 *   again, `stream.db` must also be open in no other process: its owner has it open for as long as it lives.
 * - `format.json` is the first that is written, atomically: a folder without it holds nothing yet.
 */
import { constants } from 'node:fs';
import { access, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CorruptStateFault } from '../../core/faults.ts';
import { requireFormat } from '../../core/format-version.ts';
import { refuseTornCopy } from './commit-number.ts';
import { createFolder, isTemporary, replaceFile } from './durable-files.ts';
import { isBusy, isFileError, localFault, withLocalFaultsAsync } from './local-faults.ts';
import { leaveHome, refuseTornStream } from './stream/stream-home.ts';

/** Version of the folder's layout. A folder of another one is refused. */
const FORMAT_VERSION = 3;
const FORMAT_FILE = 'format.json';
const LOCK_FILE = 'lock.db';
const OWNER_FILE = 'owner.json';
const STREAM_FILE = 'stream.db';
const CHECKPOINT_FILE = 'checkpoint.db';
/** A process that was killed a moment ago may still hold the lock. */
const LOCK_TIMEOUT_MS = 500;

export type DataFolderProblem =
  | 'in-use'
  | 'other-pipeline'
  | 'not-a-folder'
  | 'not-a-data-folder'
  | 'no-access';

/** The folder cannot be used, and a person must choose another or change it. `hint` says how. */
export class DataFolderError extends Error {
  readonly problem: DataFolderProblem;
  readonly hint: string;

  constructor(problem: DataFolderProblem, message: string, hint: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'DataFolderError';
    this.problem = problem;
    this.hint = hint;
  }
}

export interface DataFolderRequest {
  readonly path: string;
  readonly pipelineName: string;
}

/** A folder that this process holds, until `close`. */
export class DataFolder {
  /** Absolute. */
  readonly path: string;
  /** True if this call made it. */
  readonly isNew: boolean;
  readonly #lock: DatabaseSync;

  /** Use `openDataFolder`. */
  constructor(path: string, isNew: boolean, lock: DatabaseSync) {
    this.path = path;
    this.isNew = isNew;
    this.#lock = lock;
  }

  get streamPath(): string {
    return join(this.path, STREAM_FILE);
  }

  get checkpointPath(): string {
    return join(this.path, CHECKPOINT_FILE);
  }

  get objectsPath(): string {
    return join(this.path, 'objects');
  }

  /** What must stay where it is for as long as the folder is held. */
  get paths(): readonly string[] {
    const { path, streamPath, checkpointPath, objectsPath } = this;
    const others = [LOCK_FILE, FORMAT_FILE].map((name) => join(path, name));
    return [path, ...others, streamPath, `${streamPath}-wal`, checkpointPath, objectsPath];
  }

  /** Lets others have the folder. Close all that is in it before. */
  async close(): Promise<void> {
    if (!held.has(this.#lock)) return;
    // Another process may have made a folder of this name meanwhile.
    if ((await readOwner(this.path)) === process.pid) {
      await rm(join(this.path, OWNER_FILE), { force: true });
    }
    release(this.#lock);
  }
}

/**
 * Opens the data folder for this process alone, and makes it if it is missing. Throws `DataFolderError`, `NewerFormatFault`,
 * `OlderFormatFault`, `CorruptStateFault` for a damaged `format.json`, `TransientFault` for a full disk.
 */
export async function openDataFolder(request: DataFolderRequest): Promise<DataFolder> {
  const path = resolve(request.path);
  return withLocalFaultsAsync(path, 'open the data folder', async () => {
    await makeFolder(path);
    const lock = await acquire(path);
    try {
      refuseTornCopies(path);
      await refuseOpenElsewhere(path);
      const pipeline = await readPipelineName(path);
      if (pipeline === null) await writeFormat(path, request);
      else refuseOtherPipeline(path, pipeline, request);
      await removeTemporaries(path);
      await writeFile(join(path, OWNER_FILE), `${JSON.stringify({ pid: process.pid })}\n`);
      return new DataFolder(path, pipeline === null, lock);
    } catch (error) {
      release(lock);
      throw error;
    }
  });
}

/**
 * Throws `CorruptStateFault` if a database of the folder is a copy that was made while it was in use, of several moments. To be
 * called before anything opens one of them.
 */
export function refuseTornCopies(path: string): void {
  refuseTornStream(join(path, STREAM_FILE));
  refuseTornCopy(join(path, CHECKPOINT_FILE));
}

async function makeFolder(path: string): Promise<void> {
  try {
    await createFolder(path);
    if (!(await stat(path)).isDirectory()) throw notAFolder(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (isFileError(error, 'ENOTDIR', 'EEXIST')) throw notAFolder(path, error);
    throw withoutAccess(path, error);
  }
  const entries = await readdir(path);
  if (entries.includes(FORMAT_FILE)) return;
  if (entries.includes(STREAM_FILE)) {
    throw new DataFolderError(
      'not-a-data-folder',
      `data folder ${path} has ${STREAM_FILE}, but its ${FORMAT_FILE} is gone`,
      `its records are still there: put back ${FORMAT_FILE} with {"format": ${FORMAT_VERSION}, "pipeline": "NAME"}, NAME being the pipeline's`,
    );
  }
  const foreign = entries.find((name) => !mayPrecedeFormat(name));
  if (foreign === undefined) return;
  throw new DataFolderError(
    'not-a-data-folder',
    `${path} is no data folder of Tidemark: it has ${foreign}, but no ${FORMAT_FILE}`,
    'use an empty folder, or one that does not exist yet',
  );
}

/** What a crash leaves before `format.json` is there, and what an empty disk has. */
function mayPrecedeFormat(name: string): boolean {
  return name === LOCK_FILE || name === 'lost+found' || isTemporary(name);
}

/** Connections that hold a lock: one without a reference would be closed, and its lock dropped, by the garbage collector. */
const held = new Set<DatabaseSync>();

async function acquire(path: string): Promise<DatabaseSync> {
  const lockPath = join(path, LOCK_FILE);
  let lock: DatabaseSync | null = null;
  try {
    lock = new DatabaseSync(lockPath, { timeout: LOCK_TIMEOUT_MS });
    // Nothing is ever written to it: a journal would only be one more file.
    lock.exec('PRAGMA journal_mode = MEMORY');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    if (!isBusy(error)) throw localFault(lockPath, 'lock the data folder', error);
    throw await inUse(path, error);
  }
  held.add(lock);
  return lock;
}

/** The lock's file may have been deleted under the process that holds it: that process still has the stream open. */
async function refuseOpenElsewhere(path: string): Promise<void> {
  const streamPath = join(path, STREAM_FILE);
  if (!(await readdir(path)).includes(STREAM_FILE)) return;
  const stream = new DatabaseSync(streamPath, { timeout: LOCK_TIMEOUT_MS });
  try {
    stream.exec('PRAGMA locking_mode = EXCLUSIVE');
    stream.prepare('SELECT count(*) FROM sqlite_schema').get();
    // A process that was killed has not left it, and a start that is refused does not settle it.
    leaveHome(stream);
  } catch (error) {
    // Anything else that is wrong with it is named by those who open it to use it.
    if (isBusy(error)) throw await inUse(path, error);
  } finally {
    stream.close();
  }
}

async function inUse(path: string, cause: unknown): Promise<DataFolderError> {
  const pid = await readOwner(path);
  const owner = pid === null ? 'another process' : `another process (pid ${pid})`;
  return new DataFolderError(
    'in-use',
    `data folder ${path} is in use by ${owner}`,
    'stop that process (a shell of SQLite on stream.db is one too), or give this one a data folder of its own',
    cause,
  );
}

function release(lock: DatabaseSync): void {
  if (held.delete(lock)) lock.close();
}

async function readOwner(path: string): Promise<number | null> {
  try {
    const { pid } = JSON.parse(await readFile(join(path, OWNER_FILE), 'utf8'));
    return typeof pid === 'number' ? pid : null;
  } catch {
    // It only makes the message better: the owner may be writing it now, or another user's.
    return null;
  }
}

/** Of `format.json`; null if the folder has none. */
async function readPipelineName(path: string): Promise<string | null> {
  let text: string;
  try {
    text = await readFile(join(path, FORMAT_FILE), 'utf8');
  } catch (error) {
    if (isFileError(error, 'ENOENT')) return null;
    throw withoutAccess(join(path, FORMAT_FILE), error);
  }
  const { format, pipeline } = parseObject(path, text);
  if (typeof format !== 'number') throw damaged(path, 'it has no format version');
  requireFormat(`data folder ${path}`, format, FORMAT_VERSION);
  if (typeof pipeline !== 'string') throw damaged(path, 'it does not name a pipeline');
  return pipeline;
}

function parseObject(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw damaged(path, (error as Error).message);
  }
  if (typeof value !== 'object' || value === null) throw damaged(path, 'it is no JSON object');
  return value as Record<string, unknown>;
}

async function writeFormat(path: string, request: DataFolderRequest): Promise<void> {
  const format = { format: FORMAT_VERSION, pipeline: request.pipelineName };
  await replaceFile(join(path, FORMAT_FILE), `${JSON.stringify(format, null, 2)}\n`);
}

function refuseOtherPipeline(path: string, pipeline: string, request: DataFolderRequest): void {
  if (pipeline === request.pipelineName) return;
  throw new DataFolderError(
    'other-pipeline',
    `data folder ${path} holds the pipeline "${pipeline}", not "${request.pipelineName}"`,
    'use another data folder for this pipeline, or run the pipeline that the folder holds',
  );
}

/** This process holds the lock: no other process writes them now. */
async function removeTemporaries(path: string): Promise<void> {
  for (const name of await readdir(path)) {
    if (isTemporary(name)) await rm(join(path, name), { force: true });
  }
}

function notAFolder(path: string, cause?: unknown): DataFolderError {
  return new DataFolderError(
    'not-a-folder',
    `data folder ${path} cannot be: it, or what it should lie in, is a file`,
    'name a folder, or a path where one can be made',
    cause,
  );
}

/** Permissions are a person's matter; any other error passes. */
function withoutAccess(path: string, error: unknown): unknown {
  if (!isFileError(error, 'EACCES', 'EPERM', 'EROFS')) return error;
  return new DataFolderError(
    'no-access',
    `${path} cannot be read and written: ${(error as Error).message}`,
    'give this user the right to read and write there, or use another data folder',
    error,
  );
}

function damaged(path: string, how: string): CorruptStateFault {
  return new CorruptStateFault(`${join(path, FORMAT_FILE)} is damaged: ${how}`, {
    hint: 'put back a copy of it, or use another data folder',
  });
}
