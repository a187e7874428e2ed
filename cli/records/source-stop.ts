/**
 * Ends the reading of a source from outside: at a signal, or because what was read can go nowhere. What has been read whole
 * still comes; what is cut off by the stop does not.
 */
import { setTimeout } from 'node:timers/promises';

export class SourceStop {
  #isStopped = false;
  #failure: unknown = null;
  #waiting: {
    resolve: (done: IteratorReturnResult<undefined>) => void;
    reject: (error: unknown) => void;
  } | null = null;

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The source ends here, as if there were no more of it. */
  stop(): void {
    this.#isStopped = true;
    this.#waiting?.resolve(DONE);
  }

  /** The next read of the source fails with `error`, also one that waits now. */
  fail(error: unknown): void {
    this.#failure ??= error;
    this.#waiting?.reject(error);
  }

  /**
   * The chunks of `source` until it ends or is stopped. `isLive`: a program writes it now, and the signal that ends that
   * program comes here too, maybe after the end of what it wrote.
   */
  async *chunksOf(
    source: AsyncIterable<Uint8Array>,
    { isLive }: { readonly isLive: boolean },
  ): AsyncGenerator<Uint8Array> {
    const iterator = source[Symbol.asyncIterator]();
    let isInLine = false;
    try {
      for (;;) {
        const next = await this.#next(() => iterator.next());
        if (next.done) {
          if (isLive && isInLine) await this.#next(pause);
          return;
        }
        isInLine = next.value.at(-1) !== LINE_FEED;
        yield next.value;
      }
    } finally {
      // Not waited for: a read that is under way on stdin ends when it likes.
      void iterator.return?.().then(undefined, () => {});
    }
  }

  async #next(
    read: () => Promise<IteratorResult<Uint8Array>>,
  ): Promise<IteratorResult<Uint8Array>> {
    if (this.#failure !== null) throw this.#failure;
    if (this.#isStopped) return DONE;
    // Not `Promise.race`: of a promise that outlives all reads it would keep each.
    const next = new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
      this.#waiting = { resolve, reject };
      read().then(resolve, reject);
    });
    try {
      return await next;
    } finally {
      this.#waiting = null;
    }
  }
}

const LINE_FEED = 0x0a;
/** How long the end of a line that has no line feed waits for a signal. */
const SIGNAL_DELAY_MS = 50;

async function pause(): Promise<IteratorResult<Uint8Array>> {
  await setTimeout(SIGNAL_DELAY_MS);
  return DONE;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
