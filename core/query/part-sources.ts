/**
 * The sources of rows that lie in parts: of slices whose image is an overlay. A question reads what it shows, and before that one
 * part of each window that it wants.
 */
import { assert } from '../assert.ts';
import { MissingBlob } from '../checkpoint/blobs.ts';
import type { BlobReference } from '../checkpoint/names.ts';
import type { OpenPart } from '../checkpoint/open-parts.ts';
import type { StoredPart } from '../checkpoint/overlay.ts';
import type { PartCache, WantedPart } from '../checkpoint/part-cache.ts';
import type { Checkpoint } from '../checkpoint/restore.ts';
import { windowSpan } from '../definition/kinds/window-kinds.ts';
import { type StoredLayout, storedLayout } from '../state/column-layout.ts';
import type { PartIndex } from '../state/part-index.ts';
import type { StoredView, ViewLife } from '../state/view-life.ts';
import type { ViewTable } from '../state/view-table.ts';
import type { WindowAssigner } from '../time/window.ts';
import type { DamagedPart } from './damaged-runs.ts';
import type { Pace } from './pace.ts';
import { PartCursor, type PartReading } from './part-cursor.ts';
import { firstParts, isWanted, type Lane, lanesOf, type WantedWindows } from './part-lanes.ts';
import type { RowBefore, RowCursor } from './row-cursor.ts';
import type { KeyRange } from './row-filter.ts';
import type { ViewRequest } from './view-request.ts';

/** What parts a slice has of a view, and which windows are wanted of it. */
export interface PartsOfView {
  readonly ranges: readonly OpenPart[];
  readonly windows: WantedWindows;
}

export function partsOfView(
  { view, viewIndex, startMs, endMs }: ViewRequest,
  { image, parts }: Checkpoint,
): PartsOfView {
  const assigner = image.windows[viewIndex] as WindowAssigner;
  const ranges = parts.views[viewIndex] as readonly OpenPart[];
  // What comes before the first range is in runs. A view without windows has the one that begins at 0.
  const isAllTime = windowSpan(view.window) === null;
  const beginMs = ranges[0]?.from?.windowStartMs ?? (isAllTime ? 0 : Number.NEGATIVE_INFINITY);
  return {
    ranges,
    windows: {
      fromMs: Math.max(beginMs, startMs ?? Number.NEGATIVE_INFINITY),
      toMs: endMs ?? Number.POSITIVE_INFINITY,
      assigner,
    },
  };
}

export interface PartsReading {
  readonly cache: PartCache;
  /** Of a pack that is not there: false if it may have been collected, so that the caller takes a newer snapshot. */
  readonly isLost: (sliceId: string, pack: BlobReference) => boolean;
  readonly onDamage: (part: DamagedPart) => void;
  readonly pace: Pace;
}

interface PartSource extends PartsOfView {
  readonly sliceId: string;
  readonly table: ViewTable;
  readonly life: ViewLife;
}

export class PartSources {
  readonly #sources: readonly PartSource[];
  readonly #reading: PartsReading;
  readonly #layouts = new Map<StoredView, StoredLayout>();
  readonly #unreadable = new Set<StoredPart>();

  /** `slices`: those whose image is an overlay. */
  constructor(
    request: ViewRequest,
    slices: readonly { readonly sliceId: string; readonly checkpoint: Checkpoint }[],
    reading: PartsReading,
  ) {
    this.#reading = reading;
    this.#sources = slices.flatMap(({ sliceId, checkpoint }): PartSource[] => {
      const { image } = checkpoint;
      const life = image.lives[request.viewIndex] ?? null;
      const table = image.tables[request.viewIndex] as ViewTable;
      if (life === null) return [];
      return [{ sliceId, table, life, ...partsOfView(request, checkpoint) }];
    });
  }

  /** A source for each window, with keys in a range, behind a row; each that has one stands at its first. */
  async cursors(range: KeyRange, before: RowBefore | null): Promise<RowCursor[]> {
    const planned = this.#sources.map((source) => {
      return { source, lanes: lanesOf(source.ranges, source.windows, range) };
    });
    const wanted = planned.flatMap(({ source, lanes }) => {
      return firstParts(lanes).map((part) => ({ source, part }));
    });
    const first = await this.#open(wanted);
    const cursors = planned.flatMap(({ source, lanes }) => {
      const hidden = lanes.opaque.flatMap((part) => hiddenLanes(source, part, first.get(part)));
      return [...lanes.known, ...hidden].map((lane) => {
        return new PartCursor(lane, range, before, this.#readingOf(source, lane, first));
      });
    });
    const found = await Promise.all(cursors.map((cursor) => cursor.load()));
    return cursors.filter((_, index) => found[index]);
  }

  #readingOf(
    source: PartSource,
    { windowStartMs }: Lane,
    first: ReadonlyMap<StoredPart, PartIndex>,
  ): PartReading {
    return {
      overlay: source.table.window(windowStartMs),
      own: (part, accumulators) => this.#layoutOf(source, part).own(accumulators),
      open: async (part) => {
        if (this.#unreadable.has(part)) return null;
        const known = first.get(part) ?? (await this.#open([{ source, part }])).get(part);
        return known ?? null;
      },
    };
  }

  /** Those that can be read; the others are noted. */
  async #open(
    wanted: readonly { readonly source: PartSource; readonly part: StoredPart }[],
  ): Promise<Map<StoredPart, PartIndex>> {
    const { cache, pace } = this.#reading;
    const parts = wanted.filter(({ part }) => !this.#unreadable.has(part));
    const found = await cache.find(
      parts.map(({ source, part }): WantedPart => ({ sliceId: source.sliceId, part })),
    );
    await pace.pause();
    const open = new Map<StoredPart, PartIndex>();
    for (const { source, part } of parts) {
      const outcome = found.get(part);
      assert(outcome !== undefined, 'a-wanted-part-is-found-or-damaged');
      if (outcome instanceof Error) this.#note(source, part, outcome);
      else open.set(part, outcome);
    }
    return open;
  }

  #note({ sliceId, ranges }: PartSource, part: StoredPart, fault: Error): void {
    const { isLost, onDamage } = this.#reading;
    const { pack } = part.bytes;
    if (fault instanceof MissingBlob && !isLost(sliceId, pack)) throw fault;
    this.#unreadable.add(part);
    const to = ranges[ranges.indexOf(part) + 1]?.from ?? null;
    onDamage({ slice: sliceId, epoch: pack.epoch, from: part.from, to });
  }

  #layoutOf({ table, life }: PartSource, { stored }: StoredPart): StoredLayout {
    const layout = this.#layouts.get(stored) ?? storedLayout(stored, table.view, life);
    this.#layouts.set(stored, layout);
    return layout;
  }
}

/** Of windows that no part begins in, and this one has. */
function hiddenLanes(
  { ranges, windows }: PartSource,
  part: StoredPart,
  index: PartIndex | undefined,
): Lane[] {
  const afterMs = part.from?.windowStartMs ?? Number.NEGATIVE_INFINITY;
  const beforeMs =
    ranges[ranges.indexOf(part) + 1]?.from?.windowStartMs ?? Number.POSITIVE_INFINITY;
  const hidden = (index?.windows ?? []).filter(({ startMs }) => {
    return startMs > afterMs && startMs < beforeMs && isWanted(windows, startMs);
  });
  return hidden.map(({ startMs }) => ({ windowStartMs: startMs, parts: [part] }));
}
