/**
 * What is said of a record that cannot be folded: which field, what was found, what was expected. The texts are kept with
 * the record, so they hold nothing of the runtime's own messages, which change between its versions.
 */
import { describeValue } from '../definition/describe-value.ts';
import { type FieldPath, formatFieldPath } from '../definition/field-path.ts';
import { likelyUnitHint, unitName } from '../time/likely-unit.ts';
import { numberInText, timeTextAdvice } from '../time/time-text-advice.ts';
import { envelopeOf, listAdvice } from './envelope.ts';
import type { JsonObject } from './field-lookup.ts';
import { foreignDataOf } from './foreign-data.ts';
import type { BadRecord } from './record-decoder.ts';

const EXCERPT_LENGTH = 40;

export function notUtf8(data: Uint8Array): BadRecord {
  return {
    reason: 'not-json',
    detail: `the data is not UTF-8, and so not JSON${finding(data, null)}`,
  };
}

export function notJson(data: Uint8Array, text: string): BadRecord {
  if (text === '') {
    return {
      reason: 'not-json',
      detail: 'the record has no data: the producer put an empty record',
    };
  }
  const excerpt =
    text.length <= 2 * EXCERPT_LENGTH
      ? JSON.stringify(text)
      : `it begins with ${JSON.stringify(text.slice(0, EXCERPT_LENGTH))} ` +
        `and ends with ${JSON.stringify(text.slice(-EXCERPT_LENGTH))}`;
  return { reason: 'not-json', detail: `the data is not JSON: ${excerpt}${finding(data, text)}` };
}

export function notAnObject(value: unknown): BadRecord {
  return {
    reason: 'not-an-object',
    detail: `found ${describeValue(value)}, expected one JSON object for each record${scalarFinding(value)}`,
  };
}

/** `record` is the whole record, here and below: what it is may be why the field is not as expected. */
export function noTime(
  path: FieldPath,
  value: unknown,
  unitMs: 1 | 1000,
  record: JsonObject,
): BadRecord {
  const unit = unitName(unitMs);
  const expected = `ISO 8601 text such as "2026-07-01T10:00:00Z" or a number of ${unit} since 1970, of a year from 0 to 9999`;
  const detail = `${found(path, value, expected, record)}${timeHint(value, unitMs)}`;
  return { reason: 'no-time', detail };
}

function timeHint(value: unknown, unitMs: 1 | 1000): string {
  if (typeof value === 'number') return likelyUnitHint(value, unitMs);
  if (typeof value !== 'string') return '';
  const number = numberInText(value);
  if (number !== null) {
    return `; it is a number as text: send it without quotes${likelyUnitHint(number, unitMs)}`;
  }
  const advice = timeTextAdvice(value);
  return advice === null ? '' : `; ${advice}`;
}

export function noDedupeId(path: FieldPath, value: unknown, record: JsonObject): BadRecord {
  const expected = 'an id: a string or an integer';
  return { reason: 'no-dedupe-id', detail: found(path, value, expected, record) };
}

export function wrongType(
  path: FieldPath,
  value: unknown,
  expected: string,
  record: JsonObject,
): BadRecord {
  return { reason: 'wrong-type', detail: found(path, value, expected, record) };
}

export function notFinite(path: FieldPath): BadRecord {
  const detail = `field "${formatFieldPath(path)}": found a number beyond 1.8e308, expected a finite one`;
  return { reason: 'not-finite', detail };
}

export function integerTooLarge(path: FieldPath): BadRecord {
  const detail =
    `field "${formatFieldPath(path)}": found an integer beyond 2^53, which cannot be told from its neighbours; ` +
    'send it as a string';
  return { reason: 'integer-too-large', detail };
}

function found(path: FieldPath, value: unknown, expected: string, record: JsonObject): string {
  const envelope = envelopeOf(record);
  const list = envelope === null && value === undefined ? listAdvice(record) : null;
  const around = list === null ? '' : `; ${list}`;
  const is = envelope === null ? around : `; the record is ${envelope.name}: ${envelope.advice}`;
  return `field "${formatFieldPath(path)}": found ${describeValue(value)}, expected ${expected}${is}`;
}

function finding(data: Uint8Array, text: string | null): string {
  const is = foreignDataOf(data, text);
  return is === null ? '' : `; ${is}`;
}

function scalarFinding(value: unknown): string {
  if (Array.isArray(value) && value.length > 0) {
    return '; have the producer put one record for each element';
  }
  if (typeof value === 'string' && /^\s*[{[]/.test(value)) {
    return '; it is a string that holds JSON: the producer encodes twice';
  }
  return '';
}
