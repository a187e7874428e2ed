/**
 * A merged delta for the epoch that is being written: of the spans that end with it the longest whose changes are known and fit.
 * The entries are written with their values now, so nothing is read.
 */
import { MERGED_BYTES_MAX } from '../limits.ts';
import type { RecentChange, RecentChanges } from '../state/recent-changes.ts';
import type { SliceState } from '../state/slice-state.ts';
import type { ChainLink } from './chain.ts';
import { encodeMergedDelta } from './merged-delta.ts';
import { type BlobName, deltaOf } from './names.ts';

export interface MergeRequest {
  readonly sliceId: string;
  /** Of the delta that is being written. */
  readonly name: Omit<BlobName, 'kind'>;
  readonly state: SliceState;
  readonly recent: RecentChanges;
  /** What the delta that is being written changes. */
  readonly changed: RecentChange;
  /** Bytes that an entry takes in that delta, about. */
  readonly entryBytes: number;
  /** After which epochs a merged delta may begin, the longest first. */
  readonly afters: readonly number[];
  readonly chain: readonly ChainLink[];
}

/** What is to be written, and the epoch that it leads on from. */
export interface EncodedMerge {
  readonly after: number;
  readonly bytes: Uint8Array;
}

/** Null: nothing is merged. */
export function encodeMerge(request: MergeRequest): EncodedMerge | null {
  const { sliceId, name, state, recent, entryBytes, chain } = request;
  const known = new Set(recent.beginnings);
  for (const after of request.afters) {
    // A merged delta has the name of the delta that it ends with.
    const link = chain.findLast(({ epoch }) => epoch === after);
    if (!known.has(after) || (link === undefined && after > 0)) continue;
    const before = link === undefined ? null : deltaOf(link);
    const entriesMax = Math.floor(MERGED_BYTES_MAX / Math.max(1, entryBytes));
    const change = recent.since(after, request.changed, state.image, entriesMax);
    if (change === null || bytesOf(change, entryBytes) > MERGED_BYTES_MAX) continue;
    const { tails } = change;
    const planHash = state.image.plan.hash;
    const header = { ...name, sliceId, planHash, before, tails };
    return { after, bytes: encodeMergedDelta(header, state.encodeChanged(change.windows)) };
  }
  return null;
}

function bytesOf({ windows, tails }: RecentChange, entryBytes: number): number {
  const entryCount = windows.reduce((sum, { ordinals }) => sum + ordinals.length, 0);
  return tails.reduce((sum, { bytes }) => sum + bytes.length, entryCount * entryBytes);
}
