/**
 * The rows of a view at one snapshot: what each slice holds of a group is a partial, and readers always merge. Open entries
 * come from the images, and from parts where an image is an overlay; closed ones from the images too (those that no run holds) and
 * from runs.
 *
 * All sources are sorted by key and window, and merged as they are read. In that order a page is a search in each source and
 * what it shows. In the order of a value all rows pass by, and those that may be shown are kept: memory does not grow with the
 * number of rows.
 */
import type { DamagedPart, DamagedRun } from './damaged-runs.ts';
import { FoldedRow } from './folded-row.ts';
import { rowsByValue, windowsApart } from './ordered-rows.ts';
import { RowSources, type RunReading, type SlicePart } from './row-sources.ts';
import type { ViewRequest } from './view-request.ts';
import { type FirstRows, type ViewRow, viewRow } from './view-row.ts';

export interface RowPage extends FirstRows {
  /** Runs and parts that could not be read. */
  readonly damaged: readonly (DamagedRun | DamagedPart)[];
}

/** The first `limit` rows, after those that `next` has had. */
export async function readRows(
  request: ViewRequest,
  parts: readonly SlicePart[],
  reading: RunReading,
): Promise<RowPage> {
  const { order } = request;
  const apart = order === null ? new Map() : windowsApart(request, parts);
  const sources = await RowSources.of(request, parts, reading, apart);
  try {
    const first =
      order === null
        ? await rowsByKey(request, sources)
        : await rowsByValue(request, order, sources, apart);
    return { ...first, damaged: sources.damaged.sort((a, b) => a.epoch - b.epoch) };
  } finally {
    await sources.close();
  }
}

async function rowsByKey(request: ViewRequest, sources: RowSources): Promise<FirstRows> {
  const { view, limit, next } = request;
  const folded = new FoldedRow(view);
  const rows: ViewRow[] = [];
  let hasMore = false;
  await sources.eachRow(next?.after ?? null, (row) => {
    hasMore = rows.length === limit;
    if (hasMore) return false;
    folded.fold(row.parts);
    rows.push(viewRow(null, row, folded.table.results(folded.slot)));
    return true;
  });
  return { rows, hasMore };
}
