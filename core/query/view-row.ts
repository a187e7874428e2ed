/**
 * A row as it is shown, and the first of many.
 */
import { decodeGroupKey, type GroupValue } from '../state/group-key.ts';
import type { ViewTable } from '../state/view-table.ts';
import type { RowKey } from './row-cursor.ts';
import type { RowPosition } from './snapshot-token.ts';

export interface ViewRow {
  readonly values: readonly GroupValue[];
  readonly results: ReturnType<ViewTable['results']>;
  readonly position: RowPosition;
}

export interface FirstRows {
  readonly rows: readonly ViewRow[];
  /** Rows follow the last of these. */
  readonly hasMore: boolean;
}

/** Keeps a copy of the key. */
export function viewRow(
  value: number | null,
  { bytes, start, end, windowStartMs }: RowKey,
  results: ViewRow['results'],
): ViewRow {
  const key = bytes.slice(start, end);
  return { values: decodeGroupKey(key), results, position: { value, key, windowStartMs } };
}
