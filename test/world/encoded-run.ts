/**
 * A whole run out of entries that are there, by any order.
 */
import { RunEncoder } from '../../core/checkpoint/run-encoder.ts';
import type { LivingView } from '../../core/checkpoint/run-index.ts';
import { type ClosedEntry, compareClosedEntries } from '../../core/state/closed-entries.ts';

/** Entries of one view; those of the same key and window are merged. */
export interface RunView extends LivingView {
  readonly entries: readonly ClosedEntry[];
}

export interface EncodedRun {
  readonly bytes: Uint8Array;
  readonly indexOffset: number;
  readonly entryCount: number;
}

export function encodeRun(views: readonly RunView[], blockBytes?: number): EncodedRun {
  const encoder = new RunEncoder(views, blockBytes);
  for (const [index, { entries }] of views.entries()) {
    for (const entry of entries.toSorted(compareClosedEntries)) encoder.add(index, entry);
  }
  return encoder.finish();
}
