/**
 * Compaction: when a chain has grown long or heavy, or much is closing, one commit writes a base beside the delta. Closing
 * entries and late partials become a run, and enough runs of one level become one of the next, so that neither a restore nor a
 * key's history has to read many objects.
 */
import type { Knobs } from '../knobs.ts';
import type { Manifest, RunReference } from './manifest.ts';

export interface ChainFacts {
  /** Of the deltas that are needed beside the newest base, with the one that is about to be written. */
  readonly chainLength: number;
  readonly chainBytes: number;
  /** Of all parts together; 0 without a base. */
  readonly partBytes: number;
  /** Of closing entries, which are not in runs yet. */
  readonly closingBytes: number;
  /** A person asked for a base. */
  readonly requested: boolean;
}

/** With `delta-and-drain` the base only drains closing entries: no part is written anew for it. */
export type CompactionDecision = 'delta' | 'delta-and-drain' | 'delta-and-base';

export function decideCompaction(facts: ChainFacts, knobs: Knobs): CompactionDecision {
  if (facts.requested || facts.chainLength >= knobs.chainLengthMax) return 'delta-and-base';
  const heavy =
    facts.chainBytes >= knobs.chainBytesMinToCompact && facts.chainBytes >= facts.partBytes;
  if (heavy) return 'delta-and-base';
  const { closingBytes } = facts;
  const isMuch = closingBytes > 0 && closingBytes >= drainBudget(closingBytes, knobs);
  return isMuch ? 'delta-and-drain' : 'delta';
}

/** How many bytes of closing entries a base drains: all are drained before as many commits as a chain may be long have closed as many again. */
export function drainBudget(closingBytes: number, knobs: Knobs): number {
  return Math.max(knobs.drainBytesMin, closingBytes / knobs.chainLengthMax);
}

/** The runs that the next compaction merges with its own new one, and the level of the result. */
export interface RunMerge {
  readonly absorbed: readonly RunReference[];
  readonly level: number;
}

/**
 * Merges a level once it would hold `runFanIn` runs, and so on upwards. A merge holds its runs in memory: one of more than
 * `runBytesMaxToMerge` together is left undone, and the history is read from more runs.
 */
export function decideRunMerge({ runs }: Pick<Manifest, 'runs'>, knobs: Knobs): RunMerge {
  const absorbed: RunReference[] = [];
  let absorbedBytes = 0;
  let level = 0;
  for (;;) {
    const peers = runs.filter((run) => run.level === level);
    // The run that is being written counts as one of this level.
    if (peers.length + 1 < knobs.runFanIn) return { absorbed, level };
    absorbedBytes += peers.reduce((sum, run) => sum + run.byteLength, 0);
    if (absorbedBytes > knobs.runBytesMaxToMerge) return { absorbed, level };
    for (const run of peers) absorbed.push(run);
    level++;
  }
}
