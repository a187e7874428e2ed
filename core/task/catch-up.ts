/**
 * Bringing a memory forward: what HEAD answers for and no checkpoint holds, what an event source left out, and a batch.
 *
 * A replay reads and folds on while a commit is under way. Chunks that are folded before that commit is written are left to the next
 * one, together, so that a slow store makes commits fewer and not the replay longer. Where environments died, each chunk is committed
 * before the next is folded.
 *
 * Invariants: records fold in the order of their positions, each once, and nothing between two of them is left out; what returns
 * has no commit under way.
 */
import type { Head } from '../checkpoint/head.ts';
import { isSurelyYoung, mayHavePassed } from '../elapsed.ts';
import { BehindFault, StateTooLargeFault } from '../faults.ts';
import { REPLAY_GATHERED_BYTES_MAX } from '../limits.ts';
import type { Clock, Pauses, StreamRecord } from '../ports.ts';
import { comparePositions } from '../position.ts';
import type { Committer } from './committer.ts';
import type { DeliveryReport, Step } from './delivery-report.ts';
import type { FoldGuard } from './fold-guard.ts';
import type { OwnerMemory } from './owner-memory.ts';
import type { ReplayLog } from './replay-log.ts';

/** After so long without a record, what the event source brings is held against the stream. */
const GAP_CHECK_SILENCE_MS = 10_000;
/** So is a record of this age: the stream may have trimmed, a moment ago, what came before it (retention is 24 h at least). */
const GAP_CHECK_AGE_MS = 20 * 60 * 60_000;

/** To which a chunk is halved where races are lost. */
const CHUNK_RECORDS_MIN = 100;

/** Records that are folded before a commit that is under way has its turn: a few milliseconds of work. */
const FOLDED_AT_ONCE = 512;

export interface ReplayLimits {
  readonly timeLeftMs: () => number;
  /** Races lost in a row. Each halves the records that one chunk folds: a smaller commit is sooner written. */
  readonly halvings: number;
}

export interface CatchUpParts {
  readonly log: ReplayLog;
  /** Records that a replay reads and folds at a time. */
  readonly chunkRecords: number;
  readonly guard: FoldGuard;
  readonly committer: Committer;
  readonly commitReserveMs: number;
  /** Of memory, that the slice's state may take. */
  readonly stateBytesMax: number;
  readonly clock: Clock;
  readonly pauses: Pauses;
}

export class CatchUp {
  readonly #parts: CatchUpParts;

  constructor(parts: CatchUpParts) {
    this.#parts = parts;
  }

  /** HEAD and the stream belong together. Throws `StreamMismatchFault`. */
  proveDelivered(head: Head): Promise<void> {
    return this.#parts.log.proveDelivered(head);
  }

  /** Folds (position, delivered], a chunk at a time, and has all but the last of it committed. */
  replay(memory: OwnerMemory, limits: ReplayLimits, report: DeliveryReport): Promise<Step> {
    return this.#settled(memory, limits, report, () => this.#replay(memory, limits, report));
  }

