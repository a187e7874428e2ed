/**
 * Whether a path still names the file that was opened: what is written to a file that was removed or replaced is found by no
 * later start, so it must be acknowledged to no one. The number of a file that a process has open goes to no other file.
 */
import { type BigIntStats, statSync } from 'node:fs';
import { LostStateFault } from '../../core/faults.ts';

export class FileIdentity {
  readonly path: string;
  readonly #device: bigint;
  readonly #inode: bigint;

  /** Null if nothing has this name. */
  static of(path: string): FileIdentity | null {
    const found = statOf(path);
    return found === undefined ? null : new FileIdentity(path, found);
  }

  private constructor(path: string, { dev, ino }: BigIntStats) {
    this.path = path;
    this.#device = dev;
    this.#inode = ino;
  }

  /** The number of the file in its file system, which a copy does not share. */
  get inode(): string {
    return String(this.#inode);
  }

  /** Throws `LostStateFault` if the path names nothing now, or another file. About 2 microseconds. */
  assertSame(): void {
    const found = statOf(this.path);
    if (found?.dev === this.#device && found.ino === this.#inode) return;
    const how = found === undefined ? 'was removed or renamed' : 'was replaced by another file';
    throw new LostStateFault(`${this.path} ${how} while it was in use`, {
      hint: 'put back what was there, or a backup, and start again: what was acknowledged before is in the file that was there; nothing was acknowledged since',
    });
  }
}

function statOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}
