/**
 * The oracle's judgement of one record: what a plan sees in its bytes, or why it cannot be counted. The reasons are those
 * of the product; nothing else of its decoder is used.
 */
import type { FieldPath } from '../core/definition/field-path.ts';
import type { Plan, ViewPlan } from '../core/definition/plan.ts';
import { FOLDED_RECORD_BYTES_MAX, GROUP_KEY_BYTES_MAX } from '../core/limits.ts';
import { eventTimeOf, type LocalCalendar } from './recount-time.ts';

/** One record of a shard's log. Kinesis's own numbers as text. */
export interface LoggedRecord {
  readonly sequenceNumber: string;
  readonly subSequence: number;
  readonly partitionKey: string;
  readonly arrivalMs: number;
  readonly data: Uint8Array;
}

export interface JudgedRecord {
  /** Its own time, or its arrival where the plan goes by that. */
  readonly timeMs: number;
  readonly category: string | null;
  /** Of dedupe: numbers and strings differ. */
  readonly id: string | null;
  /** By index of the plan's fields; only those are judged that a view which selects the record uses. */
  readonly fields: readonly unknown[];
}

/** Why a record is bad: a reason of the product's quarantine. */
export type BadReason = string;

type Found = JudgedRecord | BadReason;

/** Which of the plan's bounds of a record's time make it bad. */
type TimeBounds = 'skew-and-earliest' | 'earliest' | 'none';

export class RecordJudge {
  readonly #plan: Plan;
  readonly #calendar: LocalCalendar;
  readonly #bounds: TimeBounds;

  constructor(plan: Plan, calendar: LocalCalendar, bounds: TimeBounds = 'skew-and-earliest') {
    this.#plan = plan;
    this.#calendar = calendar;
    this.#bounds = bounds;
  }

  judge({ data, arrivalMs }: LoggedRecord): Found {
    if (data.length > FOLDED_RECORD_BYTES_MAX) return 'record-too-large';
    const json = parseJson(data);
    if (json === undefined) return 'not-json';
    if (!isObject(json)) return 'not-an-object';
    const found = this.#read(json, arrivalMs);
    if (typeof found === 'string') return found;
    const { time, skewMs, earliestMs } = this.#plan;
    const hasSkew = skewMs !== null && this.#bounds === 'skew-and-earliest';
    if (hasSkew && found.timeMs > arrivalMs + skewMs) return 'too-far-in-the-future';
    const hasEarliest = time !== null && earliestMs !== null && this.#bounds !== 'none';
    if (hasEarliest && found.timeMs < earliestMs) return 'too-far-in-the-past';
    return this.#selecting(found.category).some(
      (view) => keyBytes(view, found) > GROUP_KEY_BYTES_MAX,
    )
      ? 'group-key-too-large'
      : found;
  }

  #read(json: object, arrivalMs: number): Found {
    const { time, category, dedupe, fields } = this.#plan;
    const timeMs =
      time === null
        ? arrivalMs
        : eventTimeOf(valueAt(json, time.path), time.unitMs, this.#calendar);
    if (timeMs === null) return 'no-time';
    const kind = category === null ? null : (valueAt(json, category) ?? null);
    if (kind !== null && typeof kind !== 'string') return 'wrong-type';
    let id: string | null = null;
    if (dedupe !== null) {
      const found = valueAt(json, dedupe.path);
      const problem = problemOfId(found);
      if (problem !== null) return problem;
      id = JSON.stringify(found);
    }
    const values: unknown[] = [];
    for (const [index, path] of fields.entries()) {
      const value = valueAt(json, path) ?? null;
      const problem = value === null ? null : this.#problemOfField(index, kind, value);
      if (problem !== null) return problem;
      values.push(Object.is(value, -0) ? 0 : value);
    }
    return { timeMs, category: kind, id, fields: values };
  }

  #problemOfField(field: number, category: string | null, value: unknown): BadReason | null {
    const views = this.#selecting(category);
    const isGrouped = views.some(({ groupBy }) => groupBy.some((each) => each.field === field));
    const isAdded = views.some(({ aggregates }) =>
      aggregates.some((each) => each.field === field && each.kind !== 'count'),
    );
    if (isAdded && typeof value !== 'number') return 'wrong-type';
    if (isGrouped && !['string', 'number', 'boolean'].includes(typeof value)) return 'wrong-type';
    if (typeof value !== 'number' || !(isAdded || isGrouped)) return null;
    if (!Number.isFinite(value)) return 'not-finite';
    return isGrouped && isRoundedInteger(value) ? 'integer-too-large' : null;
  }

  #selecting(category: string | null): ViewPlan[] {
    return this.#plan.views.filter((view) => view.category === null || view.category === category);
  }
}

/** Identifies a record within its shard: its sequence number, and its place where one sequence number has several. */
export function recordId(record: Pick<LoggedRecord, 'sequenceNumber' | 'subSequence'>): string {
  const { sequenceNumber, subSequence } = record;
  return subSequence === 0 ? sequenceNumber : `${sequenceNumber}.${subSequence}`;
}

export function selects(view: ViewPlan, record: JudgedRecord): boolean {
  return view.category === null || view.category === record.category;
}

/** A record that says only that time passes. */
export function isHeartbeat({ data }: LoggedRecord): boolean {
  return Buffer.from(data).toString('latin1') === '{"tidemark":"heartbeat"}';
}

/** Undefined for bytes that are no JSON in UTF-8; one byte order mark before it is none of it. */
function parseJson(data: Uint8Array): unknown {
  const text = Buffer.from(data).toString('utf8');
  // Bytes that are no UTF-8 come out as replacement characters, which are other bytes.
  if (!Buffer.from(text, 'utf8').equals(data)) return undefined;
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function valueAt(json: object, path: FieldPath): unknown {
  return path.reduce<unknown>((value, name) => {
    if (!isObject(value)) return undefined;
    return Object.getOwnPropertyDescriptor(value, name)?.value;
  }, json);
}

function problemOfId(value: unknown): BadReason | null {
  if (value === undefined || value === null || value === '') return 'no-dedupe-id';
  if (typeof value === 'string') return null;
  if (typeof value !== 'number') return 'wrong-type';
  if (!Number.isFinite(value)) return 'not-finite';
  if (isRoundedInteger(value)) return 'integer-too-large';
  return Number.isInteger(value) ? null : 'wrong-type';
}

function isRoundedInteger(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) >= 2 ** 53;
}

/** Of the group key as it is stored: a tag, then 8 bytes of a number, or a string with its end and its zeros escaped. */
function keyBytes({ groupBy }: ViewPlan, { fields }: JudgedRecord): number {
  return groupBy.reduce((sum, { field }) => {
    const value = fields[field];
    if (typeof value === 'number') return sum + 9;
    if (typeof value !== 'string') return sum + 1;
    return sum + 2 + Buffer.byteLength(value, 'utf8') + (value.split('\0').length - 1);
  }, 0);
}
