/**
 * How a long read gives way: between portions of entries it pauses, so that the environment's other events come through
 * and a read whose caller has gone ends.
 */
export interface Pace {
  /** Resolves when the read may go on; rejects where no caller waits for its answer any more. */
  pause(): Promise<void>;
}

/** Entries that a read visits between two pauses: a few milliseconds of work. */
export const ENTRIES_BETWEEN_PAUSES = 4_096;

/** For environments in which nothing else waits. */
export const NO_PAUSES: Pace = { pause: async () => {} };
