/**
 * A slice's log as a replay reads it: what must be there and is not is a `ReplayGapFault`, never skipped.
 */

import { ReplayGapFault, TransientFault } from '../faults.ts';
import type { Knobs } from '../knobs.ts';
import type { RecordSource, ShardDirectory, SourceRead, StreamRecord } from '../ports.ts';
import { comparePositions, type Position, START } from '../position.ts';
import { type Proved, proveDelivered } from './stream-proof.ts';

/** A slice, and the shard whose records are its log. */
export interface SliceIdentity {
  readonly sliceId: string;
  readonly shardId: string;
}

export interface ReplayPorts {
  readonly source: RecordSource;
  readonly shards: ShardDirectory;
  readonly knobs: Pick<Knobs, 'replayChunkRecords'>;
}

export type BetweenRead =
  | {
      readonly outcome: 'read';
      readonly between: StreamRecord[];
      /** Nothing else lies before the record. */
      readonly reachedFirst: boolean;
    }
  /** The stream no longer says what lay there. */
  | { readonly outcome: 'gone' };

export class ReplayLog {
  readonly #identity: SliceIdentity;
  readonly #source: RecordSource;
  readonly #shards: ShardDirectory;
  /** What the last proof read: a shard gives five answers a second, so the gap check does not ask again. */
  #proof: { readonly after: Position; readonly answer: SourceRead } | null = null;

  constructor(identity: SliceIdentity, ports: ReplayPorts) {
    this.#identity = identity;
    this.#source = ports.source;
    this.#shards = ports.shards;
  }

  /** Throws `StreamMismatchFault` if HEAD is of another stream, or its `delivered` no record of it, there or gone. */
  async proveDelivered(head: Proved): Promise<void> {
    this.#proof = null;
    const answer = await proveDelivered(head, this.#source, this.#shards);
    if (answer !== null) this.#proof = { after: head.delivered, answer };
  }

  /** At most `limit` records after `after`, the first of them at or before `delivered`: HEAD's `delivered` is one of them. */
  async readTowards(after: Position, delivered: Position, limit: number): Promise<StreamRecord[]> {
    const { shardId } = this.#identity;
    const answer = await this.#source.readAfter(shardId, after, limit);
    const first = answer.outcome === 'records' ? answer.records[0] : undefined;
    const leadsThere = first !== undefined && comparePositions(first, delivered) <= 0;
    if (answer.outcome === 'records' && leadsThere) return answer.records;
    if (answer.outcome === 'records' && first === undefined && !answer.reachedTip) {
      throw new TransientFault(`${shardId} gave no records after ${after.sequenceNumber} yet`);
    }
    throw this.gap(after, delivered);
  }

  /** What the stream has after a position and before a record that was brought, at most `limit` of it. */
  async readBetween(after: Position, first: StreamRecord, limit: number): Promise<BetweenRead> {
    const { shardId } = this.#identity;
    // Nearly always the first record is the one that was brought: one record is read, not a chunk.
    let answer = this.#proved(after) ?? (await this.#source.readAfter(shardId, after, 1));
    if (answer.outcome === 'records' && isBefore(answer.records[0], first)) {
      answer = await this.#source.readAfter(shardId, after, limit);
    }
    if (answer.outcome === 'gone') return answer;
    if (answer.outcome === 'trimmed') {
      // A slice that has folded nothing begins with the first record that is brought to it (ADR 0015), unless the stream has
      // older ones; that one may have gone since.
      const beginsThere = answer.oldest === null || comparePositions(answer.oldest, first) >= 0;
      const isNew = comparePositions(after, START) === 0;
      if (isNew && beginsThere) return { outcome: 'read', between: [], reachedFirst: true };
      return { outcome: 'gone' };
    }
    const between = answer.records.filter((record) => comparePositions(record, first) < 0);
    const reachedFirst = between.length < answer.records.length;
    if (between.length === 0 && !reachedFirst) {
      throw new TransientFault(
        `${shardId} brought ${first.sequenceNumber}, and the stream does not show it yet`,
      );
    }
    return { outcome: 'read', between, reachedFirst };
  }

  /** Once: what follows later, it does not tell. */
  #proved(after: Position): SourceRead | null {
    const proof = this.#proof;
    this.#proof = null;
    if (proof === null || comparePositions(proof.after, after) !== 0) return null;
    const { answer } = proof;
    return answer.outcome === 'records' && answer.records.length === 0 ? null : answer;
  }

  /** That records after `after`, up to `upTo`, are needed and gone. */
  gap(after: Position, upTo: Position): ReplayGapFault {
    const { sliceId, shardId } = this.#identity;
    return new ReplayGapFault(
      `slice ${sliceId} needs the records of ${shardId} after ${after.sequenceNumber} up to ${upTo.sequenceNumber}, and the stream no longer has them`,
      {
        hint: 'the stream was trimmed; restore its data, or start with an empty data folder',
      },
    );
  }
}

function isBefore(record: StreamRecord | undefined, other: StreamRecord): boolean {
  return record !== undefined && comparePositions(record, other) < 0;
}
