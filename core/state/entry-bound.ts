/**
 * A place in the order of a view's open entries: by window, then by key.
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
