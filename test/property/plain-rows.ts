/**
 * The rows of a view by merging all that is selected into one table, and then sorting it: what readers did before they merged
 * sorted sources. The oracle of view-rows.test.ts.
 */
import { compareBytes } from '../../core/bytes.ts';
import { selectsKey, selectsWindow } from '../../core/query/row-filter.ts';
import type { RunReading, SlicePart } from '../../core/query/row-sources.ts';
import type { RowPosition } from '../../core/query/snapshot-token.ts';
import type { RowOrder, ViewRequest } from '../../core/query/view-request.ts';
import type { ViewRow } from '../../core/query/view-row.ts';
import { compareBound } from '../../core/state/entry-bound.ts';
import { decodeGroupKey } from '../../core/state/group-key.ts';
import { ViewTable } from '../../core/state/view-table.ts';

/** All rows that the request selects, in its order, whatever its `limit` and `next`. */
export async function plainRows(
  request: ViewRequest,
  parts: readonly SlicePart[],
  { runs }: RunReading,
): Promise<ViewRow[]> {
  const { view, viewIndex, order } = request;
  const merged = new ViewTable(view);
  const scratch = new ViewTable(view);
  const other = scratch.insert(0, new Uint8Array());
  const merge = (windowStartMs: number, key: Uint8Array, from: ViewTable, fromSlot: number) => {
    if (!selectsWindow(request, windowStartMs) || !selectsKey(request, key)) return;
    const slot = merged.find(windowStartMs, key);
    if (slot >= 0) merged.mergeFrom(slot, from, fromSlot);
    else merged.copyFrom(merged.insert(windowStartMs, key), from, fromSlot);
  };
  for (const { pinned, checkpoint } of parts) {
    const { image, manifest } = checkpoint;
    const table = image.tables[viewIndex] as ViewTable;
    const drained = image.drained.get(viewIndex);
    for (const startMs of table.windowStarts()) {
      const window = table.window(startMs);
      for (let ordinal = 0; ordinal < window.size; ordinal++) {
        const key = window.keyAt(ordinal);
        if (drained !== null && compareBound(drained, startMs, key) > 0) continue;
        merge(startMs, key, table, window.slotAt(ordinal));
      }
    }
    const closed = [...(image.late[viewIndex] ?? [])];
    const life = image.lives[viewIndex];
    if (life === undefined || life === null) throw new Error('a view without a life');
    for (const run of manifest.runs) {
      closed.push(...(await runs.reader(pinned.sliceId, run).entries({ view, life })));
    }
    for (const { windowStartMs, key, accumulators } of closed) {
      scratch.decode(other, accumulators);
      merge(windowStartMs, key, scratch, other);
    }
  }
  const rows = merged.windowStarts().flatMap((windowStartMs) => {
    const window = merged.window(windowStartMs);
    return Array.from({ length: window.size }, (_, ordinal): ViewRow => {
      const key = window.keyAt(ordinal).slice();
      const slot = window.slotAt(ordinal);
      const value = order === null ? null : orderValue(merged, slot, order);
      const results = merged.results(slot);
      return { values: decodeGroupKey(key), results, position: { value, key, windowStartMs } };
    });
  });
  return rows.sort((a, b) => comparePositions(order, a.position, b.position));
}

function orderValue(table: ViewTable, slot: number, { aggregate, rank }: RowOrder): number | null {
  const { value } = table.result(slot, aggregate);
  if (value === null || typeof value === 'number') return value;
  return rank === null ? null : (value[rank] ?? null);
}

/** By value, groups without one last, whichever way it goes; then by key and window. */
function comparePositions(order: RowOrder | null, a: RowPosition, b: RowPosition): number {
  if (a.value === b.value) return compareBytes(a.key, b.key) || a.windowStartMs - b.windowStartMs;
  if (a.value === null) return 1;
  if (b.value === null) return -1;
  return a.value < b.value === order?.descending ? 1 : -1;
}
