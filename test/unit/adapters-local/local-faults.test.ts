import { readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import {
  isBusy,
  isFileError,
  localFault,
  withLocalFaults,
  withLocalFaultsAsync,
} from '../../../adapters/local/local-faults.ts';
import { HeldFault, InvariantFault } from '../../../core/faults.ts';

const PATH = '/data/checkpoint.db';

function fileError(code: string, syscall = 'write'): Error {
  return Object.assign(new Error(`${code}: it failed, ${syscall}`), { code, syscall, errno: -1 });
}

function sqliteError(errcode: number): Error {
  const details = { code: 'ERR_SQLITE_ERROR', errcode, errstr: 'it failed' };
  return Object.assign(new Error('it failed'), details);
}

describe('localFault', () => {
  it.each([
    ['ENOSPC', 'the disk is full'],
    ['EDQUOT', 'the disk is full'],
    ['EACCES', 'let this user read and write'],
    ['EROFS', 'let this user read and write'],
    ['EMFILE', 'short of memory or open files'],
    ['EIO', 'look at the system log'],
    ['EBUSY', 'held the file for too long'],
  ])('makes %s of the file system a TransientFault that says what to do', (code, hint) => {
    const cause = fileError(code);
    expect(localFault(PATH, 'write HEAD', cause)).toMatchObject({
      name: 'TransientFault',
      message: `cannot write HEAD: ${code}: it failed, write (${PATH})`,
      hint: expect.stringContaining(hint),
      cause,
    });
  });

  it.each([
    [5, 'TransientFault', 'held the file for too long'],
    [6, 'TransientFault', 'held the file for too long'],
    [8, 'TransientFault', 'let this user read and write'],
    [10, 'TransientFault', 'look at the system log'],
    [11, 'CorruptStateFault', 'damaged'],
    [13, 'TransientFault', 'the disk is full'],
    [14, 'TransientFault', 'let this user read and write'],
    [26, 'CorruptStateFault', 'damaged'],
    // Extended codes: BUSY_SNAPSHOT, IOERR_FSYNC, CORRUPT_INDEX.
    [517, 'TransientFault', 'held the file for too long'],
    [1034, 'TransientFault', 'look at the system log'],
    [779, 'CorruptStateFault', 'damaged'],
  ])('makes code %i of SQLite a %s that says what to do', (errcode, name, hint) => {
    expect(localFault(PATH, 'write HEAD', sqliteError(errcode))).toMatchObject({
      name,
      hint: expect.stringContaining(hint),
    });
  });

  it('tells a file system without hard links from one without permission', () => {
    for (const cause of [fileError('EPERM', 'link'), fileError('ENOTSUP', 'link')]) {
      expect(localFault(PATH, 'create', cause)).toMatchObject({
        name: 'TransientFault',
        hint: expect.stringContaining('no hard links'),
      });
    }
    expect(localFault(PATH, 'create', fileError('EPERM', 'open'))).toMatchObject({
      hint: expect.stringContaining('let this user'),
    });
  });

  it('says of any other error of SQLite or the file system what was to be done, and where', () => {
    for (const cause of [
      sqliteError(19),
      sqliteError(1),
      fileError('EXDEV'),
      fileError('ENOENT'),
    ]) {
      expect(localFault(PATH, 'write HEAD', cause)).toMatchObject({
        name: 'Error',
        message: `cannot write HEAD: ${cause.message} (${PATH})`,
        cause,
      });
    }
  });

  it('lets everything else pass as it is', () => {
    const others = [new InvariantFault('x'), new HeldFault('x'), new TypeError('x'), 'text', null];
    for (const error of others) expect(localFault(PATH, 'write', error)).toBe(error);
  });
});

describe('withLocalFaults', () => {
  it('maps what really comes from SQLite', () => {
    const database = new DatabaseSync(':memory:');
    database.exec('PRAGMA max_page_count = 2; CREATE TABLE t (b)');
    const fill = () => database.exec('INSERT INTO t VALUES (zeroblob(100000))');
    expect(() => withLocalFaults(PATH, 'fill', fill)).toThrow(
      expect.objectContaining({ name: 'TransientFault' }),
    );
    database.close();
  });

  it('maps what really comes from the file system', async () => {
    const read = () => readFile('/nothing/here');
    const failure = await withLocalFaultsAsync(PATH, 'read', read).catch((error) => error);
    expect(failure).toMatchObject({ name: 'Error', cause: { code: 'ENOENT' } });
    expect(isFileError(failure.cause, 'EEXIST', 'ENOENT')).toBe(true);
    expect(isFileError(failure.cause, 'EEXIST')).toBe(false);
  });

  it('gives back results', async () => {
    expect(withLocalFaults(PATH, 'count', () => 7)).toBe(7);
    expect(await withLocalFaultsAsync(PATH, 'count', async () => 8)).toBe(8);
  });
});

describe('isBusy', () => {
  it('knows a lock, extended codes too, and nothing else', () => {
    expect([5, 6, 261, 517].every((code) => isBusy(sqliteError(code)))).toBe(true);
    expect([1, 10, 13, 26].some((code) => isBusy(sqliteError(code)))).toBe(false);
    expect(isBusy(fileError('EBUSY'))).toBe(false);
    expect(isBusy(new Error('database is locked'))).toBe(false);
  });
});
