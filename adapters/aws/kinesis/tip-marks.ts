/**
 * What was once seen at the end of a shard, for the day when the record that a reader stands on is gone: Kinesis then goes
 * on at its oldest record without a word, and only such a mark proves that nothing lay between.
 */
import type { Creation } from '../../../core/ports.ts';
import type { Position } from '../../../core/position.ts';

export interface TipMark {
  readonly after: Position;
  /** Before the shard was read, by the reader's clock. */
  readonly atMs: number;
  /** How long a record was surely kept then: a retention that is raised later does not bring back what has expired. */
  readonly keptMs: number;
  /**
   * Null: at `atMs` nothing followed `after`. Otherwise `after` is START, where the pipeline begins, and this is the sequence
   * number of the first record there: true for ever.
   */
  readonly oldest: string | null;
}

/**
 * Two small items a shard of one stream: the mark of START, and the one of another position, whichever was seen last. Marks of
 * another stream, as of one that was deleted and made again under its name, count as none and stay untouched.
 */
export interface TipMarks {
  /** What is known of what follows `after`, or null: consistent. */
  read(shardId: string, after: Position): Promise<TipMark | null>;
  /** Replaces the mark, unless that one was made later. Durable when it returns. */
  put(shardId: string, mark: TipMark): Promise<void>;
  /** Leaves a mark that is there. Durable when it returns. */
  create(shardId: string, mark: TipMark): Promise<Creation>;
}

/** For clocks that differ, and for what `approximate` means in a record's arrival. */
const MARGIN_MS = 60 * 60_000;

/** How long after a record's arrival, or after a time when it was not there yet, it is surely in the stream. */
export function surelyKeptMs(retentionHours: number): number {
  return retentionHours * 60 * 60_000 - MARGIN_MS;
}
