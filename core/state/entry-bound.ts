/**
 * A place in the order of a view's entries: by window, then by key.
 */
import { compareBytes } from '../bytes.ts';

export interface EntryBound {
  readonly windowStartMs: number;
  readonly key: Uint8Array;
}

/** Below 0 if the bound comes before the entry, 0 if it is the entry's own place. */
export function compareBound(bound: EntryBound, windowStartMs: number, key: Uint8Array): number {
  return bound.windowStartMs - windowStartMs || compareBytes(bound.key, key);
}

/** The later of two bounds; null is before all. */
export function laterBound(a: EntryBound | null, b: EntryBound | null): EntryBound | null {
  if (a === null || b === null) return a ?? b;
  return compareBound(a, b.windowStartMs, b.key) < 0 ? b : a;
}
