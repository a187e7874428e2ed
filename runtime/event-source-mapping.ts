/**
 * The event source mapping of one stream: for each shard, in order, one batch at a time; a batch that failed comes again,
 * cut in half, until it succeeds, without a limit to retries or to the age of records. How far it came is
 * saved now and then only: after a crash it brings some records again, which the protocol does not mind.
 */
import type { LocalStream } from '../adapters/local/stream/local-stream.ts';
import { assert } from '../core/assert.ts';
import {
  CorruptStateFault,
  LostStateFault,
  NewerFormatFault,
  OlderFormatFault,
  ReplayGapFault,
  StreamMismatchFault,
  TransientFault,
} from '../core/faults.ts';
import { BATCH_RECORDS_MAX } from '../core/limits.ts';
import { comparePositions, type Position, START } from '../core/position.ts';
import type { AggregateAnswer, AggregatePayload } from './aggregate-environment.ts';
import { type EnvironmentPool, InvocationError } from './environment-pool.ts';
import { type FunctionFailure, failureOf } from './invocation.ts';

export interface EventSourceMappingOptions {
  readonly stream: LocalStream;
  readonly pool: Pick<EnvironmentPool, 'invoke'>;
  /** How long a batch that is not full waits for more. */
  readonly batchWindowMs: number;
  /** HEAD's `delivered` of each shard's slice: what lies behind it comes again, wherever the saved position is. */
  readonly delivered: ReadonlyMap<string, Position>;
  /** HEAD's cursor of a shard's slice: where to go on when the saved position was trimmed. */
  readonly cursorOf: (shardId: string) => Promise<Position>;
  readonly onFailure: (shardId: string, failure: FunctionFailure, retryInMs: number) => void;
}

const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 10_000;

export class EventSourceMapping {
  readonly #pollers: ReadonlyMap<string, ShardPoller>;
  readonly #unsubscribe: () => void;

  constructor(options: EventSourceMappingOptions) {
    const { stream } = options;
    this.#pollers = new Map(
      stream.shards().map(({ shardId }) => [shardId, new ShardPoller(shardId, options)]),
    );
    this.#unsubscribe = stream.onAppend((shardId) => this.#pollers.get(shardId)?.wake());
    for (const poller of this.#pollers.values()) void poller.run();
  }

