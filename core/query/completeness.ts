/**
 * Whether an answer is complete: nothing but late records and redrives can change it, and the first record of a shard that has
 * had none, which the answer names; whatever page of it is shown. So a question that has no `end` has no complete answer,
 * since windows go on opening, nor has a view without windows.
 */
import { windowSpan } from '../definition/kinds/window-kinds.ts';
import type { WindowAssigner } from '../time/window.ts';
import type { Snapshot } from './snapshots.ts';
import type { ViewRequest } from './view-request.ts';

/** Why an answer is not complete. */
export type IncompleteReason =
  /** The view has no windows: each further record changes it. */
  | 'no-windows'
  /** The question has no `end`. */
  | 'no-end'
  /** A window that begins before `end` may still get records that are not late. */
  | 'open-windows'
  /** Records of `after` are not in. */
  | 'not-reached'
  /** Windows that were asked for begin before an aggregate is whole. */
  | 'partial'
  /** Stored results cannot be read. */
  | 'damaged'
  /** A slice is being recovered or opened. */
  | 'recovering'
  /** A shard has records, or does not say whether it has, of which none is folded. */
  | 'waiting'
  /** The stream does not say which shards it has. */
  | 'not-listed';

export interface Evidence {
  readonly windows: WindowAssigner;
  /** By aggregate: windows that begin then or later are whole. */
  readonly wholeFromMs: readonly number[];
  readonly isReached: boolean;
  readonly isDamaged: boolean;
}

/** All that keeps an answer from being complete; none if it is. */
export function incompleteReasons(
  request: ViewRequest,
  snapshot: Snapshot,
  { windows, wholeFromMs, isReached, isDamaged }: Evidence,
): IncompleteReason[] {
  const isCovered = coversStart(request, windows, Math.max(...wholeFromMs));
  return [
    ...openReasons(request, windows, snapshot),
    ...(isReached ? [] : ['not-reached' as const]),
    ...(isCovered ? [] : ['partial' as const]),
    ...(isDamaged ? ['damaged' as const] : []),
    ...(snapshot.isOpen ? [] : ['recovering' as const]),
    ...(snapshot.waiting.length === 0 ? [] : ['waiting' as const]),
    ...(snapshot.isListed ? [] : ['not-listed' as const]),
  ];
}

/** Of a view with windows: windows that were asked for and begin before this time have closed; null if there is none. */
export function closedBefore(
  { startMs }: ViewRequest,
  windows: WindowAssigner,
  { watermarkMs }: Snapshot,
): number | null {
  if (watermarkMs === null) return null;
  const beforeMs = windows.startOf(watermarkMs);
  const isNone = startMs !== null && firstStart(startMs, windows) >= beforeMs;
  return isNone ? null : beforeMs;
}

function openReasons(
  { view, endMs }: ViewRequest,
  windows: WindowAssigner,
  { watermarkMs }: Snapshot,
): IncompleteReason[] {
  if (windowSpan(view.window) === null) return ['no-windows'];
  if (endMs === null) return ['no-end'];
  const lastEndMs = windows.endOf(windows.startOf(endMs - 1));
  return lastEndMs <= (watermarkMs ?? Number.NEGATIVE_INFINITY) ? [] : ['open-windows'];
}

/** Every slice has had the view with all of its aggregates since before the first window that is asked for. */
function coversStart(
  { view, startMs }: ViewRequest,
  windows: WindowAssigner,
  fromMs: number,
): boolean {
  if (fromMs === Number.NEGATIVE_INFINITY) return true;
  if (windowSpan(view.window) === null || startMs === null || fromMs === Number.POSITIVE_INFINITY) {
    return false;
  }
  return firstStart(startMs, windows) >= fromMs;
}

/** Where the first window begins that does not begin before an instant. */
function firstStart(timeMs: number, windows: WindowAssigner): number {
  const startMs = windows.startOf(timeMs);
  return startMs < timeMs ? windows.endOf(startMs) : startMs;
}
