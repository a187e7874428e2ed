/**
 * Watches over the names in a data folder while a process holds it: the folder and what lies in it must stay what was opened.
 * Each append and each call of the checkpoint store looks for itself; this looks for a process that is quiet, and at the
 * lock, whose file another process would make again.
 */
import { FileIdentity } from './file-identity.ts';

const INTERVAL_MS = 500;

export class FolderWatch {
  readonly #identities = new Map<string, FileIdentity>();
  readonly #paths: readonly string[];
  readonly #onLost: (error: unknown) => void;
  #timer: NodeJS.Timeout | null = null;

  /** `onLost` is called once, at the first path that is not what it was. A path that is not there yet may come. */
  constructor(paths: readonly string[], onLost: (error: unknown) => void) {
    this.#paths = paths;
    this.#onLost = onLost;
    this.#look();
    this.#timer = setInterval(() => this.#lookAgain(), INTERVAL_MS);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #lookAgain(): void {
    try {
      this.#look();
    } catch (error) {
      this.stop();
      this.#onLost(error);
    }
  }

  #look(): void {
    for (const path of this.#paths) {
      const known = this.#identities.get(path);
      if (known !== undefined) {
        known.assertSame();
        continue;
      }
      const identity = FileIdentity.of(path);
      if (identity !== null) this.#identities.set(path, identity);
    }
  }
}
