/**
 * Every way in which HEAD becomes another one. Each is a function of what was read and what is known: nothing here writes.
 *
 *                 firstHead
 *                     │
 *                     ▼   fencing, or rewinding to before `delivered`: a new generation
 *    ┌────────────► OPEN ────────────────────────────────► RECOVERING ◄───────────┐
 *    │ delivering    │ ▲                                       │ │   delivering   │
 *    │ committing    │ │   committing, once it reaches         │ │   committing   │
 *    └───────────────┘ └───────────────────────────────────────┘ │   fencing      │
 *      rewinding             `delivered`                          └── rewinding ───┘
 *
 * OPENING and SEALED are kept for splits and merges of slices: nothing leads there.
 *
 * Invariants: those of `assertSuccession`, which every write of HEAD goes through.
 */
import { assert } from '../assert.ts';
import { beginningNow } from '../elapsed.ts';
import type { Knobs } from '../knobs.ts';
import { comparePositions, compareRecords, type Position, START } from '../position.ts';
import { noRecords } from '../state/counters.ts';
import { Digest } from '../state/digest.ts';
import { type ChainLink, chainSize } from './chain.ts';
import type { Head, PreviousPlan, Standing } from './head.ts';
import type { BlobReference } from './names.ts';
import { decideFloor, decidePrevious } from './retention.ts';

/** The HEAD of a slice that has folded nothing: it begins at the oldest record of its shard. */
export function firstHead(
  identity: Pick<
    Head,
    'sliceId' | 'shardId' | 'range' | 'streamId' | 'planOrdinal' | 'planHash' | 'nonce'
  >,
): Head {
  return {
    ...identity,
    status: 'OPEN',
    timeline: 0,
    epoch: 0,
    generation: 0,
    revision: 1,
    cursor: START,
    delivered: START,
    deliveredArrivalMs: 0,
    closesGap: false,
    watermarkMs: Number.NEGATIVE_INFINITY,
    digest: new Digest(),
    recordCount: 0,
    counts: noRecords(),
    partlyQuarantined: 0,
    partlyDropped: 0,
    pastDedupe: 0,
    entryCount: 0,
    stateBytes: 0,
    chainLength: 0,
    chainBytes: 0,
    base: null,
    chainSince: 0,
    baseCursor: START,
    awaitsMerge: false,
    delta: null,
    collectBelow: 0,
    replayFrom: START,
    floor: { epoch: 0, cursor: START, sinceMs: 0 },
    committedMs: 0,
    previous: null,
  };
}

/** HEAD answers for a batch that no checkpoint holds: its records, and all before them, are in a memory or in the stream. */
export function delivering(head: Head, position: Position, arrivalMs: number, nonce: string): Head {
  const isMoved = movesDelivered(head, position);
  const { sequenceNumber, subSequence } = isMoved ? position : head.delivered;
  return {
    ...head,
    revision: head.revision + 1,
    nonce,
    delivered: { sequenceNumber, subSequence },
    deliveredArrivalMs: isMoved ? arrivalMs : head.deliveredArrivalMs,
    closesGap: isMoved ? false : head.closesGap,
  };
}

/** A new owner: no memory of an earlier generation can write HEAD any more. Its lease begins now. */
export function fencing(head: Head, nonce: string, nowMs: number): Head {
  return {
    ...head,
    status: 'RECOVERING',
    generation: head.generation + 1,
    revision: head.revision + 1,
    nonce,
    committedMs: nowMs,
  };
}

/** A base that became durable, and what is needed beside it. */
export interface NewBase {
  readonly reference: BlobReference;
  readonly chainSince: number;
  /** Of all parts that it lists. */
  readonly partBytes: number;
  /** See `Head`. */
  readonly awaitsMerge: boolean;
}

