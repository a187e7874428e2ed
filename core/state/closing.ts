/**
 * Closing entries on their way into runs: those of windows that the committed watermark has passed, in the order in which the
 * windows ended, and in each by key. Nothing leaves the image here: it does once the run that has them is committed.
 */
import { ByteWriter } from '../bytes.ts';
import type { WindowAssigner } from '../time/window.ts';
import type { ClosedEntry } from './closed-entries.ts';
import type { EntryBound } from './entry-bound.ts';
import type { FirstKeys } from './key-ranges.ts';
import type { SliceImage } from './slice-image.ts';
import type { ViewTable } from './view-table.ts';

/** What a base takes out of the state, into its run. */
export interface Drain {
  /** By index of the image's views. */
  readonly entries: readonly (readonly ClosedEntry[])[];
  /** The drained bound of each view from then on. */
  readonly bounds: readonly (EntryBound | null)[];
}

interface ClosingWindow {
  readonly view: number;
  readonly table: ViewTable;
  readonly startMs: number;
  readonly endMs: number;
}

/** Those that the drained bounds do not lie behind, the one that ended first first. */
function closingWindows(image: SliceImage): ClosingWindow[] {
  const windows = image.tables.flatMap((table, view) => {
    const starts = table.windowStarts();
    // Those that are closing come first.
    const openAt = starts.findIndex((startMs) => !image.isClosing(view, startMs));
    return starts.slice(0, openAt < 0 ? starts.length : openAt).map((startMs): ClosingWindow => {
      const endMs = (image.windows[view] as WindowAssigner).endOf(startMs);
      return { view, table, startMs, endMs };
    });
  });
  return windows.sort((a, b) => a.endMs - b.endMs);
}

/** What an entry takes in a run besides its key and accumulators, about. */
const ENTRY_BYTES = 10;
const SAMPLES = 8;

/** Bytes that all closing entries take in runs, about. */
export function closingBytes(image: SliceImage): number {
  let bytes = 0;
  const writer = new ByteWriter();
  for (const { view, table, startMs } of closingWindows(image)) {
    const keys = table.window(startMs);
    const isCut = image.drained.get(view)?.windowStartMs === startMs;
    const count = keys.size - (isCut ? image.drained.leftCount(view) : 0);
    const sampleCount = Math.min(SAMPLES, keys.size);
    writer.clear();
    for (let sample = 0; sample < sampleCount; sample++) {
      table.encode(keys.slotAt(Math.floor((sample * keys.size) / sampleCount)), writer);
    }
    const keyBytes = keys.endOf(keys.size - 1) / keys.size;
    bytes += count * (keyBytes + writer.length / sampleCount + ENTRY_BYTES);
  }
  return bytes;
}

/** Closing entries of about so many bytes: one at least, if there is one and the budget is not 0. */
export function drainClosing(image: SliceImage, budgetBytes: number): Drain {
  const entries: ClosedEntry[][] = image.views.map(() => []);
  const bounds = image.views.map((_, view) => image.drained.get(view));
  let left = budgetBytes;
  for (const { view, table, startMs, endMs } of closingWindows(image)) {
    if (left <= 0) break;
    const keys = table.window(startMs);
    const bound = bounds[view] ?? null;
    const from = bound?.windowStartMs === startMs ? bound.key : FIRST_KEY;
    const drained = entries[view] as ClosedEntry[];
    const end: EntryBound = { windowStartMs: endMs, key: FIRST_KEY };
    let next: EntryBound | null = { windowStartMs: startMs, key: from };
    while (next !== null && left > 0) {
      const { ordinals, to }: FirstKeys = table.firstKeys(startMs, next.key, countFor(left));
      next = to === null ? null : { windowStartMs: startMs, key: to };
      for (const ordinal of ordinals) {
        const key = keys.keyAt(ordinal).slice();
        if (left <= 0) {
          next = { windowStartMs: startMs, key };
          break;
        }
        const accumulators = table.encoded(keys.slotAt(ordinal));
        drained.push({ windowStartMs: startMs, key, accumulators });
        left -= key.length + accumulators.length + ENTRY_BYTES;
      }
    }
    bounds[view] = next ?? end;
  }
  return { entries, bounds };
}

const FIRST_KEY = new Uint8Array();
/** Keys that are asked for at a time. */
const KEYS_MAX = 16_384;

/** So many entries hardly ever take more. */
function countFor(bytes: number): number {
  return Math.min(KEYS_MAX, Math.ceil(bytes / (2 * ENTRY_BYTES)));
}
