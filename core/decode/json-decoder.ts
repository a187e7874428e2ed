/**
 * Decodes JSON records with `JSON.parse`. A record is judged as a whole before anything of it folds:
 *
 * - It is a JSON object in UTF-8; one byte order mark before it is skipped. Of a name that occurs twice the last counts.
 * - Fields are own properties, whatever their names; what lies inside an array or a scalar is absent.
 * - Time, category and dedupe id are asked of every record. Other fields are checked if a view that selects the record's
 *   category uses them, so that one category's shape is no rule for another's.
 */
import type { FieldPath } from '../definition/field-path.ts';
import type { AggregateFieldUse } from '../definition/kinds/aggregate-descriptor.ts';
import { aggregateOf } from '../definition/kinds/aggregate-kinds.ts';
import type { Plan } from '../definition/plan.ts';
import { readEventTime } from '../time/event-time.ts';
import { Zone } from '../time/zone.ts';
import * as bad from './bad-value.ts';
import { isJsonObject, type JsonObject, valueAt } from './field-lookup.ts';
import type { BadRecord, FieldValue, RecordDecoder, RecordFields } from './record-decoder.ts';

/** A decoder for the records of a plan's stream. It may be used for any number of records and `RecordFields`. */
export function createJsonDecoder(plan: Plan): RecordDecoder {
  return new JsonDecoder(plan);
}

/** How the views that select a record use a field. One that is grouped by and added must do for both. */
type FieldUse = 'none' | AggregateFieldUse | 'grouped' | 'grouped-and-added';

const STRENGTH: Record<FieldUse, number> = {
  none: 0,
  counted: 1,
  grouped: 2,
  added: 3,
  'grouped-and-added': 4,
};

class JsonDecoder implements RecordDecoder {
  readonly #plan: Plan;
  readonly #zone: Zone;
  // The fatal decoder checks every byte; keeping the mark and dropping it here is twice as fast as ignoring it there.
  readonly #text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #usesOfCategory = new Map<string, readonly FieldUse[]>();
  readonly #usesOfOthers: readonly FieldUse[];

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#zone = new Zone(plan.zone);
    this.#usesOfOthers = usesOf(plan, null);
    for (const { category } of plan.views) {
      if (category !== null) this.#usesOfCategory.set(category, usesOf(plan, category));
    }
  }

  decode(data: Uint8Array, fields: RecordFields): BadRecord | null {
    let text: string;
    try {
      text = this.#text.decode(data);
    } catch {
      return bad.notUtf8(data);
    }
    if (text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return bad.notJson(data, text);
    }
    return isJsonObject(value) ? this.#read(value, fields) : bad.notAnObject(value);
  }

  #read(record: JsonObject, fields: RecordFields): BadRecord | null {
    const { time, category, dedupe } = this.#plan;
    fields.timeMs = null;
    fields.isTimeNumber = false;
    if (time !== null) {
      const found = valueAt(record, time.path);
      const timeMs = readEventTime(found, time.unitMs, this.#zone);
      if (Number.isNaN(timeMs)) return bad.noTime(time.path, found, time.unitMs, record);
      fields.timeMs = timeMs;
      fields.isTimeNumber = typeof found === 'number';
    }
    fields.category = null;
    if (category !== null) {
      const found = valueAt(record, category);
      if (typeof found === 'string') fields.category = found;
      else if (found !== undefined && found !== null) {
        return bad.wrongType(category, found, 'a string (the category)', record);
      }
    }
    fields.dedupeId = null;
    if (dedupe !== null) {
      const found = valueAt(record, dedupe.path);
      const problem = judgeId(dedupe.path, found, record);
      if (problem !== null) return problem;
      // A string begins with a quote and no number does, so that "7" and 7 are two ids.
      fields.dedupeId = typeof found === 'string' ? `"${found}` : String(found);
    }
    return this.#readValues(record, fields);
  }

  #readValues(record: JsonObject, fields: RecordFields): BadRecord | null {
    const { category, values } = fields;
    const paths = this.#plan.fields;
    const uses =
      (category === null ? undefined : this.#usesOfCategory.get(category)) ?? this.#usesOfOthers;
    if (values.length !== paths.length) values.length = paths.length;
    for (let index = 0; index < paths.length; index++) {
      const use = uses[index] as FieldUse;
      if (use === 'none') {
        values[index] = undefined;
        continue;
      }
      const path = paths[index] as FieldPath;
      const found = valueAt(record, path);
      if (found === undefined || found === null) values[index] = found;
      else if (use === 'counted') values[index] = true;
      else {
        let problem = use === 'grouped' ? null : judgeNumber(path, found, record);
        if (use !== 'added') problem ??= judgeGroup(path, found, record);
        if (problem !== null) return problem;
        values[index] = found === 0 ? 0 : (found as FieldValue);
      }
    }
    return null;
  }
}

const BYTE_ORDER_MARK = 0xfeff;

/** What is asked of each field of a record of `category`; null is a category that no view names. */
function usesOf(plan: Plan, category: string | null): FieldUse[] {
  const uses: FieldUse[] = plan.fields.map(() => 'none');
  const use = (field: number, wanted: FieldUse): void => {
    const known = uses[field] as FieldUse;
    const needsBoth =
      (known === 'grouped' && wanted === 'added') || (known === 'added' && wanted === 'grouped');
    if (needsBoth) uses[field] = 'grouped-and-added';
    else if (STRENGTH[wanted] > STRENGTH[known]) uses[field] = wanted;
  };
  for (const view of plan.views) {
    if (view.category !== null && view.category !== category) continue;
    for (const { field } of view.groupBy) use(field, 'grouped');
    for (const { field, kind } of view.aggregates) {
      if (field !== null) use(field, aggregateOf(kind).fieldUse);
    }
  }
  return uses;
}

function judgeNumber(path: FieldPath, found: unknown, record: JsonObject): BadRecord | null {
  if (typeof found !== 'number') return bad.wrongType(path, found, 'a number or null', record);
  return Number.isFinite(found) ? null : bad.notFinite(path);
}

function judgeGroup(path: FieldPath, found: unknown, record: JsonObject): BadRecord | null {
  if (typeof found === 'string' || typeof found === 'boolean') return null;
  if (typeof found !== 'number') {
    return bad.wrongType(path, found, 'a string, a number, a boolean or null', record);
  }
  return judgeKeyNumber(path, found);
}

function judgeId(path: FieldPath, found: unknown, record: JsonObject): BadRecord | null {
  // An empty id would make every record that has one a duplicate of the first.
  if (found === undefined || found === null || found === '')
    return bad.noDedupeId(path, found, record);
  if (typeof found === 'string') return null;
  const problem = typeof found === 'number' ? judgeKeyNumber(path, found) : null;
  if (problem !== null) return problem;
  return Number.isInteger(found)
    ? null
    : bad.wrongType(path, found, 'a string or an integer', record);
}

/** A number that identifies something: JSON.parse rounds integers beyond 2^53, and two keys would become one. */
function judgeKeyNumber(path: FieldPath, found: number): BadRecord | null {
  if (!Number.isFinite(found)) return bad.notFinite(path);
  const isRounded = Number.isInteger(found) && !Number.isSafeInteger(found);
  return isRounded ? bad.integerTooLarge(path) : null;
}