/** An epoch that became durable. */
export interface NewEpoch {
  readonly standing: Standing;
  /** The record at the epoch's cursor: when it arrived, and whether it was read to close a gap. */
  readonly arrivalMs: number;
  readonly closesGap: boolean;
  readonly entryCount: number;
  /** What the next delta names, this epoch's last: what the base needs is among it. */
  readonly chain: readonly ChainLink[];
  readonly delta: BlobReference;
  readonly base: NewBase | null;
  /** The plan that the slice goes over to; null: it keeps its own. */
  readonly switchTo: { readonly planOrdinal: number; readonly planHash: string } | null;
  readonly nowMs: number;
}

/** The next epoch. One that reaches `delivered` ends a recovery. */
export function committing(before: Head, epoch: NewEpoch, knobs: Knobs): Head {
  const { standing, delta, base, nowMs } = epoch;
  const head = epoch.switchTo === null ? before : switching(before, epoch.switchTo, nowMs);
  const position = standing.cursor;
  const since = base?.chainSince ?? head.chainSince;
  const needed = chainSize(epoch.chain, since);
  const partBytes = base?.partBytes ?? head.stateBytes - head.chainBytes;
  const isMoved = movesDelivered(head, position);
  const previous = decidePrevious(head, nowMs, knobs.rollbackGraceMs);
  const retained =
    base === null
      ? { collectBelow: head.collectBelow, replayFrom: head.replayFrom, floor: head.floor }
      : decideFloor(head, previous, nowMs, knobs.retentionGraceMs);
  const resumes = head.status === 'RECOVERING' && comparePositions(position, head.delivered) >= 0;
  return {
    ...head,
    ...retained,
    ...standing,
    status: resumes ? 'OPEN' : head.status,
    epoch: head.epoch + 1,
    revision: head.revision + 1,
    nonce: delta.nonce,
    delivered: isMoved ? position : head.delivered,
    deliveredArrivalMs: isMoved ? epoch.arrivalMs : head.deliveredArrivalMs,
    closesGap: isMoved ? epoch.closesGap : head.closesGap,
    entryCount: epoch.entryCount,
    stateBytes: partBytes + needed.chainBytes,
    ...needed,
    chainSince: since,
    base: base?.reference ?? head.base,
    awaitsMerge: base?.awaitsMerge ?? head.awaitsMerge,
    baseCursor: since === head.chainSince ? head.baseCursor : position,
    delta,
    committedMs: nowMs,
    previous,
  };
}

/** Code of the plan before may hold the generation that is. */
function switching(
  head: Head,
  { planOrdinal, planHash }: { readonly planOrdinal: number; readonly planHash: string },
  nowMs: number,
): Head {
  const previous = leaving(head, nowMs);
  return { ...head, generation: head.generation + 1, planOrdinal, planHash, previous };
}

/** What a rollback to the plan of `head` goes on from. */
export function leaving(head: Head, nowMs: number): PreviousPlan | null {
  const { planHash, base, chainSince, delta, cursor } = head;
  const sinceMs = beginningNow(nowMs, head.deliveredArrivalMs);
  return delta === null ? null : { planHash, base, chainSince, delta, cursor, sinceMs };
}

/** An older epoch that HEAD goes back to, and the empty delta that follows it on a timeline of its own. */
export interface OlderEpoch {
  readonly standing: Standing;
  readonly entryCount: number;
  readonly base: BlobReference | null;
  readonly baseCursor: Position;
  readonly awaitsMerge: boolean;
  readonly chainSince: number;
  readonly partBytes: number;
  readonly delta: BlobReference;
  /** What the next delta names, the new one last. */
  readonly chain: readonly ChainLink[];
  readonly planOrdinal: number;
  readonly planHash: string;
  readonly previous: PreviousPlan | null;
  readonly nowMs: number;
}

