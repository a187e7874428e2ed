/**
 * The first rows of a view in the order of a value. All rows pass by; those that may be shown are kept, with what is needed to
 * show them.
 *
 * Windows that no slice has closed stand apart: no run and no closed entry has any of them, so they are read where they are, in
 * whatever order, and only keys that several slices have are merged. All else comes by key from the merged sources.
 */
import type { AggregatePlan } from '../definition/plan.ts';
import type { WindowEntries } from '../state/key-table.ts';
import { SharedKeys } from '../state/shared-keys.ts';
import type { ViewTable } from '../state/view-table.ts';
import { FoldedRow } from './folded-row.ts';
import { ENTRIES_BETWEEN_PAUSES, type Pace } from './pace.ts';
import { type RowKey, rowKeyOf } from './row-cursor.ts';
import { selectsEveryKey, selectsWindow } from './row-filter.ts';
import { RowHeap, type ValuedRow } from './row-heap.ts';
import { paced } from './row-indexes.ts';
import type { RowPart } from './row-merge.ts';
import type { RowSources, SlicePart } from './row-sources.ts';
import type { RowOrder, ViewRequest } from './view-request.ts';
import { type FirstRows, viewRow } from './view-row.ts';

/** The tables that have each of the windows, by start. */
export type WindowsApart = ReadonlyMap<number, readonly ViewTable[]>;

/** Selected windows that no slice has closed; none where keys are selected, which an index finds, or parts have to be read. */
export function windowsApart(request: ViewRequest, parts: readonly SlicePart[]): WindowsApart {
  const { viewIndex } = request;
  const apart = new Map<number, ViewTable[]>();
  if (!selectsEveryKey(request) || parts.some(({ checkpoint }) => checkpoint.image.isOverlay))
    return apart;
  const images = parts.map(({ checkpoint }) => checkpoint.image);
  const closedMs = Math.max(...images.map(({ progress }) => progress.watermarkMs));
  for (const { tables, windows } of images) {
    const table = tables[viewIndex] as ViewTable;
    for (const startMs of table.windowStarts()) {
      if (!selectsWindow(request, startMs)) continue;
      if ((windows[viewIndex] as (typeof windows)[number]).endOf(startMs) <= closedMs) continue;
      const known = apart.get(startMs);
      if (known === undefined) apart.set(startMs, [table]);
      else known.push(table);
    }
  }
  return apart;
}

export async function rowsByValue(
  request: ViewRequest,
  order: RowOrder,
  sources: RowSources,
  apart: WindowsApart,
): Promise<FirstRows> {
  const top = new TopRows(request, order);
  for (const [startMs, tables] of apart) await top.takeWindow(startMs, tables, sources.pace);
  await sources.eachRow(null, (row) => {
    top.take(row, row.parts);
    return true;
  });
  return top.rows();
}

/** A row that may be among the first: its part is as it was, or merged. */
interface Candidate extends ValuedRow {
  readonly part: RowPart;
}

class TopRows {
  readonly #limit: number;
  readonly #order: RowOrder;
  /** That the value is read from. */
  readonly #column: number;
  readonly #heap: RowHeap<Candidate>;
  readonly #folded: FoldedRow;
  /** The last row of the page before. */
  readonly #before: ValuedRow | null;

  constructor({ view, limit, next }: ViewRequest, order: RowOrder) {
    this.#limit = limit;
    this.#order = order;
    this.#column = (view.aggregates[order.aggregate] as AggregatePlan).column;
    this.#heap = new RowHeap(limit + 1, order.descending);
    this.#folded = new FoldedRow(view);
    this.#before = next === null ? null : { value: next.after.value, row: rowKeyOf(next.after) };
  }

  /** A row with all of its parts. */
  take(key: RowKey, parts: readonly RowPart[]): void {
    this.#folded.fold(parts, this.#column);
    const value = orderValue(this.#folded.table, this.#folded.slot, this.#order);
    if (this.#heap.mayTake(value)) this.#offer(value, key, parts);
  }

  /** The rows of a window that no more tables have. */
  async takeWindow(startMs: number, tables: readonly ViewTable[], pace: Pace): Promise<void> {
    const windows = tables.map((table) => table.window(startMs));
    const parts: RowPart[] = [];
    const finding = SharedKeys.of(windows, (entries) => {
      parts.length = 0;
      for (let index = 0; index < entries.count; index++) {
        const table = entries.tables[index] as number;
        const slot = (windows[table] as WindowEntries).slotAt(entries.ordinals[index] as number);
        parts.push({ table: tables[table] as ViewTable, slot, accumulators: null });
      }
      const keys = windows[entries.tables[0] as number] as WindowEntries;
      this.take(entryKey(keys, entries.ordinals[0] as number, startMs), parts);
    });
    const shared = await paced(finding, pace);
    for (const [index, table] of tables.entries()) {
      const keys = windows[index] as WindowEntries;
      for (let from = 0; from < keys.size; from += ENTRIES_BETWEEN_PAUSES) {
        const to = Math.min(keys.size, from + ENTRIES_BETWEEN_PAUSES);
        for (let ordinal = from; ordinal < to; ordinal++) {
          if (shared.has(index, ordinal)) continue;
          const slot = keys.slotAt(ordinal);
          const value = orderValue(table, slot, this.#order);
          if (!this.#heap.mayTake(value)) continue;
          this.take(entryKey(keys, ordinal, startMs), [{ table, slot, accumulators: null }]);
        }
        await pace.pause();
      }
    }
  }

  rows(): FirstRows {
    const candidates = this.#heap.inOrder();
    const rows = candidates.slice(0, this.#limit).map(({ value, row, part }) => {
      this.#folded.fold([part]);
      return viewRow(value, row, this.#folded.table.results(this.#folded.slot));
    });
    return { rows, hasMore: candidates.length > this.#limit };
  }

  #offer(value: number | null, key: RowKey, parts: readonly RowPart[]): void {
    const { bytes, start, end, windowStartMs } = key;
    const offered = { value, row: key };
    if (this.#before !== null && this.#heap.compare(offered, this.#before) <= 0) return;
    if (!this.#heap.takes(offered)) return;
    this.#folded.fold(parts);
    const row = rowKeyOf({ key: bytes.slice(start, end), windowStartMs });
    this.#heap.add({ value, row, part: this.#folded.kept() });
  }
}

function entryKey(keys: WindowEntries, ordinal: number, windowStartMs: number): RowKey {
  return {
    bytes: keys.arena,
    start: keys.startOf(ordinal),
    end: keys.endOf(ordinal),
    windowStartMs,
  };
}

/** What orders a row. */
function orderValue(table: ViewTable, slot: number, { aggregate, rank }: RowOrder): number | null {
  const { value } = table.result(slot, aggregate);
  if (value === null || typeof value === 'number') return value;
  return rank === null ? null : (value[rank] ?? null);
}
