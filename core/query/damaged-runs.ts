/**
 * Runs of closed windows that an answer lacks, since they are damaged or lost.
 */
export interface DamagedRun {
  readonly slice: string;
  /** The epoch that wrote it. */
  readonly epoch: number;
}

/** What one answer met of them: each once. */
export class DamagedRuns {
  readonly #runs = new Map<string, DamagedRun>();

  readonly note = (run: DamagedRun): void => {
    this.#runs.set(`${run.slice} ${run.epoch}`, run);
  };

  /** As answers have them: nothing where there are none. */
  told(): { damaged?: readonly DamagedRun[] } {
    return this.#runs.size === 0 ? {} : { damaged: [...this.#runs.values()] };
  }
}
