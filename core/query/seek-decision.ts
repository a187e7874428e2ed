/**
 * Whether a question that a slice's warm image cannot answer seeks into the slice's parts, or restores all of them first.
 */

import { hasBytes, type StoredPart } from '../checkpoint/overlay.ts';
import type { PartCache, WantedPart } from '../checkpoint/part-cache.ts';
import type { Checkpoint } from '../checkpoint/restore.ts';
import { allParts, firstParts, lanesOf } from './part-lanes.ts';
import { partsOfView } from './part-sources.ts';
import { isRange, keyRanges } from './row-filter.ts';
import type { ViewRequest } from './view-request.ts';

export interface SeekFacts {
  /** The order of a value wants all rows, a few times over. */
  readonly isOrdered: boolean;
  /** Of all parts of the slice. */
  readonly partBytes: number;
  /** Of parts that have to be read for the question. */
  readonly wantedBytes: number;
  /** Of parts that questions before it had to read. */
  readonly readBytes: number;
}

/**
 *   ordered                                      restore
 *   wanted more than half of the parts           restore
 *   read and wanted together more than all       restore: had it been restored at once, that would have cost no more
 *   otherwise                                    seek
 */
export function decideSeek({ isOrdered, partBytes, wantedBytes, readBytes }: SeekFacts): boolean {
  return !isOrdered && wantedBytes * 2 <= partBytes && readBytes + wantedBytes <= partBytes;
}

/** How a question finds a slice. */
export function seekFacts(
  request: ViewRequest,
  sliceId: string,
  checkpoint: Checkpoint,
  cache: PartCache,
): SeekFacts {
  const wanted = new Set<StoredPart>();
  const { ranges, windows } = partsOfView(request, checkpoint);
  for (const range of keyRanges(request, request.next?.after.key ?? null)) {
    const lanes = lanesOf(ranges, windows, range);
    // Where keys are wanted that lie anywhere, a page may have to look through all of them.
    for (const part of isRange(request) ? firstParts(lanes) : allParts(lanes)) wanted.add(part);
  }
  const missing = [...wanted].filter((part) => !cache.has({ sliceId, part } satisfies WantedPart));
  return {
    isOrdered: request.order !== null,
    partBytes: bytesOf(checkpoint.parts.views.flat().filter(hasBytes)),
    wantedBytes: bytesOf(missing),
    readBytes: cache.readBytes(sliceId),
  };
}

function bytesOf(parts: readonly StoredPart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
}
