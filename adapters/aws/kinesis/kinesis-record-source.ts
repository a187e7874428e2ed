/**
 * The stream by position, for replays and checks, by GetRecords.
 *
 * Kinesis does not say that a position is gone. An answer of records is therefore given only where it is proved that none
 * is missing: the record at the position comes first, or a tip mark says that nothing followed it at a time from which
 * nothing can have expired. Anything else is `trimmed`.
 */

import { assert } from '../../../core/assert.ts';
import { COMMIT_RESERVE_MS } from '../../../core/limits.ts';
import type { Clock, RecordSource, SourceRead, StreamRecord } from '../../../core/ports.ts';
import {
  comparePositions,
  compareSequenceNumbers,
  type Position,
  START,
} from '../../../core/position.ts';
import { type KinesisPages, ShardIsGone } from './kinesis-pages.ts';
import {
  type CursorBeginning,
  type CursorRead,
  type ReadBounds,
  ShardCursor,
} from './shard-cursor.ts';
import type { Retention } from './stream-summary.ts';
import { surelyKeptMs, type TipMark, type TipMarks } from './tip-marks.ts';

export interface KinesisSourceOptions {
  readonly pages: KinesisPages;
  readonly marks: TipMarks;
  readonly retention: Retention;
  readonly clock: Clock;
  /** Milliseconds until the invocation is cut off. */
  readonly timeLeftMs: () => number;
  /** GetRecords calls of one read that finds nothing: in a quiet shard many answers are empty though records follow. */
  readonly callsMax?: number;
  /** Between two calls of one shard: it gives 5 answers a second to all its readers, the mapping first. */
  readonly pauseMs?: number;
}

const CALLS_MAX = 200;
/** To see what the oldest record is; where it does not show, what is not there is taken for trimmed. */
const HORIZON_CALLS_MAX = 3;
/** Of one read that has found records: better answer with these. */
const FILLING_CALLS_MAX = 10;
const PAUSE_MS = 300;
/** A shard gives 2 MB a second; after an answer of 10 MiB it gives none for 5 seconds. */
const THROTTLED_PAUSES = 5;
const WARM_CURSORS_MAX = 16;

interface WarmCursor {
  readonly after: string;
  readonly cursor: ShardCursor;
}

export class KinesisRecordSource implements RecordSource {
  readonly #options: KinesisSourceOptions;
  /** By shard, the cursor that stands after a record that was given out. Each is used by one read at a time. */
  readonly #warm = new Map<string, WarmCursor>();
  /** By shard, when its last read ended, by the process's own clock: a replay is one read after the other. */
  readonly #readMs = new Map<string, number>();

  constructor(options: KinesisSourceOptions) {
    this.#options = options;
  }

  /**
   * Records after the one at `after`, at most `limit` and little more than 10 MiB of them. Sub-sequences do not count here:
   * a position inside a KPL aggregate stands for the whole record. An empty answer short of the tip means: ask again.
   */
  async readAfter(shardId: string, after: Position, limit: number): Promise<SourceRead> {
    await this.#untilNextRead(shardId);
    try {
      return await this.#readAfter(shardId, after, limit);
    } catch (fault) {
      if (fault instanceof ShardIsGone) return { outcome: 'gone' };
      throw fault;
    } finally {
      this.#readMs.set(shardId, performance.now());
    }
  }

  async #untilNextRead(shardId: string): Promise<void> {
    const { pauseMs = PAUSE_MS } = this.#options;
    const leftMs = (this.#readMs.get(shardId) ?? -Infinity) + pauseMs - performance.now();
    if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
  }

