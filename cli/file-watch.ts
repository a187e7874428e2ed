/**
 * Looks whether files changed. By asking for their times now and then, since notifications miss what editors, containers
 * and network disks do; a change counts once it has rested, so that a file which is being written is not read half.
 */
import { realpathSync, statSync } from 'node:fs';

const INTERVAL_MS = 250;

type Signatures = ReadonlyMap<string, string>;

export class FileWatch {
  readonly #paths: () => readonly string[];
  readonly #onChange: (signal: AbortSignal) => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  /** Of the files as they were when they were read last. */
  #known: Signatures;
  #seen: Signatures;
  /** Of the `onChange` that runs. */
  #running: AbortController | null = null;

  /**
   * `paths` is asked at each look. `known` is how the files were when they were read first (`signaturesOf`): what changed
   * since counts. `onChange`, which does not reject, is called at each change, also while an earlier call runs: the signal
   * of that one is aborted then.
   */
  constructor(
    paths: () => readonly string[],
    onChange: (signal: AbortSignal) => Promise<void>,
    known: Signatures = signaturesOf(paths()),
  ) {
    this.#paths = paths;
    this.#onChange = onChange;
    this.#known = known;
    this.#seen = this.#known;
    this.#timer = setInterval(() => this.#look(), INTERVAL_MS);
  }

  /** From now on `onChange` is not called; the signal of one that runs is aborted. */
  stop(): void {
    clearInterval(this.#timer);
    this.#running?.abort();
  }

  #look(): void {
    const paths = this.#paths();
    // What a call that runs has not come to yet may belong still.
    const kept = this.#running === null ? [] : [...this.#known.keys()];
    const before = this.#seen;
    const now = signaturesOf([...new Set([...kept, ...paths])]);
    // Files that belong only since the last look have not changed by that.
    this.#known = new Map([...now].map(([path, own]) => [path, this.#known.get(path) ?? own]));
    this.#seen = now;
    if (areEqual(now, this.#known) || !areEqual(now, before)) return;
    // What changes while it is read counts as changed.
    this.#known = now;
    void this.#change();
  }

  async #change(): Promise<void> {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    await this.#onChange(running.signal);
    if (this.#running === running) this.#running = null;
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
