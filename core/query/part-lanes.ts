/**
 * Which parts of one slice hold rows of a question, and which of them have to be read before the first row can be shown.
 *
 * Parts are ordered by (window, key), rows by (key, window): each window is a lane of its own, along which parts follow each other.
 * The manifest says where parts begin, so a window that none begins in is known only once the part is read that it lies in.
 *
 *   part      1          2       3         4
 *   begins    anywhere   w2,k    w2,p      w5,c
 *   lanes     w2: 1 2 3     w5: 3 4     3 is opaque: w3 and w4 may lie in it, as all before w2 in 1, and all after w5 in 4
 */

import type { OpenPart } from '../checkpoint/open-parts.ts';
import { hasBytes, type StoredPart } from '../checkpoint/overlay.ts';
import { compareBound } from '../state/entry-bound.ts';
import type { WindowAssigner } from '../time/window.ts';
import type { KeyRange } from './row-filter.ts';

/** The windows that a question wants of a slice. */
export interface WantedWindows {
  /** That begin in [fromMs, toMs); infinite bounds are open. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly assigner: WindowAssigner;
}

/** A window, and the parts that may have wanted keys of it, in order. */
export interface Lane {
  readonly windowStartMs: number;
  readonly parts: readonly StoredPart[];
}

export interface Lanes {
  /** Of windows that parts begin in. */
  readonly known: readonly Lane[];
  /** Parts that may hold other windows, each whole. */
  readonly opaque: readonly StoredPart[];
}

/** `ranges`: all parts of the view, in order. */
export function lanesOf(
  ranges: readonly OpenPart[],
  windows: WantedWindows,
  { from, to }: KeyRange,
): Lanes {
  const starts = new Set<number>();
  for (const part of ranges) {
    const startMs = part.from?.windowStartMs;
    if (startMs !== undefined && isWanted(windows, startMs)) starts.add(startMs);
  }
  const known = [...starts].map((windowStartMs): Lane => {
    const parts = ranges.filter((_, index) => {
      const next = ranges[index + 1]?.from ?? null;
      const first = ranges[index]?.from ?? null;
      const isBefore = next !== null && compareBound(next, windowStartMs, from ?? FIRST_KEY) <= 0;
      return !isBefore && !isBehind(first, windowStartMs, to);
    });
    return { windowStartMs, parts: parts.filter(hasBytes) };
  });
  const opaque = ranges.filter((part, index) => {
    const firstMs = part.from === null ? Number.NEGATIVE_INFINITY : part.from.windowStartMs;
    const lastMs = ranges[index + 1]?.from?.windowStartMs ?? Number.POSITIVE_INFINITY;
    return mayHaveBetween(windows, firstMs, lastMs);
  });
  return { known, opaque: opaque.filter(hasBytes) };
}

/** What has to be read before the first row: each once. */
export function firstParts({ known, opaque }: Lanes): StoredPart[] {
  return [...new Set([...opaque, ...known.flatMap(({ parts }) => parts.slice(0, 1))])];
}

/** All that may have a row: each once. */
export function allParts({ known, opaque }: Lanes): StoredPart[] {
  return [...new Set([...opaque, ...known.flatMap(({ parts }) => parts)])];
}

export function isWanted({ fromMs, toMs }: WantedWindows, windowStartMs: number): boolean {
  return windowStartMs >= fromMs && windowStartMs < toMs;
}

const FIRST_KEY = new Uint8Array();

/** True if a part that begins there has nothing of the window below the key `to`. */
function isBehind(from: OpenPart['from'], windowStartMs: number, to: Uint8Array | null): boolean {
  if (from === null) return false;
  return to === null
    ? from.windowStartMs > windowStartMs
    : compareBound(from, windowStartMs, to) >= 0;
}

/** Whether a wanted window may begin after the one of `firstMs`, and before `lastMs`. Windows tile time. */
function mayHaveBetween(
  { fromMs, toMs, assigner }: WantedWindows,
  firstMs: number,
  lastMs: number,
): boolean {
  const nextMs = firstMs === Number.NEGATIVE_INFINITY ? firstMs : assigner.endOf(firstMs);
  const leastMs = Math.max(nextMs, fromMs);
  return leastMs < lastMs && leastMs < toMs;
}
