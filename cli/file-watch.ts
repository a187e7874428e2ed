/**
 * Looks whether files changed. By asking for their times now and then, since notifications miss what editors, containers
 * and network disks do; a change counts once it has rested, so that a file which is being written is not read half.
 */
import { realpathSync, statSync } from 'node:fs';

const INTERVAL_MS = 250;

type Signatures = ReadonlyMap<string, string>;

export class FileWatch {
  readonly #paths: () => readonly string[];
  readonly #onChange: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  /** Of the files as they were when they were read last. */
  #known: Signatures;
  #seen: Signatures;
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  /**
   * `paths` is asked again after each change. `known` is how the files were when they were read first (`signaturesOf`): what
   * changed since counts. Calls of `onChange`, which does not reject, do not overlap.
   */
  constructor(
    paths: () => readonly string[],
    onChange: () => Promise<void>,
    known: Signatures = signaturesOf(paths()),
  ) {
    this.#paths = paths;
    this.#onChange = onChange;
    this.#known = known;
    this.#seen = this.#known;
    this.#schedule();
  }

  /** Resolves when a running `onChange` is done. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#look().then(() => this.#schedule());
    }, INTERVAL_MS);
  }

  async #look(): Promise<void> {
    const before = this.#seen;
    const now = signaturesOf([...this.#known.keys()]);
    this.#seen = now;
    if (areEqual(now, this.#known) || !areEqual(now, before)) return;
    await this.#onChange();
    // What changed while it was read counts as changed; files that belong to it only now do not.
    this.#known = new Map(
      [...signaturesOf(this.#paths())].map(([path, signature]) => [
        path,
        now.get(path) ?? signature,
      ]),
    );
    this.#seen = this.#known;
  }
}

/** How the files are now: of each its path, and what changes when it does. */
export function signaturesOf(paths: readonly string[]): Signatures {
  return new Map(paths.map((path) => [path, signatureOf(path)]));
}

function signatureOf(path: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true });
    // A link that leads elsewhere is a change, even to a file that looks the same.
    return `${ino} ${size} ${mtimeNs} ${realpathSync(path)}`;
  } catch {
    // Missing or not readable: the code that reads the file says which.
    return '';
  }
}

function areEqual(a: Signatures, b: Signatures): boolean {
  return [...a].every(([path, signature]) => b.get(path) === signature);
}
