/**
 * Which entries of a view a request selects, and where in the order of keys they can lie.
 */
import { compareBytes } from '../bytes.ts';
import type { EntryBound } from '../state/entry-bound.ts';
import { decodeGroupKey, encodeGroupKey, type GroupValue } from '../state/group-key.ts';
import { type KeyPrefix, spellingOf } from './key-values.ts';
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

export function selectsEveryKey({ key, prefix }: Pick<Selection, 'key' | 'prefix'>): boolean {
  return prefix === null && key.every((wanted) => wanted === undefined);
}

export function selectsKey({ key, prefix }: Selection, bytes: Uint8Array): boolean {
  const values = decodeGroupKey(bytes);
  let begins = prefix;
  for (const [index, wanted] of key.entries()) {
    const value = values[index] as GroupValue;
    if (wanted !== undefined) {
      if (!wanted.includes(value)) return false;
    } else if (begins !== null) {
      if (begins.textOnly && typeof value !== 'string') return false;
      if (!spellingOf(value).startsWith(begins.text)) return false;
      begins = null;
    }
  }
  return true;
}

/** The only keys that are selected, where every field has wanted values; otherwise null. */
export function wantedKeys({ key }: Selection): GroupValue[][] | null {
  return key.includes(undefined) ? null : choicesOf(key as Selection['key'][number][]);
}

/**
 * Where selected keys lie that come after the key `after`: ranges in ascending order, none overlaps another. The wanted
 * values of the fields before the first free one, and its prefix, are what keys begin with.
 */
export function keyRanges({ key, prefix }: Selection, after: Uint8Array | null): KeyRange[] {
  const free = key.indexOf(undefined);
  const fixed = choicesOf(free < 0 ? key : key.slice(0, free));
  const begins = prefix === null ? [new Uint8Array()] : prefixBytes(prefix);
  const ranges: KeyRange[] = [];
  for (const values of fixed) {
    for (const begin of begins) {
      const first = Uint8Array.of(...encodeGroupKey(values), ...begin);
      const to = successor(first);
      if (after !== null && to !== null && compareBytes(to, after) <= 0) continue;
      const from = after !== null && compareBytes(after, first) > 0 ? after : first;
      ranges.push({ from: from.length === 0 ? null : from, to });
    }
  }
  return ranges;
}

/** True if all keys in `keyRanges` are selected, or nearly all: a page of them is what it shows. */
export function isRange({ key, prefix }: Selection): boolean {
  const free = key.indexOf(undefined);
  const isNumber =
    prefix !== null && prefix.text !== '' && !prefix.textOnly && NUMBER_BEGIN.test(prefix.text);
  return free < 0 || (!isNumber && key.slice(free).every((wanted) => wanted === undefined));
}

/** Each choice of one wanted value a field, in the order of encoded keys. */
function choicesOf(key: Selection['key']): GroupValue[][] {
  let choices: GroupValue[][] = [[]];
  for (const wanted of key) {
    choices = choices.flatMap((values) => (wanted ?? []).map((value) => [...values, value]));
  }
  return choices;
}

/** What an encoded value begins with that has the prefix, or may have it; in ascending order. */
function prefixBytes({ text, textOnly }: KeyPrefix): Uint8Array[] {
  // The bytes of a string without its end are where all strings that begin so lie.
  const strings = encodeGroupKey([text]).subarray(0, -1);
  if (textOnly) return [strings];
  const literals = [null, false, true].filter((value) => spellingOf(value).startsWith(text));
  // Numbers are ordered by size, not by digits: all of them have to be looked at.
  const numbers = NUMBER_BEGIN.test(text) ? [encodeGroupKey([0]).subarray(0, 1)] : [];
  return [...literals.map((value) => encodeGroupKey([value])), ...numbers, strings];
}

/** What the JSON of a number may begin with. */
const NUMBER_BEGIN = /^-?(?:\d[\d.e+-]*)?$/;

/** The first key after all that begin with these bytes; null if there is none. */
function successor(bytes: Uint8Array): Uint8Array | null {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0xff) end--;
  if (end === 0) return null;
  const next = bytes.slice(0, end);
  next[end - 1] = (next[end - 1] as number) + 1;
  return next;
}

/** True if the request may select a row of a range of windows and keys, whose end is exclusive. */
export function asksFor(
  request: Selection,
  { from, to }: { readonly from: EntryBound | null; readonly to: EntryBound | null },
): boolean {
  const { startMs, endMs } = request;
  const isBefore = to !== null && startMs !== null && to.windowStartMs < startMs;
  const isAfter = from !== null && endMs !== null && from.windowStartMs >= endMs;
  if (isBefore || isAfter) return false;
  if (from === null || from.windowStartMs !== to?.windowStartMs) return true;
  return keyRanges(request, null).some((range) => {
    const endsBefore = range.to !== null && compareBytes(range.to, from.key) <= 0;
    const beginsAfter = range.from !== null && compareBytes(range.from, to.key) >= 0;
    return !endsBefore && !beginsAfter;
  });
}
