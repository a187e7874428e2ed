/**
 * Where a record has a field that a path does not find: under a name with a dot in it, nested, deeper, or in other case.
 */
import type { FieldPath } from '../definition/field-path.ts';
import { isJsonObject, type JsonObject, valueAt } from './field-lookup.ts';

export type SpellingKind = 'dot-in-name' | 'nested' | 'deeper' | 'case';

export interface OtherSpelling {
  readonly kind: SpellingKind;
  readonly path: FieldPath;
}

/** Objects inside objects that are looked into. */
const DEPTH_MAX = 3;

/** The likeliest other path, or null. `path` finds nothing in `record`. */
export function otherSpelling(record: JsonObject, path: FieldPath): OtherSpelling | null {
  const parts = path.flatMap((name) => name.split('.'));
  const cut = cutOtherwise(record, parts);
  if (cut !== null) return { kind: cut.length < path.length ? 'dot-in-name' : 'nested', path: cut };
  const cased = inOtherCase(record, path);
  if (cased !== null) return { kind: 'case', path: cased };
  const deeper = deeperIn(record, path, DEPTH_MAX);
  return deeper === null ? null : { kind: 'deeper', path: deeper };
}

/** The same parts, with the dots between other names. */
function cutOtherwise(record: JsonObject, parts: readonly string[]): FieldPath | null {
  for (let count = parts.length; count > 0; count--) {
    const name = parts.slice(0, count).join('.');
    if (!Object.hasOwn(record, name)) continue;
    if (count === parts.length) return [name];
    const value = record[name];
    const rest = isJsonObject(value) ? cutOtherwise(value, parts.slice(count)) : null;
    if (rest !== null) return [name, ...rest];
  }
  return null;
}

function inOtherCase(record: JsonObject, path: FieldPath): FieldPath | null {
  const found: string[] = [];
  let value: unknown = record;
  for (const wanted of path) {
    if (!isJsonObject(value)) return null;
    const name = Object.keys(value).find((own) => own.toLowerCase() === wanted.toLowerCase());
    if (name === undefined) return null;
    found.push(name);
    value = value[name];
  }
  return found;
}

function deeperIn(record: JsonObject, path: FieldPath, depth: number): FieldPath | null {
  if (depth === 0) return null;
  for (const [name, value] of Object.entries(record)) {
    if (!isJsonObject(value)) continue;
    if (valueAt(value, path) !== undefined) return [name, ...path];
    const inside = deeperIn(value, path, depth - 1);
    if (inside !== null) return [name, ...inside];
  }
  return null;
}
