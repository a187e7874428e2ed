/**
 * What one invocation did, for logs and metrics.
 */

/** What one invocation did. */
export interface DeliveryReport {
  /** Records of the batch that this invocation folded; the others were in the state already. */
  folded: number;
  /** Records that were read from the stream again to catch up with `delivered`. */
  replayed: number;
  /** Times that the state was built from base and chain. */
  restored: number;
  /** Epochs completed. */
  commits: number;
  /** Writes of HEAD that another owner was faster with. */
  refused: number;
  /** Bytes of the deltas, bases and runs that were written. */
  savedBytes: number;
  /** Entries that these deltas hold, as they were changed. */
  savedEntries: number;
  /**
   * Milliseconds that those epochs took, by the injected clock: to encode and write them, and to write HEAD. In a replay records were
   * folded meanwhile, so that it says nothing of the stores.
   */
  writeMs: number;
  headMs: number;
  /** Records that those epochs put into quarantine, and that every view dropped as late. */
  quarantined: number;
  late: number;
  /** Sequence numbers between which records may have expired before they were brought; null if nothing speaks for it. */
  possibleGap: { readonly after: string; readonly before: string } | null;
  /** The epoch that the slice went back to, since its newest was damaged or a change of plan was taken back. */
  rewoundTo: number | null;
  /** Stored parts of the open state that cannot be read any more: answers say which rows are missing. */
  lostParts: number;
  epoch: number;
  /** Of the recovery that this invocation began or went on with: the next event of it names it. Null if it did neither. */
  generation: number | null;
  /** A tick or a recovery left work that the next one can do at once. */
  isUnfinished: boolean;
}

/** `lost`: HEAD moved, and the invocation begins again. */
export type Step = 'done' | 'lost';

const NOTHING = {
  possibleGap: null,
  rewoundTo: null,
  lostParts: 0,
  epoch: 0,
  generation: null,
  isUnfinished: false,
};

export function newReport(): DeliveryReport {
  const counts = { folded: 0, replayed: 0, restored: 0, commits: 0, refused: 0 };
  const saved = { savedBytes: 0, savedEntries: 0, writeMs: 0, headMs: 0 };
  return { ...counts, ...saved, quarantined: 0, late: 0, ...NOTHING };
}
