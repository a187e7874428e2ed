/**
 * Values in a record by field path: own properties of objects only, whatever their names.
 */
import type { FieldPath } from '../definition/field-path.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The value at a path, or undefined; what lies inside an array or a scalar is absent. */
export function valueAt(record: JsonObject, path: FieldPath): unknown {
  let value: unknown = record;
  for (let index = 0; index < path.length; index++) {
    const name = path[index] as string;
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const decoder = new TextDecoder();

/** The object that the data is as JSON; null if it is none. What is not UTF-8 becomes U+FFFD. */
export function parseJsonObject(data: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(decoder.decode(data));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
