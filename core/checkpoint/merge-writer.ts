/**
 * Writing a merged delta: of the spans that end with the epoch that is being written the longest whose changes are known and fit.
 * The entries are written with their values now, so nothing is read.
 */
import { MERGED_BYTES_MAX } from '../limits.ts';
import type { RecentChange, RecentChanges } from '../state/recent-changes.ts';
import type { SliceState } from '../state/slice-state.ts';
import { type BlobStores, writeBlob } from './blobs.ts';
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

/** The link that was written; null: none was. */
export async function writeMerged(
  request: MergeRequest,
  stores: BlobStores,
): Promise<ChainLink | null> {
  const { sliceId, name, state, recent, entryBytes, chain } = request;
  const known = new Set(recent.beginnings);
  for (const after of request.afters) {
    // A merged delta has the name of the delta that it ends with.
    const link = chain.findLast(({ epoch }) => epoch === after);
    if (!known.has(after) || (link === undefined && after > 0)) continue;
    const before = link === undefined ? null : deltaOf(link);
    const change = recent.since(after, request.changed);
    if (bytesOf(change, entryBytes) > MERGED_BYTES_MAX) continue;
    const { tails } = change;
    const planHash = state.image.plan.hash;
    const header = { ...name, sliceId, planHash, before, tails };
    const bytes = encodeMergedDelta(header, state.encodeChanged(change.windows));
    const reference = await writeBlob(stores, sliceId, { ...name, kind: 'merged' }, bytes);
    return { ...reference, after };
  }
  return null;
}

function bytesOf({ windows, tails }: RecentChange, entryBytes: number): number {
  const entryCount = windows.reduce((sum, { ordinals }) => sum + ordinals.length, 0);
  return tails.reduce((sum, { bytes }) => sum + bytes.length, entryCount * entryBytes);
}
