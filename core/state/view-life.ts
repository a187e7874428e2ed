/**
 * Which life of a view its state belongs to, and of each of its columns: a view or a column that goes and comes back begins
 * another. A life is known by the epoch in which it began, so what was stored before is never taken for a part of it.
 */
import { assert } from '../assert.ts';
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { Codes } from '../codes.ts';
import { AGGREGATE_CODES } from '../definition/kinds/aggregate-kinds.ts';
import type { ColumnPlan, LatePolicy, ViewPlan } from '../definition/plan.ts';
import { columnId } from '../definition/view-match.ts';
import { CorruptStateFault } from '../faults.ts';

export interface ColumnLife {
  /** The epoch in which it began; 0 is the beginning of the slice. */
  readonly since: number;
  /** Windows that begin before it may lack records in this column. −Infinity: none do. */
  readonly coveredFromMs: number;
}

export interface ViewLife {
  readonly since: number;
  /** Tells apart views of one meaning that began in the same epoch. */
  readonly ordinal: number;
  /** By index of the view's columns; null where what was stored does not have the column. */
  readonly columns: readonly (ColumnLife | null)[];
}

const FROM_THE_START: ColumnLife = { since: 0, coveredFromMs: Number.NEGATIVE_INFINITY };

/** Of a view that is there since the slice began. */
export function firstLife(view: ViewPlan, ordinal: number): ViewLife {
  return { since: 0, ordinal, columns: view.columns.map(() => FROM_THE_START) };
}

export function isSameLife(
  a: Pick<ViewLife, 'since' | 'ordinal'>,
  b: Pick<ViewLife, 'since' | 'ordinal'>,
): boolean {
  return a.since === b.since && a.ordinal === b.ordinal;
}

/** False where one of them is not there. */
export function isSameColumnLife(
  a: Pick<ColumnLife, 'since'> | null | undefined,
  b: Pick<ColumnLife, 'since'> | null | undefined,
): boolean {
  return a?.since !== undefined && a.since === b?.since;
}

/** True if both are there and the same, each of their columns included: then what one stands for the other does too. */
export function sameLives(a: ViewLife | null, b: ViewLife | null): boolean {
  if (a === null || b === null || !isSameLife(a, b)) return false;
  return a.columns.every((column, index) => isSameColumnLife(column, b.columns[index]));
}

interface StoredColumn extends Pick<ColumnPlan, 'kind' | 'fieldText'>, ColumnLife {}

/** What is stored of a view beside its entries. */
export interface StoredView extends Pick<ViewLife, 'since' | 'ordinal'> {
  readonly name: string;
  readonly hash: string;
  /** As it was when this was written. */
  readonly late: LatePolicy;
  /** In the order in which an entry holds their accumulators. */
  readonly columns: readonly StoredColumn[];
}

/** Of a view that is written: each of its columns has a life. */
export function storedView(view: ViewPlan, life: ViewLife): StoredView {
  const columns = view.columns.map(({ kind, fieldText }, index) => {
    const column = life.columns[index] ?? null;
    assert(column !== null, 'a-state-that-is-written-has-every-column');
    return { kind, fieldText, ...column };
  });
  const { name, hash, late } = view;
  return { name, hash, late, since: life.since, ordinal: life.ordinal, columns };
}

export const LATE_CODES = new Codes<LatePolicy>('a policy for late records', {
  update: 0,
  side: 1,
  drop: 2,
});

/** What a view's entries are known by, and what is said of them: the start of a window and a key, and accumulators, which replace those before. */
export const ENTRY_CODES = new Codes<'replaced-by-start'>('a form of entries', {
  'replaced-by-start': 0,
});

export function encodeStoredView(stored: StoredView, writer: ByteWriter): void {
  writer.string(stored.name);
  writer.hex(stored.hash);
  LATE_CODES.encode(stored.late, writer);
  ENTRY_CODES.encode('replaced-by-start', writer);
  writer.varint(stored.since);
  writer.varint(stored.ordinal);
  writer.varint(stored.columns.length);
  for (const { kind, fieldText, since, coveredFromMs } of stored.columns) {
    AGGREGATE_CODES.encode(kind, writer);
    writer.string(fieldText);
    writer.varint(since);
    if (since > 0) writer.f64(coveredFromMs);
  }
}

const HASH_BYTES = 16;

export function decodeStoredView(reader: ByteReader): StoredView {
  const [name, hash] = [reader.string(), reader.hex(HASH_BYTES)];
  const late = LATE_CODES.decode(reader);
  ENTRY_CODES.decode(reader);
  const [since, ordinal] = [reader.varint(), reader.varint()];
  const columns = Array.from({ length: reader.varint() }, (): StoredColumn => {
    const kind = AGGREGATE_CODES.decode(reader);
    const [fieldText, began] = [reader.string(), reader.varint()];
    const coveredFromMs = began > 0 ? reader.f64() : Number.NEGATIVE_INFINITY;
    return { kind, fieldText, since: began, coveredFromMs };
  });
  return { name, hash, late, since, ordinal, columns };
}

/** True if the columns are those of the view, in its order. */
function hasColumnsOf(view: ViewPlan, { columns }: StoredView): boolean {
  return (
    columns.length === view.columns.length &&
    columns.every((column, index) => {
      return columnId(column) === columnId(view.columns[index] as ColumnPlan);
    })
  );
}

/** Of each of a plan's views, which of the stored ones it is, where its own plan has written them. */
export function ownViews(
  stored: readonly StoredView[],
  views: readonly ViewPlan[],
): readonly number[] {
  for (const [index, from] of stored.entries()) {
    const view = views[index];
    const isOwn = view !== undefined && view.name === from.name && view.hash === from.hash;
    if (isOwn && hasColumnsOf(view, from)) continue;
    throw new CorruptStateFault(
      `the checkpoint has a view '${from.name}' (${from.hash.slice(0, 8)}) that its own plan does not have`,
      { hint: 'run with the pipeline file that wrote this data' },
    );
  }
  if (stored.length === views.length) return [...views.keys()];
  const missing = views[stored.length] as ViewPlan;
  throw new CorruptStateFault(`the checkpoint lacks the view '${missing.name}' of its own plan`);
}
