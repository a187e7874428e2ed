/**
 * The clocks of a simulation: the true time, which the stream has, and what each process takes for it. A process's clock is off
 * by a little from its start, and is set by more while it runs, alone or with all others.
 */
import type { VirtualTime } from './virtual-time.ts';

/** When a simulation begins, in truth. */
export const EPOCH_MS = 1_760_000_000_000;

export class Clocks {
  readonly #time: VirtualTime;
  /** By process. */
  readonly #skewMs = new Map<string, number>();
  #commonSkewMs = 0;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  readonly trueMs = (): number => EPOCH_MS + this.#time.nowMs;

  /** What a process takes for the time whose own clock is right. */
  readonly commonMs = (): number => this.trueMs() + this.#commonSkewMs;

  /** The clock of a process that begins. */
  begin(actor: string, skewMs: number): () => number {
    this.#skewMs.set(actor, skewMs);
    return () => this.commonMs() + (this.#skewMs.get(actor) ?? 0);
  }

  /** Sets the clock of a process; null: of all, those too that begin later. */
  set(actor: string | null, byMs: number): void {
    if (actor === null) this.#commonSkewMs += byMs;
    else this.#skewMs.set(actor, (this.#skewMs.get(actor) ?? 0) + byMs);
  }
}
