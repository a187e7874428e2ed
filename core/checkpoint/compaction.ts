/**
 * Compaction: what a commit writes beside its delta, so that neither a restore nor a key's history has to read many objects.
 *
 *   a merged delta   each 8th epoch, of the 8 deltas up to it; each 64th, of 64; and so on
 *   a base           once the chain outweighs what it changes, or has grown long whatever was merged, or much is closing
 *   runs             closing entries and late partials become one, and enough of one level become one of the next
 */
import type { Knobs } from '../knobs.ts';
import { CHAIN_EPOCHS_MAX } from '../limits.ts';
import type { Manifest, RunReference } from './manifest.ts';

export interface ChainFacts {
  /** Of the links that are needed beside the newest base, with the delta that is about to be written. */
  readonly chainLength: number;
  readonly chainBytes: number;
  /** Of all parts together; 0 without a base. */
  readonly partBytes: number;
  /** Of closing entries, which are not in runs yet. */
  readonly closingBytes: number;
  /** Epochs that the chain leads over, with the one that is about to be written: a fallback may have to read the deltas of all. */
  readonly chainEpochs: number;
  /** This commit merges deltas: a base waits for the next one, so that no commit does both. */
  readonly merges: boolean;
  /** A person asked for a base. */
  readonly requested: boolean;
}

/** With `delta-and-drain` the base only drains closing entries: no part is written anew for it. */
export type CompactionDecision = 'delta' | 'delta-and-drain' | 'delta-and-base';

export function decideCompaction(facts: ChainFacts, knobs: Knobs): CompactionDecision {
  const { chainLength, chainBytes, partBytes, chainEpochs, closingBytes, requested } = facts;
  const isLong = chainLength >= knobs.chainLengthMax || chainEpochs >= CHAIN_EPOCHS_MAX;
  const isHeavy =
    chainBytes >= knobs.chainBytesMinToCompact && chainBytes >= partBytes * CHAIN_SHARE_MAX;
  if (requested) return 'delta-and-base';
  if (facts.merges) return 'delta';
  if (isLong || isHeavy) return 'delta-and-base';
  const isMuch = closingBytes > 0 && closingBytes >= drainBudget(closingBytes, knobs);
  return isMuch ? 'delta-and-drain' : 'delta';
}

/** Bytes of a chain for each byte of parts. */
const CHAIN_SHARE_MAX = 1 / 2;

/** How many bytes of closing entries a base drains: all are drained before as many commits as a chain may be long have closed as many again. */
export function drainBudget(closingBytes: number, knobs: Knobs): number {
  return Math.max(knobs.drainBytesMin, closingBytes / knobs.chainLengthMax);
}

/** How many bytes of parts a base writes anew, about: not more for a larger state, but for more that its delta changes: entries, late partials, ids. */
export function rewriteBudget(changedBytes: number, knobs: Knobs): number {
  return Math.max(knobs.partBytesMinToRewrite, REWRITTEN_SHARE * changedBytes);
}

/** For each byte that changes. More than 1, so that a round over all parts comes to its end. */
const REWRITTEN_SHARE = 3;

/**
 * The epochs after which a commit may merge all deltas, its own included; the longest span first. Nothing is merged where one base
 * writes all parts anew.
 */
export function mergesAt(
  epoch: number,
  partBytes: number,
  { mergeFanIn, partBytesMinToRewrite }: Knobs,
): number[] {
  const afters: number[] = [];
  if (partBytes <= partBytesMinToRewrite) return afters;
  for (let span = mergeFanIn; epoch % span === 0; span *= mergeFanIn) afters.unshift(epoch - span);
  return afters;
}

export interface RunFacts {
  readonly runs: readonly RunReference[];
  /** Of the run that a commit is about to write; null: a tick asks, and no run is being written. */
  readonly incomingBytes: number | null;
}

/** Runs that become one, and its level. */
export interface RunGroup {
  readonly absorbed: readonly RunReference[];
  readonly level: number;
}

export type RunMerge =
  | { readonly kind: 'none' }
  /** Into the run that the commit writes. */
  | ({ readonly kind: 'now' } & RunGroup)
  /** Outside a commit, by a tick; a later commit lists the result. */
  | ({ readonly kind: 'by-tick' } & RunGroup);

/**
 * `runFanIn` runs of one level become one of the next. What is small is merged by the commit whose run fills the level, and so on
 * upwards; the rest by ticks, the lowest level first. A level whose runs are more than `runBytesMaxToMerge` together stays as
 * it is, and history is read from all of them.
 */
export function decideRunMerge({ runs, incomingBytes }: RunFacts, knobs: Knobs): RunMerge {
  return incomingBytes === null ? byTick(runs, knobs) : inCommit(runs, incomingBytes, knobs);
}

function inCommit(runs: readonly RunReference[], incomingBytes: number, knobs: Knobs): RunMerge {
  const absorbed: RunReference[] = [];
  let bytes = incomingBytes;
  let level = 0;
  for (;;) {
    const peers = runs.filter((run) => run.level === level);
    bytes += bytesOf(peers);
    // The run that is being written counts as one of this level.
    const isFull = peers.length + 1 >= knobs.runFanIn;
    if (!isFull || bytes > knobs.runBytesMaxToMergeInCommit) break;
    absorbed.push(...peers);
    level++;
  }
  return absorbed.length === 0 ? { kind: 'none' } : { kind: 'now', absorbed, level };
}

function byTick(runs: readonly RunReference[], knobs: Knobs): RunMerge {
  const levels = [...new Set(runs.map(({ level }) => level))].sort((a, b) => a - b);
  for (const level of levels) {
    const oldest = runs.filter((run) => run.level === level).slice(0, knobs.runFanIn);
    const isFull = oldest.length === knobs.runFanIn;
    if (!isFull || bytesOf(oldest) > knobs.runBytesMaxToMerge) continue;
    return { kind: 'by-tick', absorbed: oldest, level: level + 1 };
  }
  return { kind: 'none' };
}

function bytesOf(runs: readonly RunReference[]): number {
  return runs.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Whether ticks have something to merge. */
export function awaitsMerge({ runs }: Pick<Manifest, 'runs'>, knobs: Knobs): boolean {
  return decideRunMerge({ runs, incomingBytes: null }, knobs).kind !== 'none';
}