  async #replay(memory: OwnerMemory, limits: ReplayLimits, report: DeliveryReport): Promise<Step> {
    const { state } = memory;
    const { chunkRecords } = this.#parts;
    const { halvings } = limits;
    const limit = Math.max(Math.min(CHUNK_RECORDS_MIN, chunkRecords), chunkRecords >> halvings);
    while (comparePositions(state.position, memory.head.delivered) < 0) {
      const { delivered } = memory.head;
      const read = await this.#parts.log.readTowards(state.position, delivered, limit);
      const records = read.filter((record) => comparePositions(record, delivered) <= 0);
      report.replayed += records.length;
      if ((await this.foldAll(memory, records, report)) === 'lost') return 'lost';
      if (comparePositions(state.position, memory.head.delivered) >= 0) break;
      if ((await this.#commitChunk(memory, limits, report)) === 'lost') return 'lost';
    }
    return 'done';
  }

  /**
   * Folds what lies in the stream between the position and the batch's first new record: an event source that was made
   * anew, or that knows of a later position than HEAD, does not bring it. Checked after each restore, when the first new
   * record came long after the last delivered one, when it is so old that others may just have gone, and when another
   * invocation began to close a gap and did not come to its end.
   */
  closeGap(
    memory: OwnerMemory,
    batch: readonly StreamRecord[],
    limits: ReplayLimits,
    report: DeliveryReport,
  ): Promise<Step> {
    return this.#settled(memory, limits, report, () => {
      return this.#closeGap(memory, batch, limits, report);
    });
  }

  async #closeGap(
    memory: OwnerMemory,
    batch: readonly StreamRecord[],
    limits: ReplayLimits,
    report: DeliveryReport,
  ): Promise<Step> {
    const { state } = memory;
    const first = batch.find((record) => comparePositions(record, state.position) > 0);
    if (first === undefined) return 'done';
    const { deliveredArrivalMs, closesGap } = memory.head;
    const isAfterSilence = mayHavePassed(deliveredArrivalMs, GAP_CHECK_SILENCE_MS, first.arrivalMs);
    const follows = memory.followsSource && !closesGap && !isAfterSilence;
    // A clock that is behind does not make records young: the newest one has arrived.
    const nowMs = Math.max(this.#parts.clock.nowMs(), batch.at(-1)?.arrivalMs ?? 0);
    if (follows && isSurelyYoung(first.arrivalMs, GAP_CHECK_AGE_MS, nowMs)) return 'done';
    for (;;) {
      const read = await this.#parts.log.readBetween(
        state.position,
        first,
        this.#parts.chunkRecords,
      );
      if (read.outcome === 'gone') {
        if (!follows) throw this.#parts.log.gap(state.position, first);
        // The record at the position expires as any other, and the batch may well follow it: that can no longer be told.
        const { sequenceNumber } = state.position;
        report.possibleGap = { after: sequenceNumber, before: first.sequenceNumber };
        return 'done';
      }
      const { between, reachedFirst } = read;
      report.replayed += between.length;
      if ((await this.foldAll(memory, between, report, true)) === 'lost') return 'lost';
      if (reachedFirst) break;
      if ((await this.#commitChunk(memory, limits, report)) === 'lost') return 'lost';
    }
    return 'done';
  }

  /** Throws `StateTooLargeFault`: not by the end of the process, which would come again with each batch. */
  assertFits(sliceId: string, bytes: number): void {
    const { stateBytesMax } = this.#parts;
    if (bytes > stateBytesMax) throw tooLarge(sliceId, bytes, stateBytesMax);
  }

  /**
   * No commit is left under way, whatever comes of the work. Where waiting for one has used up the time that is kept for a commit, what
   * follows is left to the next invocation.
   */
  async #settled(
    memory: OwnerMemory,
    { timeLeftMs }: ReplayLimits,
    report: DeliveryReport,
    work: () => Promise<Step>,
  ): Promise<Step> {
    const { committer, commitReserveMs } = this.#parts;
    try {
      if ((await work()) === 'lost') return 'lost';
      if (!committer.isCommitting) return 'done';
      if ((await committer.settle(memory, report)) === 'lost') return 'lost';
      if (timeLeftMs() < commitReserveMs) throw behind(memory);
      return 'done';
    } finally {
      await committer.abandon(memory, report);
    }
  }

  /**
   * Has what was folded of a replay committed, here or while more is folded. Each invocation commits one chunk at least; the time that
   * is kept for a commit does for one, so each is followed by a look at the clock. Throws when there is no time for more.
   */
  async #commitChunk(
    memory: OwnerMemory,
    { timeLeftMs, halvings }: ReplayLimits,
    report: DeliveryReport,
  ): Promise<Step> {
    const { committer, guard, commitReserveMs } = this.#parts;
    const isShort = () => timeLeftMs() < commitReserveMs;
    // Where races are lost, commits stay as small as their chunks.
    const mayGather = halvings === 0 && memory.state.uncommittedBytes() < REPLAY_GATHERED_BYTES_MAX;
    if (mayGather && committer.isWriting && !isShort()) return 'done';
    const wasCommitting = committer.isCommitting;
    if ((await committer.settle(memory, report)) === 'lost') return 'lost';
    const isLast = isShort();
    if (isLast && wasCommitting) throw behind(memory);
    if (!isLast && guard.chunkRecords === null) {
      committer.begin(memory);
      return 'done';
    }
    if ((await committer.commit(memory, report)) === 'lost') return 'lost';
    if (isLast || isShort()) throw behind(memory);
    return 'done';
  }

  /**
   * Folds the records after the position; where environments died, in small steps, each committed before the next. `closesGap`: no event source brought
   * them, and the batch that follows them is not in yet.
   */
  async foldAll(
    memory: OwnerMemory,
    records: readonly StreamRecord[],
    report: DeliveryReport,
    closesGap = false,
  ): Promise<Step> {
    const { state } = memory;
    const { guard, committer, pauses } = this.#parts;
    const ahead = records.filter((record) => comparePositions(record, state.position) > 0);
    let folded = 0;
    while (folded < ahead.length) {
      // A death here must be noted where the next owner restores: at the cursor, not behind what was folded before.
      const isCommitted = comparePositions(state.position, memory.head.cursor) <= 0;
      if (guard.chunkRecords !== null && !isCommitted) {
        if ((await committer.commit(memory, report)) === 'lost') return 'lost';
      }
      const left = ahead.length - folded;
      await guard.begin(state.position, left);
      const upTo = endOfKinesisRecord(ahead, folded + Math.min(left, guard.chunkRecords ?? left));
      for (let at = folded; at < upTo; at++) {
        const record = ahead[at] as StreamRecord;
        guard.fold(record, state);
        memory.arrivalMs = record.arrivalMs;
        memory.closesGap = closesGap;
        if (committer.isWriting && (at - folded) % FOLDED_AT_ONCE === 0) await pauses.yield();
      }
      await guard.end();
      folded = upTo;
    }
    if (ahead.length > 0) this.assertFits(memory.head.sliceId, state.heapBytes());
    return 'done';
  }
}

/** Where a chunk that is to end at `end` does end: behind the last record inside the same Kinesis record. */
function endOfKinesisRecord(records: readonly StreamRecord[], end: number): number {
  const { sequenceNumber } = records[end - 1] as StreamRecord;
  let whole = end;
  while (records[whole]?.sequenceNumber === sequenceNumber) whole++;
  return whole;
}

function tooLarge(sliceId: string, bytes: number, bytesMax: number): StateTooLargeFault {
  const mebibytes = (count: number) => `${(count / 2 ** 20).toFixed(1)} MiB`;
  return new StateTooLargeFault(
    `the state of ${sliceId} takes ${mebibytes(bytes)} of memory, and an environment has ${mebibytes(bytesMax)} for it`,
    {
      hint: 'give environments more memory (`dev --environment-memory`, on AWS `aggregateMemoryMiB`); or let views have fewer groups, shorter windows or lateness, or dedupe less time. What is committed stays, and records wait for as long as the stream keeps them',
    },
  );
}

function behind({ head, state }: OwnerMemory): BehindFault {
  return new BehindFault(
    `slice ${head.sliceId} is at ${state.position.sequenceNumber}, behind ${head.delivered.sequenceNumber}`,
    { hint: 'what was replayed so far is committed; the next invocation goes on from there' },
  );
}
