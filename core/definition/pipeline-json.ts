/**
 * A pipeline as data: the shape of `tidemark.config.json`, and what the builder returns. Only what this version can do;
 * `parsePlan` is the judge, these types help an editor.
 */

import type { Duration } from './duration.ts';
import type { FieldText } from './field-path.ts';
import type { AggregateJson } from './kinds/aggregate-kinds.ts';
import type { WindowJson } from './kinds/window-kinds.ts';

export interface PipelineJson {
  /** Letters, digits and `_ - .`, at most 64. */
  name: string;
  /** The Kinesis stream; by default the pipeline's name. */
  stream?: string;
  time?: TimeJson;
  /** The field that tells kinds of events apart where a stream carries several. */
  category?: { field: FieldText };
  /** Counts a record once although its producer sent it twice: ids are kept for this much event time. */
  dedupe?: { id: FieldText; within: Duration };
  views: Record<string, ViewJson>;
}

export interface TimeJson {
  /** Event time as ISO 8601 text or a number; without it a record's time is its arrival at Kinesis. */
  field?: FieldText;
  /** Of numbers; by default `ms`. */
  unit?: 'ms' | 's';
  /** For days and for times without offset; by default `UTC`. */
  zone?: string;
  /** How long a window stays open behind the newest time seen; by default `1m`. */
  lateness?: Duration;
  /** How far a record's time may lie after its arrival; by default `10m`. `none` for replayed history. */
  skew?: Duration | 'none';
  /**
   * The earliest time that a record may have, as ISO 8601 text; by default 2000-01-01 in UTC, and `none` beside `skew: 'none'`.
   * It is there for numbers of another unit: seconds that are read as milliseconds are of January 1970.
   */
  earliest?: string;
  /**
   * Windows of a shard without records close by heartbeats: its watermark may go to a heartbeat's arrival − lateness − this.
   * Not with `skew: 'none'`, where times have nothing to do with arrivals.
   */
  idle?: Duration;
}

export interface ViewJson {
  /** Only records of this category. */
  category?: string;
  /** One group for each combination of these fields' values; without it all records are one group. */
  groupBy?: readonly FieldText[];
  /** Without it: all time. */
  window?: WindowJson;
  /** What becomes of a record whose window has closed; by default `update`. */
  late?: 'update' | 'side' | 'drop';
  aggregates: Record<string, AggregateJson>;
}
