/**
 * Ticks: every shard's slice is asked now and then to do what is due although no record comes. One tick of a shard at a
 * time; a shard that is slow holds up none of the others. Work that one left is gone on with soon, when batches that came
 * meanwhile had their turn.
 */
const PAUSE_MS = 20;

export interface SliceTickerOptions {
  readonly shardIds: readonly string[];
  readonly intervalMs: number;
  /** Resolves to true if it left work that the next tick can do at once. */
  readonly tick: (shardId: string) => Promise<unknown>;
  /** A tick failed: the next one tries again. */
  readonly onFailure: (shardId: string, error: unknown) => void;
}

export class SliceTicker {
  readonly #options: SliceTickerOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #running = new Map<string, Promise<void>>();
  #isStopped = false;

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
    this.#isStopped = true;
    await Promise.all(this.#running.values());
  }

  #tickIdle(): void {
    for (const shardId of this.#options.shardIds) this.#begin(shardId);
  }

  #begin(shardId: string): void {
    if (this.#isStopped || this.#running.has(shardId)) return;
    this.#running.set(shardId, this.#tick(shardId));
  }

  async #tick(shardId: string): Promise<void> {
    const { tick, onFailure } = this.#options;
    try {
      if ((await tick(shardId)) === true) setTimeout(() => this.#begin(shardId), PAUSE_MS).unref();
    } catch (error) {
      onFailure(shardId, error);
    } finally {
      this.#running.delete(shardId);
    }
  }
}
