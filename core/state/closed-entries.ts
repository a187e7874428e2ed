/**
 * Closed entries in order, those of the same key and window merged into one: what a run holds, and what a reader shows.
 */
import { compareBytes } from '../bytes.ts';
import type { ViewPlan } from '../definition/plan.ts';
import { ordinalsOf, type WindowSource } from './state-change.ts';
import { ViewTable } from './view-table.ts';

/** One closed entry or late partial, as stored. Those of the same window and key are merged when read. */
export interface ClosedEntry {
  readonly windowStartMs: number;
  readonly key: Uint8Array;
  readonly accumulators: Uint8Array;
}

/** What V8 holds for a closed entry besides its bytes, about. */
const CLOSED_ENTRY_BYTES = 500;

/** Bytes of memory that an entry takes, about. */
export function closedBytesOf({ key, accumulators }: ClosedEntry): number {
  return key.length + accumulators.length + CLOSED_ENTRY_BYTES;
}

/** By key, then by window. */
export function compareClosedEntries(a: ClosedEntry, b: ClosedEntry): number {
  return compareBytes(a.key, b.key) || a.windowStartMs - b.windowStartMs;
}

/** The entries of one view in order, each (key, window) once. */
export function mergeClosedEntries(view: ViewPlan, entries: readonly ClosedEntry[]): ClosedEntry[] {
  const sorted = [...entries].sort(compareClosedEntries);
  const merged: ClosedEntry[] = [];
  let from = 0;
  while (from < sorted.length) {
    let to = from + 1;
    const first = sorted[from] as ClosedEntry;
    while (to < sorted.length && compareClosedEntries(first, sorted[to] as ClosedEntry) === 0) to++;
    merged.push(to - from === 1 ? first : mergePartials(view, sorted.slice(from, to)));
    from = to;
  }
  return merged;
}

/** One entry out of several partials of the same key and window. */
export function mergePartials(view: ViewPlan, partials: readonly ClosedEntry[]): ClosedEntry {
  const table = new ViewTable(view);
  const sum = table.insert(0, Uint8Array.of(0));
  const next = table.insert(0, Uint8Array.of(1));
  for (const { accumulators } of partials) {
    table.decode(next, accumulators);
    table.mergeFrom(sum, table, next);
  }
  return { ...(partials[0] as ClosedEntry), accumulators: table.encoded(sum) };
}

/** The entries of `windows` as they are stored. */
export function closedEntriesOf(windows: readonly WindowSource[]): ClosedEntry[] {
  const entries: ClosedEntry[] = [];
  for (const window of windows) {
    const { windowStartMs, table, keys } = window;
    for (const ordinal of ordinalsOf(window)) {
      const accumulators = table.encoded(keys.slotAt(ordinal));
      entries.push({ windowStartMs, key: keys.keyAt(ordinal).slice(), accumulators });
    }
  }
  return entries;
}