/** `delivered` stays: what lies between is replayed before the slice is open again. */
export function rewinding(head: Head, older: OlderEpoch): Head {
  const { standing, chain, delta, partBytes, nowMs, ...rest } = older;
  const needed = chainSize(chain, older.chainSince);
  // Several bases may need the same deltas: this one may be older than the floor's.
  const replayFrom =
    comparePositions(older.baseCursor, head.replayFrom) < 0 ? older.baseCursor : head.replayFrom;
  return {
    ...head,
    ...rest,
    ...standing,
    status: comparePositions(standing.cursor, head.delivered) < 0 ? 'RECOVERING' : head.status,
    timeline: head.timeline + 1,
    epoch: head.epoch + 1,
    generation: head.generation + 1,
    revision: head.revision + 1,
    nonce: delta.nonce,
    stateBytes: partBytes + needed.chainBytes,
    ...needed,
    delta,
    // The pending floor may lie on the timeline that ends here.
    replayFrom,
    floor: { epoch: head.collectBelow, cursor: replayFrom, sinceMs: nowMs },
    committedMs: nowMs,
  };
}

/** HEAD answers for more by this position; what is told of the record at `delivered` moves with it, and only then. */
export function movesDelivered(
  { delivered }: Pick<Head, 'delivered'>,
  position: Position,
): boolean {
  return comparePositions(position, delivered) > 0;
}

/** What must hold between a HEAD and the one that replaces it: checked before each write. */
export function assertSuccession(before: Head, after: Head): void {
  assert(after.revision === before.revision + 1, 'revision-counts-writes');
  assert(after.streamId === before.streamId, 'a-slice-is-of-one-stream');
  assert(comparePositions(after.delivered, before.delivered) >= 0, 'delivered-never-goes-back');
  const isMoved = comparePositions(after.delivered, before.delivered) > 0;
  assert(isMoved || after.closesGap === before.closesGap, 'a-gap-is-marked-with-delivered');
  assert(
    isMoved || compareRecords(after.delivered, before.delivered) === 0,
    'positions-move-by-kinesis-records',
  );
  assert(after.epoch === before.epoch || after.epoch === before.epoch + 1, 'epochs-are-dense');
  assert(
    after.timeline === before.timeline || after.timeline === before.timeline + 1,
    'timelines-only-grow',
  );
  assert(after.generation >= before.generation, 'generations-only-grow');
  assertStatus(before, after);
  assert(after.planOrdinal >= before.planOrdinal, 'plan-ordinals-only-grow');
  assert(after.nonce !== before.nonce, 'each-write-has-its-nonce');
  if (after.timeline !== before.timeline) return;
  const cursorMoved = comparePositions(after.cursor, before.cursor);
  assert(cursorMoved >= 0, 'cursor-never-goes-back');
  assert(
    cursorMoved > 0 || compareRecords(after.cursor, before.cursor) === 0,
    'positions-move-by-kinesis-records',
  );
  assert(
    after.digest.count >= before.digest.count && after.recordCount >= before.recordCount,
    'digest-only-grows',
  );
  assert(after.watermarkMs >= before.watermarkMs, 'watermark-only-grows');
}

/** A slice that went back recovers; a recovery begins with an owner of its own, and ends with an epoch that has caught up. */
function assertStatus(before: Head, after: Head): void {
  const wentBack = after.timeline > before.timeline;
  const isBehind = comparePositions(after.cursor, after.delivered) < 0;
  assert(!(wentBack && isBehind) || after.status === 'RECOVERING', 'what-went-back-recovers');
  if (after.status === before.status) return;
  const change = `${before.status} → ${after.status}`;
  assert(
    change === 'OPEN → RECOVERING' || change === 'RECOVERING → OPEN',
    'status-changes-as-drawn',
    () => change,
  );
  if (after.status === 'RECOVERING') {
    assert(after.generation > before.generation, 'a-recovery-has-its-owner');
    return;
  }
  const isCaughtUp = comparePositions(after.cursor, before.delivered) >= 0;
  assert(after.epoch > before.epoch && isCaughtUp, 'a-slice-opens-once-it-has-caught-up');
}
