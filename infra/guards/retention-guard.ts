/**
 * The stream must keep records for as long as anything may replay them.
 */
import { RETENTION_GRACE_MS, ROLLBACK_GRACE_MS } from '../../core/limits.ts';
import type { Refusal } from './refusal.ts';

const HOUR_MS = 3_600_000;
/** How far a slice may be behind when the longest replay begins: alarms and people need time. */
const MARGIN_HOURS = 6;
/** A rollback replays since the change before it, and what it replays from is kept for the grace after that. */
export const RETENTION_HOURS_MIN =
  Math.ceil((ROLLBACK_GRACE_MS + RETENTION_GRACE_MS) / HOUR_MS) + MARGIN_HOURS;
/** Kinesis's own, of a stream that does not say. */
export const STREAM_HOURS_DEFAULT = 24;
/** Kinesis's own: one year. */
const RETENTION_HOURS_MAX = 8760;

export interface RetentionFacts {
  /** As the props say. */
  readonly hours: number | undefined;
  /** As the stream itself says, where it is of this app. */
  readonly streamHours: number | undefined;
}

export function guardRetention({ hours, streamHours }: RetentionFacts): Refusal[] {
  if (hours === undefined && streamHours === undefined) {
    return [
      {
        found: 'an existing stream is given, and not how long it keeps records',
        expected: `\`retention\` beside \`stream\`, at least ${RETENTION_HOURS_MIN} hours`,
        todo: 'give its RetentionPeriodHours, which `aws kinesis describe-stream-summary` shows: retention: Duration.hours(168)',
      },
    ];
  }
  if (hours !== undefined && streamHours !== undefined && hours !== streamHours) {
    return [
      {
        found: `retention is ${hours} hours, the given stream keeps records for ${streamHours}`,
        expected: 'the same',
        todo: 'leave retention out: the stream of this app says it itself',
      },
    ];
  }
  const found = hours ?? streamHours ?? 0;
  const isWithin = found >= RETENTION_HOURS_MIN && found <= RETENTION_HOURS_MAX;
  if (isWithin && Number.isInteger(found)) return [];
  const expected = `whole hours, from ${RETENTION_HOURS_MIN} (24 h for a rollback, 1 h of grace, ${MARGIN_HOURS} h margin) to ${RETENTION_HOURS_MAX} (Kinesis)`;
  const todo =
    'raise the retention of the stream; 7 days is the default, and leaves time to mend things';
  return [{ found: `the stream keeps records for ${found} hours`, expected, todo }];
}
