/**
 * What an answer says of stored results that cannot be read. Of a part of the open state it says which rows are missing, or lack
 * what that slice has of them: those from one place on, up to another, in the order of (window, key).
 */
import { windowSpan } from '../definition/kinds/window-kinds.ts';
import type { EntryBound } from '../state/entry-bound.ts';
import { decodeGroupKey } from '../state/group-key.ts';
import type { Zone } from '../time/zone.ts';
import { zonedIsoTime } from '../time/zoned-time.ts';
import type { DamagedPart, DamagedRun } from './damaged-runs.ts';
import type { ViewRequest } from './view-request.ts';

/** A place in the order of (window, key). */
export interface RowPlace {
  /** Start of the window; null in a view without windows. */
  readonly window: string | null;
  readonly key: Readonly<Record<string, unknown>>;
}

export interface DamagedRows extends DamagedRun {
  /** There only of a part of the open state; null: from the first row on. */
  readonly from?: RowPlace | null;
  /** Exclusive; null: to the last row. */
  readonly to?: RowPlace | null;
}

export function damagedRows(
  request: ViewRequest,
  damaged: DamagedRun | DamagedPart,
  zone: Zone,
): DamagedRows {
  const { slice, epoch } = damaged;
  if (!('from' in damaged)) return { slice, epoch };
  const { from, to } = damaged;
  return { slice, epoch, from: placeOf(request, from, zone), to: placeOf(request, to, zone) };
}

function placeOf({ view }: ViewRequest, bound: EntryBound | null, zone: Zone): RowPlace | null {
  if (bound === null) return null;
  const values = decodeGroupKey(bound.key);
  const isAllTime = windowSpan(view.window) === null;
  return {
    window: isAllTime ? null : zonedIsoTime(bound.windowStartMs, zone),
    key: Object.fromEntries(view.groupBy.map(({ name }, index) => [name, values[index]])),
  };
}
