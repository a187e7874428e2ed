/**
 * Heartbeats: where a pipeline says how long a shard may be silent, one goes into each shard now and then, so that time
 * passes in shards that no record comes to.
 */
import type { LocalStream } from '../adapters/local/stream/local-stream.ts';
import { heartbeatFor } from '../core/state/heartbeat.ts';

const INTERVAL_MS_MIN = 100;
const INTERVAL_MS_MAX = 30_000;

export class Heartbeats {
  readonly #stream: LocalStream;
  readonly #onFailure: (error: unknown) => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(stream: LocalStream, onFailure: (error: unknown) => void) {
    this.#stream = stream;
    this.#onFailure = onFailure;
  }

  /**
   * As often as a plan's `idleMs` needs it; null: none. The first comes after an interval: producers that waited for this
   * process have that long to send what they kept.
   */
  follow(idleMs: number | null): void {
    this.stop();
    if (idleMs === null) return;
    this.#timer = setInterval(() => this.#beat(), heartbeatIntervalMs(idleMs));
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #beat(): void {
    try {
      this.#stream.append(this.#stream.shards().map(({ range }) => heartbeatFor(range)));
    } catch (error) {
      this.#onFailure(error);
    }
  }
}

export function heartbeatIntervalMs(idleMs: number): number {
  return Math.max(INTERVAL_MS_MIN, Math.min(idleMs / 2, INTERVAL_MS_MAX));
}
