/**
 * What a slice needs although no record comes: what is too old and unsaved is committed, what its inbox asks is done, and runs
 * that are too large for a commit are merged.
 *
 * Invariants: what is due is committed before a redrive begins, which may end this environment, and the next one; a merge
 * comes last, and holds nothing up.
 */
import type { Head } from '../checkpoint/head.ts';
import { RunCache } from '../checkpoint/run-cache.ts';
import { TransientFault } from '../faults.ts';
import { REDRIVE_CACHE_BYTES_MAX, REDRIVE_ROUND_MS_MAX } from '../limits.ts';
import type { Committer } from './committer.ts';
import type { DeliveryReport, Step } from './delivery-report.ts';
import type { FoldGuard } from './fold-guard.ts';
import type { OwnerMemory, OwnerPorts } from './owner-memory.ts';
import {
  finishRequests,
  forgetSettled,
  type RedrivePorts,
  readInbox,
  redriveRound,
} from './redrive.ts';
import type { RunMerger } from './run-merger.ts';

export interface TickParts extends RedrivePorts, Pick<OwnerPorts, 'blobs' | 'clock' | 'knobs'> {
  readonly guard: FoldGuard;
  readonly committer: Committer;
  readonly merger: RunMerger;
}

export interface TickLimits {
  /** Races lost in a row, so many halvings of the time that a redrive takes. */
  readonly losses: number;
  readonly timeLeftMs: () => number;
}

/** Requests that one commit does at most. */
const REQUESTS_MAX = 10;

export class Tick {
  readonly #slice: { readonly sliceId: string; readonly planHash: string };
  readonly #parts: TickParts;
  /** Kept between the rounds of one redrive. */
  #runs: RunCache;
  /** Redrive requests that this invocation has begun: how often each was, by id. */
  readonly #begun = new Map<string, number>();

  /** `planHash` is the plan of this code. */
  constructor(slice: { readonly sliceId: string; readonly planHash: string }, parts: TickParts) {
    this.#slice = slice;
    this.#parts = parts;
    this.#runs = new RunCache(parts.blobs, REDRIVE_CACHE_BYTES_MAX);
  }

  /** Whether the slice needs a memory; what needs none is done. */
  async isDue(head: Head): Promise<boolean> {
    if (head.planHash !== this.#slice.planHash || head.status !== 'OPEN') return true;
    const { open, settled } = await readInbox(head, this.#parts.inbox);
    await forgetSettled(head, settled, this.#parts);
    return open.length > 0 || this.#isDueFor(head) || this.#parts.merger.isDue(head);
  }

  /** One round, committed by itself. */
  async step(memory: OwnerMemory, limits: TickLimits, report: DeliveryReport): Promise<Step> {
    const { inbox, quarantine, guard, committer, clock, blobs } = this.#parts;
    if ((await this.#adopt(memory, report)) === 'lost') return 'lost';
    const { open } = await readInbox(memory.head, inbox);
    const requests = open.slice(0, REQUESTS_MAX);
    if (requests.length > 0 && this.#isSaveDue(memory, report, false)) {
      if ((await committer.commit(memory, report)) === 'lost') return 'lost';
    }
    const beganMs = clock.nowMs();
    const roundMs = REDRIVE_ROUND_MS_MAX / 2 ** limits.losses;
    const parts = {
      ...{ inbox, quarantine, guard, runs: this.#runs, begun: this.#begun },
      // A clock that jumps ends the round, whatever its direction.
      isOver: () => Math.abs(clock.nowMs() - beganMs) >= roundMs,
    };
    const { whole, hasFolded, isUnfinished } = await redriveRound(memory, requests, parts);
    const hasRedriven = hasFolded || whole.some(({ redriven }) => redriven.length > 0);
    if (this.#isSaveDue(memory, report, hasRedriven)) {
      const requestsDone = whole.map(({ id }) => id);
      if ((await committer.commit(memory, report, { base: false, requestsDone })) === 'lost') {
        // What was delivered meanwhile folds before what comes back, in the next try as in any other memory.
        memory.state.undo();
        return 'lost';
      }
    }
    await finishRequests(memory.head, whole, parts);
    report.isUnfinished = isUnfinished || open.length > requests.length;
    if (report.isUnfinished) return 'done';
    this.#runs = new RunCache(blobs, REDRIVE_CACHE_BYTES_MAX);
    await this.#merge(memory, limits, report);
    return 'done';
  }

  /** What a round before has finished comes into a base at once: a memory that is as new as HEAD is likely to win its race. */
  async #adopt(memory: OwnerMemory, report: DeliveryReport): Promise<Step> {
    const { merger, committer } = this.#parts;
    if (merger.finished === null || memory.head.status !== 'OPEN') return 'done';
    return committer.commit(memory, report, { base: true });
  }

  /** One round of a merge. It is not begun, nor gone on with, by an invocation that has no time left for more than a commit. */
  async #merge(memory: OwnerMemory, limits: TickLimits, report: DeliveryReport): Promise<void> {
    const { merger, clock, knobs } = this.#parts;
    const hasTime = () => limits.timeLeftMs() > knobs.commitReserveMs;
    if (memory.head.status !== 'OPEN' || !merger.isDue(memory.head) || !hasTime()) return;
    const beganMs = clock.nowMs();
    const isOver = () => Math.abs(clock.nowMs() - beganMs) >= knobs.runMergeRoundMs || !hasTime();
    report.savedBytes += await merger.round(memory, isOver);
    report.isUnfinished = merger.isDue(memory.head);
  }

  /** The invocation ends. What it began and did not end killed no environment: it lost a race, met a fault of a store, or left work. */
  async settle(): Promise<void> {
    const begun = [...this.#begun.keys()];
    this.#begun.clear();
    try {
      for (const id of begun) await this.#parts.inbox.settle(this.#slice.sliceId, id);
    } catch (fault) {
      // What goes on counting counts one death too many; it takes many.
      if (!(fault instanceof TransientFault)) throw fault;
    }
  }

  /** Whether a memory that replays up to `delivered` would have something to save. */
  #isDueFor(head: Head): boolean {
    const none = { unsavedBytes: 0, hasRedriven: false, hasCommitted: false };
    const facts = { occasion: 'tick', head, position: head.delivered, ...none } as const;
    return this.#parts.committer.due(facts) === 'checkpoint';
  }

  #isSaveDue({ head, state }: OwnerMemory, report: DeliveryReport, hasRedriven: boolean): boolean {
    const facts = {
      occasion: 'tick',
      head,
      position: state.position,
      unsavedBytes: state.uncommittedBytes(),
      hasRedriven,
      hasCommitted: report.commits > 0,
    } as const;
    return this.#parts.committer.due(facts) === 'checkpoint';
  }
}
