/**
 * Reading the values of parameters. Each reader returns the value or throws `Refused` with what would do.
 */
import { isSequenceNumber } from '../position.ts';
import type { GroupValue } from '../state/group-key.ts';
import { parseIsoTime } from '../time/iso-time.ts';
import { Zone } from '../time/zone.ts';
import { refuse } from './query-problem.ts';

/** Parameters of a request, in order; a name may repeat. */
export type QueryParameters = readonly (readonly [name: string, value: string])[];

/** A JSON literal (`7`, `true`, `null`, `"7"`), or bare text as a string. */
export function readGroupValue(path: string, text: string): GroupValue {
  let value: unknown = text;
  // A literal is written without space around it: text with some is text.
  if (text === text.trim()) {
    try {
      value = JSON.parse(text);
    } catch {
      if (text.startsWith('"')) {
        const detail = `${path} begins like a JSON string and does not end like one.`;
        const expected = 'a JSON string such as "LAX", or text that begins without a quote';
        return refuse('wrong-key', detail, { path, expected, found: text });
      }
    }
  }
  if (typeof value === 'number') return readGroupNumber(path, text, value);
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  const kind = Array.isArray(value) ? 'an array' : 'an object';
  return refuse('wrong-key', `${path} is ${kind}, and no record is grouped by one.`, {
    path,
    expected: 'a string, number, boolean or null; text that looks like JSON in double quotes',
    found: text,
  });
}

function readGroupNumber(path: string, text: string, value: number): number {
  const isExact =
    Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  if (isExact) return value === 0 ? 0 : value;
  return refuse('number-too-large', `${path} is beyond what a key's number can be.`, {
    path,
    expected: 'an integer within ±(2^53 − 1), or "…" around digits that are text',
    found: text,
  });
}

const utc = new Zone('UTC');

/** Milliseconds since the epoch. */
export function readTime(path: string, text: string): number {
  const timeMs = parseIsoTime(text, utc);
  if (!Number.isNaN(timeMs)) return timeMs;
  const lostPlus = /\d \d\d:?\d\d$/.test(text);
  const why = lostPlus ? ': a + in an address means a space, write it as %2B' : '';
  return refuse('wrong-time', `${path} is no time${why}.`, {
    path,
    expected: 'ISO 8601 such as 2001-06-30 or 2001-06-30T12:00:00Z',
    found: text,
  });
}

export function readLimit(text: string, max: number): number {
  const limit = Number(text);
  if (/^\d{1,9}$/.test(text) && limit >= 1 && limit <= max) return limit;
  return refuse('wrong-limit', 'limit is no number of rows that can be answered.', {
    path: 'limit',
    expected: `a whole number from 1 to ${max}`,
    found: text,
  });
}

/** A record as PutRecord answers it. */
export interface RecordAddress {
  readonly shardId: string;
  readonly sequenceNumber: string;
}

export function readRecordAddress(text: string): RecordAddress {
  const colon = text.lastIndexOf(':');
  const shardId = text.slice(0, Math.max(0, colon));
  const sequenceNumber = text.slice(colon + 1);
  if (shardId !== '' && isSequenceNumber(sequenceNumber)) return { shardId, sequenceNumber };
  return refuse('wrong-after', 'after names no record.', {
    path: 'after',
    expected: '<shardId>:<sequenceNumber>, as PutRecord answers them',
    found: text,
  });
}
