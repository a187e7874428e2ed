/**
 * Which entries of a view a request selects, and where in the order of keys they can lie.
 */
import { compareBytes } from '../bytes.ts';
import { encodeGroupKey, type GroupValue } from '../state/group-key.ts';
import type { ViewRequest } from './view-request.ts';

type Selection = Pick<ViewRequest, 'key' | 'prefix' | 'startMs' | 'endMs'>;

/** Encoded keys in [from, to); null bounds are open. */
export interface KeyRange {
  readonly from: Uint8Array | null;
  readonly to: Uint8Array | null;
}

export function selectsWindow({ startMs, endMs }: Selection, windowStartMs: number): boolean {
  return (
    (startMs === null || windowStartMs >= startMs) && (endMs === null || windowStartMs < endMs)
  );
}

export function selectsKey({ key, prefix }: Selection, values: readonly GroupValue[]): boolean {
  let begins = prefix;
  for (const [index, wanted] of key.entries()) {
    const value = values[index];
    if (wanted !== undefined) {
      if (value !== wanted) return false;
    } else if (begins !== null) {
      if (typeof value !== 'string' || !value.startsWith(begins)) return false;
      begins = null;
    }
  }
  return true;
}

/** The wanted values before the first free field, and its prefix, are where keys begin; `after` is a key that is past. */
export function keyRange({ key, prefix }: Selection, after: Uint8Array | null): KeyRange {
  const free = key.indexOf(undefined);
  const fixed = encodeGroupKey((free < 0 ? key : key.slice(0, free)) as GroupValue[]);
  // The bytes of a string without its end are where all strings that begin so lie.
  const begin = prefix === null ? [] : encodeGroupKey([prefix]).subarray(0, -1);
  const first = Uint8Array.of(...fixed, ...begin);
  const from = after !== null && compareBytes(after, first) > 0 ? after : first;
  return { from: from.length === 0 ? null : from, to: successor(first) };
}

/** The first key after all that begin with these bytes; null if there is none. */
function successor(bytes: Uint8Array): Uint8Array | null {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0xff) end--;
  if (end === 0) return null;
  const next = bytes.slice(0, end);
  next[end - 1] = (next[end - 1] as number) + 1;
  return next;
}
