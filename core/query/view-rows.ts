/**
 * The rows of a view at one snapshot: what each slice holds of a group is a partial, and readers always merge. Open entries
 * come from the images, closed ones from the images too (since the newest base) and from runs (before it).
 */
import { compareBytes, encodeText } from '../bytes.ts';
import { type BlobStores, readBlobRange } from '../checkpoint/blobs.ts';
import type { Checkpoint, EpochReference } from '../checkpoint/restore.ts';
import { RunReader } from '../checkpoint/run.ts';
import {
  decodeGroupKey,
  encodeGroupKey,
  type GroupMapKey,
  type GroupValue,
  groupValuesOf,
  mapKeyOf,
} from '../state/group-key.ts';
import type { ClosedEntry } from '../state/slice-image.ts';
import { ViewTable } from '../state/view-table.ts';
import type { RowOrder, ViewRequest } from './view-request.ts';

/** One slice's part of a snapshot. */
export interface SlicePart {
  readonly sliceId: string;
  readonly epoch: EpochReference;
  readonly checkpoint: Checkpoint;
}

export interface ViewRow {
  readonly values: readonly GroupValue[];
  readonly windowStartMs: number;
  readonly results: ReturnType<ViewTable['results']>;
}

interface KeyRange {
  readonly from: Uint8Array | null;
  readonly to: Uint8Array | null;
}

/** All rows that the request selects, in its order. */
export async function viewRows(
  request: ViewRequest,
  parts: readonly SlicePart[],
  blobs: BlobStores,
): Promise<ViewRow[]> {
  const merged = new ViewTable(request.view);
  for (const part of parts) mergeOpen(merged, request, part);
  for (const part of parts) {
    const entries = await closedEntries(request, part, blobs);
    mergeClosed(merged, request, entries);
  }
  return ordered(rowsOf(merged), request.order);
}

function mergeOpen(merged: ViewTable, request: ViewRequest, { checkpoint }: SlicePart): void {
  const table = checkpoint.image.tables[request.viewIndex] as ViewTable;
  const wanted = request.key.every((value) => value !== undefined)
    ? mapKeyOf(request.key as GroupValue[])
    : undefined;
  for (const startMs of table.windowStarts()) {
    if (!isInWindows(request, startMs)) continue;
    if (wanted !== undefined) {
      const slot = table.find(startMs, wanted);
      if (slot >= 0) merge(merged, startMs, wanted, table, slot);
      continue;
    }
    for (const [key, slot] of table.window(startMs)) {
      if (isWanted(request, key)) merge(merged, startMs, key, table, slot);
    }
  }
}

async function closedEntries(
  request: ViewRequest,
  { sliceId, checkpoint }: SlicePart,
  blobs: BlobStores,
): Promise<ClosedEntry[]> {
  const { view, viewIndex } = request;
  if (view.window.kind === 'all') return [];
  const { from, to } = keyRange(request);
  const entries = [...(checkpoint.image.closed[viewIndex] as ClosedEntry[])];
  for (const run of checkpoint.manifest.runs) {
    const read = (start: number, end: number) => readBlobRange(blobs, sliceId, run, start, end);
    for (const entry of await new RunReader(sliceId, run, read).entries(view, from, to)) {
      entries.push(entry);
    }
  }
  return entries;
}

function mergeClosed(
  merged: ViewTable,
  request: ViewRequest,
  entries: readonly ClosedEntry[],
): void {
  const scratch = new ViewTable(request.view);
  const slot = scratch.insert(0, null);
  for (const { windowStartMs, key, accumulators } of entries) {
    if (!isInWindows(request, windowStartMs)) continue;
    const mapKey = mapKeyOf(decodeGroupKey(key));
    if (!isWanted(request, mapKey)) continue;
    scratch.decode(slot, accumulators);
    merge(merged, windowStartMs, mapKey, scratch, slot);
  }
}

function merge(
  merged: ViewTable,
  startMs: number,
  key: GroupMapKey,
  from: ViewTable,
  slot: number,
): void {
  const known = merged.find(startMs, key);
  if (known < 0) merged.copyFrom(merged.insert(startMs, key), from, slot);
  else merged.mergeFrom(known, from, slot);
}

function isInWindows({ startMs, endMs }: ViewRequest, windowStartMs: number): boolean {
  return (
    (startMs === null || windowStartMs >= startMs) && (endMs === null || windowStartMs < endMs)
  );
}

function isWanted({ view, key, prefix }: ViewRequest, mapKey: GroupMapKey): boolean {
  const values = groupValuesOf(mapKey, view.groupBy.length);
  let needsPrefix = prefix !== null;
  for (const [index, wanted] of key.entries()) {
    const value = values[index] as GroupValue;
    if (wanted !== undefined) {
      if (value !== wanted) return false;
    } else if (needsPrefix) {
      if (typeof value !== 'string' || !value.startsWith(prefix as string)) return false;
      needsPrefix = false;
    }
  }
  return true;
}

/** The range of encoded keys that can be wanted: by the wanted values before the first free field, and its prefix. */
function keyRange({ key, prefix }: ViewRequest): KeyRange {
  const free = key.indexOf(undefined);
  const fixed = encodeGroupKey((free < 0 ? key : key.slice(0, free)) as GroupValue[]);
  // The bytes of a string without its end are where all strings that begin so lie.
  const isPlain = prefix !== null && !prefix.includes('\u0000') && prefix.isWellFormed();
  const text = isPlain ? [5, ...encodeText(prefix)] : [];
  const from = Uint8Array.from([...fixed, ...text]);
  return from.length === 0 ? { from: null, to: null } : { from, to: successor(from) };
}

/** The first key after all that begin with these bytes. */
function successor(bytes: Uint8Array): Uint8Array | null {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0xff) end--;
  if (end === 0) return null;
  const next = bytes.slice(0, end);
  next[end - 1] = (next[end - 1] as number) + 1;
  return next;
}

interface KeyedRow extends ViewRow {
  readonly bytes: Uint8Array;
}

function rowsOf(table: ViewTable): KeyedRow[] {
  const rows: KeyedRow[] = [];
  for (const windowStartMs of table.windowStarts()) {
    for (const [key, slot] of table.window(windowStartMs)) {
      const values = groupValuesOf(key, table.view.groupBy.length);
      rows.push({
        values,
        windowStartMs,
        results: table.results(slot),
        bytes: encodeGroupKey(values),
      });
    }
  }
  return rows;
}

/** By key, then window; or by an aggregate, groups without a value last, and then by key and window. */
function ordered(rows: KeyedRow[], order: RowOrder | null): ViewRow[] {
  const byKey = (a: KeyedRow, b: KeyedRow) =>
    compareBytes(a.bytes, b.bytes) || a.windowStartMs - b.windowStartMs;
  if (order === null) return rows.sort(byKey);
  const sign = order.descending ? -1 : 1;
  return rows.sort((a, b) => {
    const left = orderValue(a, order);
    const right = orderValue(b, order);
    if (left === right) return byKey(a, b);
    if (left === null) return 1;
    if (right === null) return -1;
    return sign * (left - right);
  });
}

function orderValue(row: ViewRow, { aggregate, rank }: RowOrder): number | null {
  const value = row.results[aggregate]?.value ?? null;
  if (value === null || typeof value === 'number') return value;
  return rank === null ? null : (value[rank] ?? null);
}
