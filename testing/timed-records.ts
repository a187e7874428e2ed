/**
 * A user's records with what a simulation needs to know of each: its bytes, its own time, its key and its id.
 */
import { isJsonObject, valueAt } from '../core/decode/field-lookup.ts';
import { type FieldPath, parseFieldPath } from '../core/definition/field-path.ts';
import type { Plan } from '../core/definition/plan.ts';
import { RecordJudge } from '../simulation/recount-record.ts';
import { calendarOf } from '../simulation/recount-time.ts';

/** A record as an object, as JSON text, or as the bytes that a producer would put. */
export type RecordInput = object | string | Uint8Array;

/** The field whose value is the partition key (dots reach into nested fields, `\.` is a dot in a name), or a function of the record's index. */
export type PartitionKey = string | ((record: RecordInput, index: number) => string);

export interface TimedRecord {
  /** Its place in the input, from 0. */
  readonly index: number;
  readonly data: Uint8Array;
  readonly partitionKey: string;
  /** Its own time; null where it cannot be read, or where the pipeline goes by arrival. */
  readonly timeMs: number | null;
  /** Of dedupe; null without it, or where it cannot be read. */
  readonly id: string | null;
}

export function timedRecords(
  plan: Plan,
  records: Iterable<RecordInput>,
  partitionKey: PartitionKey | undefined,
): TimedRecord[] {
  const judge = new RecordJudge(plan, calendarOf(plan.zone), 'none');
  const path = typeof partitionKey === 'function' ? undefined : pathOf(plan, partitionKey);
  const timed: TimedRecord[] = [];
  for (const record of records) {
    const index = timed.length;
    const data = bytesOf(record);
    const arrivalMs = 0;
    const judged = judge.judge({
      sequenceNumber: '1',
      subSequence: 0,
      partitionKey: '',
      arrivalMs,
      data,
    });
    const isRead = typeof judged !== 'string';
    const key =
      typeof partitionKey === 'function' ? partitionKey(record, index) : keyOf(data, path);
    timed.push({
      index,
      data,
      partitionKey: key ?? String(index),
      timeMs: isRead && plan.time !== null ? judged.timeMs : null,
      id: isRead ? judged.id : null,
    });
  }
  return timed;
}

function bytesOf(record: RecordInput): Uint8Array {
  if (record instanceof Uint8Array) return record;
  return Buffer.from(typeof record === 'string' ? record : JSON.stringify(record));
}

/** The text of the value at a path; null where there is none. */
function keyOf(data: Uint8Array, path: FieldPath | undefined): string | null {
  if (path === undefined) return null;
  let record: unknown;
  try {
    record = JSON.parse(Buffer.from(data).toString());
  } catch {
    return null;
  }
  const value = isJsonObject(record) ? valueAt(record, path) : undefined;
  return value === undefined || value === null ? null : String(value);
}

function pathOf(plan: Plan, partitionKey: string | undefined): FieldPath | undefined {
  if (partitionKey === undefined) {
    const field = plan.views.find(({ groupBy }) => groupBy.length > 0)?.groupBy[0]?.field;
    return field === undefined ? undefined : plan.fields[field];
  }
  const path = parseFieldPath(partitionKey);
  if (path !== null) return path;
  throw new Error(
    `the partition key '${partitionKey}' is no field: dots reach into nested fields, \\. is a dot in a name`,
  );
}
