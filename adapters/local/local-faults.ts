/**
 * What errors of SQLite and of the file system mean to a caller: the only place that knows their codes.
 *
 * - What a person or time can mend (full disk, lock, permissions, a failing disk) is a `TransientFault`.
 * - Bytes that are not what was written are a `CorruptStateFault`.
 * - Any other error of either says what was to be done and where, and has the first one as its cause.
 * - Everything else, our own faults among it, passes as it is.
 */
import { unreachable } from '../../core/assert.ts';
import { CorruptStateFault, TransientFault } from '../../core/faults.ts';

/** Runs `action`, which should `what` with the file or folder at `path`. */
export function withLocalFaults<T>(path: string, what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw localFault(path, what, error);
  }
}

/** The same for an action that returns a promise. */
export async function withLocalFaultsAsync<T>(
  path: string,
  what: string,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw localFault(path, what, error);
  }
}

/** What to throw instead of `error`. */
export function localFault(path: string, what: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const cause = causeOf(error);
  if (cause === null) return error;
  const message = `cannot ${what}: ${error.message} (${path})`;
  switch (cause) {
    case 'damaged':
      return new CorruptStateFault(message, { cause: error, hint: hintFor(cause, path) });
    case 'unknown':
      return new Error(message, { cause: error });
    case 'disk-full':
    case 'locked':
    case 'no-access':
    case 'no-hard-links':
    case 'exhausted':
    case 'disk-error':
      return new TransientFault(message, { cause: error, hint: hintFor(cause, path) });
    default:
      return unreachable(cause);
  }
}

/** True for an error of the file system with one of `codes`, such as `ENOENT`. */
export function isFileError(error: unknown, ...codes: string[]): boolean {
  const code = fileErrorCode(error);
  return code !== null && codes.includes(code);
}

/** True if SQLite threw because another connection holds the file. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== null && SQLITE_CAUSES.get(code) === 'locked';
}

type Cause =
  | 'disk-full'
  | 'locked'
  | 'no-access'
  | 'no-hard-links'
  | 'exhausted'
  | 'disk-error'
  | 'damaged'
  | 'unknown';

/** By SQLite's primary result code. */
const SQLITE_CAUSES = new Map<number, Cause>([
  [3, 'no-access'], // PERM
  [5, 'locked'], // BUSY
  [6, 'locked'], // LOCKED
  [8, 'no-access'], // READONLY
  [10, 'disk-error'], // IOERR
  [11, 'damaged'], // CORRUPT
  [13, 'disk-full'], // FULL
  [14, 'no-access'], // CANTOPEN
  [23, 'no-access'], // AUTH
  [26, 'damaged'], // NOTADB
]);

const FILE_CAUSES = new Map<string, Cause>([
  ['ENOSPC', 'disk-full'],
  ['EDQUOT', 'disk-full'],
  ['EACCES', 'no-access'],
  ['EPERM', 'no-access'],
  ['EROFS', 'no-access'],
  ['ENOTSUP', 'no-hard-links'],
  ['EOPNOTSUPP', 'no-hard-links'],
  ['EMLINK', 'no-hard-links'],
  ['EMFILE', 'exhausted'],
  ['ENFILE', 'exhausted'],
  ['ENOMEM', 'exhausted'],
  ['EAGAIN', 'exhausted'],
  ['EBUSY', 'locked'],
  ['EIO', 'disk-error'],
  ['ESTALE', 'disk-error'],
  ['ETIMEDOUT', 'disk-error'],
]);

/** Null if the error is neither SQLite's nor the file system's. */
function causeOf(error: Error): Cause | null {
  const sqlite = sqliteCode(error);
  if (sqlite !== null) return SQLITE_CAUSES.get(sqlite) ?? 'unknown';
  const code = fileErrorCode(error);
  if (code === null) return null;
  // Linux answers EPERM to a hard link on a file system that has none.
  const isLink = 'syscall' in error && error.syscall === 'link';
  return isLink && code === 'EPERM' ? 'no-hard-links' : (FILE_CAUSES.get(code) ?? 'unknown');
}

/** The low byte of an extended code is the primary one. */
function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : null;
}

function fileErrorCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

function hintFor(cause: Exclude<Cause, 'unknown'>, path: string): string {
  switch (cause) {
    case 'disk-full':
      return 'the disk is full: free space on it, then try again; nothing that was saved is lost';
    case 'locked':
      return 'another process or thread held the file for too long: stop it, or try again';
    case 'no-access':
      return `let this user read and write ${path} and its folder`;
    case 'no-hard-links':
      return 'the file system has no hard links: use a data folder on a local disk';
    case 'exhausted':
      return 'the machine is short of memory or open files: raise the limit, or try again';
    case 'disk-error':
      return 'the disk did not read or write: look at the system log, then try again';
    case 'damaged':
      return `the file is damaged, or not SQLite's: put back a copy of ${path}, or use another data folder`;
    default:
      return unreachable(cause);
  }
}