  async #readAfter(shardId: string, after: Position, limit: number): Promise<SourceRead> {
    const warm = this.#warm.get(shardId);
    this.#warm.delete(shardId);
    // What a cursor proves stands on the retention that it was made under.
    const isSound = warm !== undefined && warm.cursor.keptMs === (await this.#surelyKeptMs());
    if (isSound && warm.after === after.sequenceNumber) {
      const read = await warm.cursor.read(this.#bounds(limit));
      if (read.outcome === 'records') return this.#answer(shardId, after, warm.cursor, read);
    }
    const isStart = comparePositions(after, START) === 0;
    return isStart ? this.#readStart(shardId, limit) : this.#readRecord(shardId, after, limit);
  }

  /** The first record where the pipeline begins, as the stream is now: nothing says that none was there before it. */
  async readFirst(shardId: string): Promise<{ first: StreamRecord | null; reachedTip: boolean }> {
    const cursor = await this.#cursor(shardId, { kind: 'start', soundUntilMs: Infinity });
    const read = await cursor.read(this.#bounds(1));
    assert(read.outcome === 'records', 'what-need-not-be-complete-is-not-lost');
    return { first: read.records[0] ?? null, reachedTip: read.reachedTip };
  }

  async #readRecord(shardId: string, after: Position, limit: number): Promise<SourceRead> {
    const { sequenceNumber } = after;
    const cursor = await this.#cursor(shardId, { kind: 'record', sequenceNumber, isRead: true });
    const read = await cursor.read(this.#bounds(limit));
    if (read.outcome === 'records') return this.#answer(shardId, after, cursor, read);
    const mark = await this.#options.marks.read(shardId, after);
    if (mark === null) {
      await this.#refuseUnlessTrimmed(shardId, sequenceNumber);
      return trimmed(read);
    }
    const soundUntilMs = await this.#soundUntilMs(mark);
    return this.#readMarked(shardId, after, limit, { kind: 'horizon', soundUntilMs });
  }

  /** A record that is not there is gone only if those before it are gone, too: else it never was a record of the stream. */
  async #refuseUnlessTrimmed(shardId: string, sequenceNumber: string): Promise<void> {
    const cursor = await this.#cursor(shardId, { kind: 'horizon', soundUntilMs: Infinity });
    const read = await cursor.read({ limit: 1, mayGoOn: (calls) => calls < HORIZON_CALLS_MAX });
    assert(read.outcome === 'records', 'what-need-not-be-complete-is-not-lost');
    const oldest = read.records[0]?.sequenceNumber;
    if (oldest === undefined || compareSequenceNumbers(oldest, sequenceNumber) >= 0) return;
    const { pages } = this.#options;
    throw pages.foreign(shardId, sequenceNumber, `the shard has older records, from ${oldest} on`);
  }

  async #readStart(shardId: string, limit: number): Promise<SourceRead> {
    const mark = await this.#options.marks.read(shardId, START);
    if (mark === null) return this.#readUnmarked(shardId);
    const soundUntilMs = await this.#soundUntilMs(mark);
    const beginning: CursorBeginning =
      mark.oldest === null
        ? { kind: 'start', soundUntilMs }
        : { kind: 'record', sequenceNumber: mark.oldest, isRead: false };
    return this.#readMarked(shardId, START, limit, beginning);
  }

  async #readMarked(
    shardId: string,
    after: Position,
    limit: number,
    beginning: CursorBeginning,
  ): Promise<SourceRead> {
    const cursor = await this.#cursor(shardId, beginning);
    const read = await cursor.read(this.#bounds(limit));
    return read.outcome === 'records' ? this.#answer(shardId, after, cursor, read) : trimmed(read);
  }

  /** There is no mark of where the pipeline begins in this shard. */
  async #readUnmarked(shardId: string): Promise<SourceRead> {
    const { first, reachedTip } = await this.readFirst(shardId);
    if (first === null && !reachedTip)
      return { outcome: 'records', origin: 'stream', records: [], reachedTip };
    return { outcome: 'trimmed', oldest: first === null ? null : positionOf(first) };
  }

  #answer(
    shardId: string,
    after: Position,
    cursor: ShardCursor,
    read: CursorRead & { outcome: 'records' },
  ): SourceRead {
    const { records, reachedTip } = read;
    if (cursor.isOpen) {
      const { sequenceNumber } = records.at(-1) ?? after;
      this.#warm.set(shardId, { after: sequenceNumber, cursor });
      for (const eldest of this.#warm.keys()) {
        if (this.#warm.size <= WARM_CURSORS_MAX) break;
        this.#warm.delete(eldest);
      }
    }
    return { outcome: 'records', origin: 'stream', records, reachedTip };
  }

  async #cursor(shardId: string, beginning: CursorBeginning): Promise<ShardCursor> {
    const { pages, clock } = this.#options;
    const pause = (reason: 'next' | 'throttled') => this.#pause(reason);
    return new ShardCursor(beginning, {
      shardId,
      pages,
      clock,
      surelyKeptMs: await this.#surelyKeptMs(),
      pause,
    });
  }

  #bounds(limit: number): ReadBounds {
    const { timeLeftMs, callsMax = CALLS_MAX } = this.#options;
    const mayGoOn = (calls: number, records: number) => {
      const most = records > 0 ? Math.min(callsMax, FILLING_CALLS_MAX) : callsMax;
      return calls < most && timeLeftMs() > COMMIT_RESERVE_MS;
    };
    return { limit, mayGoOn };
  }

  async #pause(reason: 'next' | 'throttled'): Promise<void> {
    const { pauseMs = PAUSE_MS } = this.#options;
    const ms = reason === 'next' ? pauseMs : pauseMs * THROTTLED_PAUSES;
    await new Promise((resolve) => setTimeout(resolve, ms));
  }

  /** Nothing that follows the mark expires before that. */
  async #soundUntilMs({ atMs, keptMs }: TipMark): Promise<number> {
    return atMs + Math.min(keptMs, await this.#surelyKeptMs());
  }

  async #surelyKeptMs(): Promise<number> {
    return surelyKeptMs(await this.#options.retention.hours());
  }
}

function trimmed({ oldest }: CursorRead & { outcome: 'lost' }): SourceRead {
  return { outcome: 'trimmed', oldest };
}

function positionOf({ sequenceNumber }: StreamRecord): Position {
  return { sequenceNumber, subSequence: 0 };
}
