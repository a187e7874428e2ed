/**
 * Which slices a pipeline has, whose records they are, and what each is to a question and to a round of ticks: the one place
 * where that is decided. Slices are those with a HEAD; a shard that the stream lists without one counts as a slice that has
 * folded nothing.
 *
 *   slice             its shard                          →
 *   SEALED            any                                its children have what it had: it holds no watermark, and is not ticked
 *   has folded some   any                                holds the watermark
 *   has folded none   never had a record, or is gone     exempt: it holds no window open
 *   has folded none   has records, or does not say now   waiting: no watermark is known
 *
 * Where the stream does not list its shards, one without a slice may hold records: no watermark is known either.
 */
import type { SourceRead } from '../ports.ts';

/** `OPEN` takes records. The others are for recovery and for splits and merges of slices. */
export type SliceStatus = 'OPEN' | 'RECOVERING' | 'OPENING' | 'SEALED';

/** A shard and its slice share their number. */
export function sliceIdOf(shardId: string): string {
  return shardId.replace(/^shardId-/, 'slice-');
}

/** Of a slice that has no HEAD, which would say it. */
export function shardIdOf(sliceId: string): string {
  return sliceId.replace(/^slice-/, 'shardId-');
}

/** It takes records, or will: nothing has taken its place. */
export function isLive({ status }: { readonly status: SliceStatus }): boolean {
  return status !== 'SEALED';
}

/** What it answers is all that it has been brought: no recovery or opening still has to bring more. */
export function isSettled({ status }: { readonly status: SliceStatus }): boolean {
  return status === 'OPEN' || status === 'SEALED';
}

/** The owner that fenced it has not brought it up to what was delivered yet. */
export function isRecovering({ status }: { readonly status: SliceStatus }): boolean {
  return status === 'RECOVERING';
}

/** What a shard holds of which nothing is folded. */
export type ShardContent = 'records' | 'none' | 'unknown';

export interface UnfoldedShard {
  readonly shardId: string;
  /** A slice stands for it, which begins at the shard's first record. */
  readonly hasSlice: boolean;
}

/** The shards of which nothing is folded. `listed`: what the stream lists; null if it does not say. */
export function unfoldedShards(
  slices: readonly { readonly shardId: string; readonly recordCount: number }[],
  listed: readonly string[] | null,
): UnfoldedShard[] {
  const known = new Set(slices.map(({ shardId }) => shardId));
  const unopened = (listed ?? []).filter((shardId) => !known.has(shardId));
  const idle = slices.filter(({ recordCount }) => recordCount === 0);
  return [
    ...idle.map(({ shardId }) => ({ shardId, hasSlice: true })),
    ...unopened.map((shardId) => ({ shardId, hasSlice: false })),
  ];
}

/** What the read of a shard's first record says of it. */
export function contentOf(first: SourceRead, hasSlice: boolean): ShardContent {
  switch (first.outcome) {
    case 'gone':
      // The shard closed without a record so long ago that the stream no longer has it.
      return 'none';
    case 'trimmed':
      // Of a shard without a slice there is no mark that a record was there: what is gone was never the pipeline's.
      return hasSlice || first.oldest !== null ? 'unknown' : 'none';
    case 'records':
      if (first.records.length > 0) return 'records';
      return first.reachedTip ? 'none' : 'unknown';
  }
}

/** Records of the shard may be before all that is folded: they are to be waited for. */
export function isWaitedFor(content: ShardContent): boolean {
  return content !== 'none';
}

export interface SliceFacts {
  readonly sliceId: string;
  readonly status: SliceStatus;
  /** −Infinity: none. */
  readonly watermarkMs: number;
  /** Records that it has folded, whatever became of them. */
  readonly recordCount: number;
  /** Where that is 0: see `isWaitedFor`. */
  readonly waits: boolean;
}

/** What is known of a shard that no slice stands for. */
export const NOTHING_FOLDED = {
  status: 'OPEN',
  watermarkMs: Number.NEGATIVE_INFINITY,
  recordCount: 0,
} as const;

/** How the slices of a pipeline stand together; ids are in the order of the facts. */
export interface SlicesStanding {
  /** The lowest of the live slices that had a record; null if none had, or if what no slice has folded yet may be before it. */
  readonly watermarkMs: number | null;
  /** Slices whose shards never had a record. */
  readonly exempt: readonly string[];
  /** Slices that have folded nothing, although their shards have records or do not say. */
  readonly waiting: readonly string[];
  /** No slice is being recovered or opened. */
  readonly isOpen: boolean;
}

/** `isListed`: the stream said which shards it has, and the facts hold a slice for each. */
export function standingOf(slices: readonly SliceFacts[], isListed: boolean): SlicesStanding {
  const idle = slices.filter(({ recordCount }) => recordCount === 0);
  const idsOf = (isWaiting: boolean) =>
    idle.filter(({ waits }) => waits === isWaiting).map(({ sliceId }) => sliceId);
  const waiting = idsOf(true);
  const isKnown = isListed && waiting.length === 0;
  return {
    watermarkMs: isKnown ? lowestWatermark(slices) : null,
    exempt: idsOf(false),
    waiting,
    isOpen: slices.every(isSettled),
  };
}

function lowestWatermark(slices: readonly SliceFacts[]): number | null {
  let lowestMs: number | null = null;
  for (const slice of slices) {
    const { watermarkMs } = slice;
    if (!isLive(slice) || watermarkMs === Number.NEGATIVE_INFINITY) continue;
    lowestMs = Math.min(lowestMs ?? watermarkMs, watermarkMs);
  }
  return lowestMs;
}

export interface ListedShard {
  readonly shardId: string;
  /** It takes records. */
  readonly isOpen: boolean;
}

/** Shards whose slices' owners are to do what is due: those that take records, and those of live slices. In order. */
export function shardsToTick(
  slices: readonly { readonly shardId: string; readonly status: SliceStatus }[],
  listed: readonly ListedShard[] | null,
): string[] {
  const open = (listed ?? []).filter(({ isOpen }) => isOpen);
  return [...new Set([...open, ...slices.filter(isLive)].map(({ shardId }) => shardId))].sort();
}

/** Live slices for which records may wait: not in a shard that the stream no longer has. */
export function slicesWithShard<
  T extends { readonly shardId: string; readonly status: SliceStatus },
>(slices: readonly T[], listed: readonly ListedShard[] | null): T[] {
  const live = slices.filter(isLive);
  if (listed === null) return live;
  const known = new Set(listed.map(({ shardId }) => shardId));
  return live.filter(({ shardId }) => known.has(shardId));
}