  /** Records that were not answered for yet. */
  get pendingCount(): number {
    return [...this.#pollers.values()].reduce((sum, poller) => sum + poller.pendingCount, 0);
  }

  /** Resolves when everything that is in the shard now was answered for; false if that takes too long. */
  async caughtUp(shardId: string, timeoutMs: number): Promise<boolean> {
    const poller = this.#pollers.get(shardId);
    assert(poller !== undefined, 'shard-has-a-poller', () => shardId);
    return poller.caughtUp(timeoutMs);
  }

  /** Runs something between two batches of a shard, so that it races with none of them. */
  inTurn<T>(shardId: string, run: () => Promise<T>): Promise<T> {
    const poller = this.#pollers.get(shardId);
    assert(poller !== undefined, 'shard-has-a-poller', () => shardId);
    return poller.inTurn(run);
  }

  /** Starts no more invocations and waits for the running ones. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    await Promise.all([...this.#pollers.values()].map((poller) => poller.stop()));
  }
}

class ShardPoller {
  readonly #shardId: string;
  readonly #options: EventSourceMappingOptions;
  #position: Position;
  /** Of the record at the position, in the local stream's counting. */
  #ordinal: number;
  /** Of the newest record when this began: what came before has waited already. */
  readonly #firstTip: number;
  #limit = BATCH_RECORDS_MAX;
  #failures = 0;
  #stopped = false;
  /** What waits for its turn between two batches. */
  readonly #turns: (() => Promise<void>)[] = [];
  #wakeUp: () => void = () => {};
  #ended: Promise<void> = Promise.resolve();

  constructor(shardId: string, options: EventSourceMappingOptions) {
    this.#shardId = shardId;
    this.#options = options;
    const saved = options.stream.mappingPosition(shardId) ?? START;
    const delivered = options.delivered.get(shardId) ?? START;
    this.#position = comparePositions(saved, delivered) <= 0 ? saved : delivered;
    this.#ordinal = this.#ordinalOf(this.#position);
    this.#firstTip = options.stream.tip(shardId).ordinal;
  }

  get pendingCount(): number {
    return this.#options.stream.tip(this.#shardId).ordinal - this.#ordinal;
  }

  wake(): void {
    this.#wakeUp();
  }

  run(): Promise<void> {
    this.#ended = this.#poll();
    return this.#ended;
  }

  stop(): Promise<void> {
    this.#stopped = true;
    this.wake();
    return this.#ended;
  }

  inTurn<T>(run: () => Promise<T>): Promise<T> {
    if (this.#stopped) return run();
    return new Promise((resolve, reject) => {
      this.#turns.push(() => run().then(resolve, reject));
      this.wake();
    });
  }

  async caughtUp(timeoutMs: number): Promise<boolean> {
    const wanted = this.#options.stream.tip(this.#shardId).ordinal;
    const endMs = performance.now() + timeoutMs;
    while (this.#ordinal < wanted) {
      if (this.#stopped || performance.now() > endMs) return false;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return true;
  }

  async #poll(): Promise<void> {
    while (!this.#stopped) {
      await this.#batchIsDue();
      if (this.#stopped) return;
      try {
        await this.#deliver();
        this.#failures = 0;
        // Not at once: what killed a full batch may lie right behind.
        this.#limit = Math.min(BATCH_RECORDS_MAX, this.#limit * 2);
      } catch (error) {
        await this.#afterFailure(failureBehind(error));
      }
    }
  }

  async #deliver(): Promise<void> {
    const { pool, stream, cursorOf } = this.#options;
    const payload: AggregatePayload = {
      kind: 'records',
      shardId: this.#shardId,
      after: this.#position,
      limit: this.#limit,
    };
    const answer = (await pool.invoke(payload)) as AggregateAnswer;
    if (answer.outcome === 'trimmed') {
      // Retention never passes a cursor, so what is gone was folded.
      const cursor = await cursorOf(this.#shardId);
      if (comparePositions(cursor, this.#position) <= 0) throw this.#gapAfter(cursor);
      this.#position = cursor;
      this.#ordinal = this.#ordinalOf(cursor);
    }
    if (answer.outcome !== 'delivered') return;
    this.#position = answer.last;
    this.#ordinal += answer.count;
    stream.saveMappingPosition(this.#shardId, this.#position);
  }

  #gapAfter(cursor: Position): ReplayGapFault {
    return new ReplayGapFault(
      `the records of ${this.#shardId} after ${cursor.sequenceNumber} are gone, and no checkpoint holds them`,
      { hint: 'stream.db was trimmed or replaced: put it back, or use an empty data folder' },
    );
  }

  async #afterFailure(failure: FunctionFailure): Promise<void> {
    if (this.#stopped) return;
    const retryInMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** this.#failures);
    this.#failures++;
    this.#limit = Math.max(1, Math.floor(Math.min(this.#limit, this.pendingCount) / 2));
    this.#options.onFailure(this.#shardId, failure, retryInMs);
    await this.#wait(retryInMs, () => false);
  }

  /** Resolves when a batch is full, or its oldest record has waited long enough: at once after a start. */
  async #batchIsDue(): Promise<void> {
    await this.#wait(Number.POSITIVE_INFINITY, () => this.pendingCount > 0);
    const isDue = () => this.pendingCount >= this.#limit || this.#ordinal < this.#firstTip;
    await this.#wait(this.#options.batchWindowMs, isDue);
  }

  /** Until `isOver`, for `ms` at most; callers that asked for a turn have it meanwhile. */
  async #wait(ms: number, isOver: () => boolean): Promise<void> {
    const endMs = performance.now() + ms;
    for (;;) {
      for (let turn = this.#turns.shift(); turn !== undefined; turn = this.#turns.shift()) {
        await turn();
      }
      const leftMs = endMs - performance.now();
      if (this.#stopped || isOver() || leftMs <= 0) return;
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise<void>((resolve) => {
        if (leftMs < Number.POSITIVE_INFINITY) timer = setTimeout(resolve, leftMs);
      });
      await Promise.race([timeout, this.#woken()]);
      clearTimeout(timer);
    }
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeUp = resolve;
    });
  }

  #ordinalOf(position: Position): number {
    if (position.sequenceNumber === START.sequenceNumber) {
      const { ordinal, count } = this.#options.stream.tip(this.#shardId);
      return ordinal - count;
    }
    const from = { kind: 'AFTER', sequenceNumber: position.sequenceNumber } as const;
    const located = this.#options.stream.locate(this.#shardId, from);
    assert(located.outcome === 'located', 'mapping-position-is-of-this-stream');
    return located.ordinal - 1;
  }
}

/** What of HEAD and the stream can fail as an invocation can: the batch waits. Anything else is a bug. */
const WAITING = [
  CorruptStateFault,
  LostStateFault,
  NewerFormatFault,
  OlderFormatFault,
  ReplayGapFault,
  StreamMismatchFault,
  TransientFault,
];

function failureBehind(error: unknown): FunctionFailure {
  if (error instanceof InvocationError) return error.failure;
  if (WAITING.some((fault) => error instanceof fault)) return failureOf(error);
  throw error;
}
