/**
 * What an answer lacks since it is damaged or lost: runs of closed windows, and parts of the open state.
 */
import type { EntryBound } from '../state/entry-bound.ts';

export interface DamagedRun {
  readonly slice: string;
  /** The epoch that wrote it. */
  readonly epoch: number;
}

/** The rows from one place in the order of (window, key) on, up to another; null: without a bound. */
export interface DamagedPart extends DamagedRun {
  readonly from: EntryBound | null;
  readonly to: EntryBound | null;
}

/** What one answer met of damaged runs: each once. */
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
