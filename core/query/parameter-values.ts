/**
 * Reading the values of parameters. Each reader returns the value or throws `Refused` with what would do.
 */
import { isSequenceNumber } from '../position.ts';
import { Zone } from '../time/zone.ts';
import { readZonedTime } from '../time/zoned-time.ts';
import { refuse } from './query-problem.ts';

/** Parameters of a request, in order; a name may repeat. */
export type QueryParameters = readonly (readonly [name: string, value: string])[];

/** Milliseconds since the epoch; text without offset is a time of the pipeline's zone. */
export function readTime(path: string, text: string, zoneName: string): number {
  const timeMs = readZonedTime(text, new Zone(zoneName));
  if (!Number.isNaN(timeMs)) return timeMs;
  const lostPlus = /\d \d\d:?\d\d$/.test(text);
  const why = lostPlus ? ': a + in an address means a space, write it as %2B' : '';
  return refuse('wrong-time', `${path} is no time${why}.`, {
    path,
    expected: `ISO 8601 such as 2001-06-30, 2001-06-30T12:00 (both in ${zoneName}) or 2001-06-30T12:00:00Z`,
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
