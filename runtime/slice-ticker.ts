/**
 * Ticks: every shard's slice is asked now and then to do what is due although no record comes. One tick of a shard at a
 * time; a shard that is slow holds up none of the others.
 */
export interface SliceTickerOptions {
  readonly shardIds: readonly string[];
  readonly intervalMs: number;
  readonly tick: (shardId: string) => Promise<unknown>;
  /** A tick failed: the next one tries again. */
  readonly onFailure: (shardId: string, error: unknown) => void;
}

export class SliceTicker {
  readonly #options: SliceTickerOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: SliceTickerOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tickIdle(), options.intervalMs);
    this.#timer.unref();
  }

  /** A tick of each shard that begins after this call. */
  async tickAll(): Promise<void> {
    await Promise.all(this.#running.values());
    this.#tickIdle();
    await Promise.all(this.#running.values());
  }

  /** Starts no more ticks and waits for the running ones. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#running.values());
  }

  #tickIdle(): void {
    for (const shardId of this.#options.shardIds) {
      if (this.#running.has(shardId)) continue;
      this.#running.set(shardId, this.#tick(shardId));
    }
  }

  async #tick(shardId: string): Promise<void> {
    const { tick, onFailure } = this.#options;
    try {
      await tick(shardId);
    } catch (error) {
      onFailure(shardId, error);
    } finally {
      this.#running.delete(shardId);
    }
  }
}
