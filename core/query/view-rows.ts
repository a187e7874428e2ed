/**
 * The rows of a view at one snapshot: what each slice holds of a group is a partial, and readers always merge. Open entries
 * come from the images, closed ones from the images too (since the newest base) and from runs (before it).
 *
 * All sources are sorted by key and window, and merged as they are read. In that order a page is a search in each source and
 * what it shows. In the order of a value all rows pass by, and those that may be shown are kept: memory does not grow with the
 * number of rows.
 */
import type { ViewPlan } from '../definition/plan.ts';
import { decodeGroupKey, type GroupValue } from '../state/group-key.ts';
import { ViewTable } from '../state/view-table.ts';
import type { DamagedRun } from './damaged-runs.ts';
import { ENTRIES_BETWEEN_PAUSES } from './pace.ts';
import { type RowBefore, rowKeyOf } from './row-cursor.ts';
import { keyRanges, selectsKey } from './row-filter.ts';
import { RowHeap, type ValuedRow } from './row-heap.ts';
import { RowMerge, type RowPart } from './row-merge.ts';
import { RowSources, type RunReading, type SlicePart } from './row-sources.ts';
import type { RowPosition } from './snapshot-token.ts';
import type { RowOrder, ViewRequest } from './view-request.ts';

export interface ViewRow {
  readonly values: readonly GroupValue[];
  readonly results: ReturnType<ViewTable['results']>;
  readonly position: RowPosition;
}

export interface RowPage {
  readonly rows: readonly ViewRow[];
  /** Rows follow the last of these. */
  readonly hasMore: boolean;
  /** Runs that could not be read. */
  readonly damaged: readonly DamagedRun[];
}

/** The first `limit` rows, after those that `next` has had. */
export async function readRows(
  request: ViewRequest,
  parts: readonly SlicePart[],
  reading: RunReading,
): Promise<RowPage> {
  const { order } = request;
  const sources = await RowSources.of(request, parts, reading);
  try {
    const page =
      order === null
        ? await rowsByKey(request, sources)
        : await rowsByValue(request, order, sources);
    const damaged = sources.damaged.sort((a, b) => a.epoch - b.epoch);
    return { ...page, damaged };
  } finally {
    await sources.close();
  }
}

type Rows = Omit<RowPage, 'damaged'>;

async function rowsByKey(request: ViewRequest, sources: RowSources): Promise<Rows> {
  const { view, limit, next } = request;
  const folded = new FoldedRow(view);
  const rows: ViewRow[] = [];
  let hasMore = false;
  await eachRow(request, sources, next?.after ?? null, (row) => {
    hasMore = rows.length === limit;
    if (hasMore) return false;
    folded.fold(row.parts);
    const key = keyOf(row);
    rows.push(viewRow(null, key, row.windowStartMs, folded.table.results(folded.slot)));
    return true;
  });
  return { rows, hasMore };
}

/** A row that may be among the first. */
interface Candidate extends ValuedRow {
  /** Where its accumulators are; null: not in memory, but in `accumulators`. */
  readonly table: ViewTable | null;
  readonly slot: number;
  readonly accumulators: Uint8Array | null;
}

async function rowsByValue(
  request: ViewRequest,
  order: RowOrder,
  sources: RowSources,
): Promise<Rows> {
  const { view, limit, next } = request;
  const heap = new RowHeap<Candidate>(limit + 1, order.descending);
  const folded = new FoldedRow(view);
  const before = next === null ? null : { value: next.after.value, row: rowKeyOf(next.after) };
  await eachRow(request, sources, null, (row) => {
    folded.fold(row.parts);
    const value = orderValue(folded.table, folded.slot, order);
    if (before !== null && heap.compare(value, row, before.value, before.row) <= 0) return true;
    if (!heap.takes(value, row)) return true;
    const { windowStartMs } = row;
    heap.add({ ...folded.kept(), value, row: rowKeyOf({ key: keyOf(row), windowStartMs }) });
    return true;
  });
  const candidates = heap.inOrder();
  const rows = candidates.slice(0, limit).map(({ value, row, table, slot, accumulators }) => {
    folded.fold([{ table, slot, accumulators }]);
    return viewRow(value, row.bytes, row.windowStartMs, folded.table.results(folded.slot));
  });
  return { rows, hasMore: candidates.length > limit };
}

/** Visits the rows that the request selects, behind a row, in the order of keys, until `visit` returns false. */
async function eachRow(
  request: ViewRequest,
  sources: RowSources,
  before: RowBefore | null,
  visit: (row: RowMerge) => boolean,
): Promise<void> {
  const selectsAll = request.prefix === null && request.key.every((wanted) => wanted === undefined);
  let visited = 0;
  for (const range of keyRanges(request, before?.key ?? null)) {
    const rows = new RowMerge(await sources.cursors(range, before));
    for (let step = rows.next(); step !== 'end'; step = rows.next()) {
      if (step === 'load') {
        await rows.load();
        continue;
      }
      if (++visited % ENTRIES_BETWEEN_PAUSES === 0) await sources.pace.pause();
      const { bytes, start, end } = rows;
      if (!selectsAll && !selectsKey(request, bytes.subarray(start, end))) continue;
      if (!visit(rows)) return;
    }
    await sources.close();
  }
}

/** A row's accumulators: where they are if one source alone has them, otherwise merged. */
class FoldedRow {
  table: ViewTable;
  slot: number;
  readonly #scratch: ViewTable;
  readonly #sum: number;
  readonly #other: number;

  constructor(view: ViewPlan) {
    this.#scratch = new ViewTable(view);
    this.#sum = this.#scratch.insert(0, Uint8Array.of(0));
    this.#other = this.#scratch.insert(0, Uint8Array.of(1));
    this.table = this.#scratch;
    this.slot = this.#sum;
  }

  fold(parts: readonly RowPart[]): void {
    const [first] = parts as readonly [RowPart];
    if (parts.length === 1 && first.table !== null) {
      this.table = first.table;
      this.slot = first.slot;
      return;
    }
    this.table = this.#scratch;
    this.slot = this.#sum;
    if (first.table !== null) this.#scratch.copyFrom(this.#sum, first.table, first.slot);
    else this.#scratch.decode(this.#sum, first.accumulators as Uint8Array);
    for (let index = 1; index < parts.length; index++) this.#merge(parts[index] as RowPart);
  }

  /** The same, for as long as the images stay as they are. */
  kept(): RowPart {
    const { table, slot } = this;
    if (table !== this.#scratch) return { table, slot, accumulators: null };
    return { table: null, slot: 0, accumulators: table.encoded(slot) };
  }

  #merge({ table, slot, accumulators }: RowPart): void {
    if (table !== null) {
      this.#scratch.mergeFrom(this.#sum, table, slot);
      return;
    }
    this.#scratch.decode(this.#other, accumulators as Uint8Array);
    this.#scratch.mergeFrom(this.#sum, this.#scratch, this.#other);
  }
}

function viewRow(
  value: number | null,
  key: Uint8Array,
  windowStartMs: number,
  results: ViewRow['results'],
): ViewRow {
  return { values: decodeGroupKey(key), results, position: { value, key, windowStartMs } };
}

/** A copy: the row's bytes are used again. */
function keyOf({ bytes, start, end }: RowMerge): Uint8Array {
  return bytes.slice(start, end);
}

/** What orders a row. */
function orderValue(table: ViewTable, slot: number, { aggregate, rank }: RowOrder): number | null {
  const { value } = table.result(slot, aggregate);
  if (value === null || typeof value === 'number') return value;
  return rank === null ? null : (value[rank] ?? null);
}
