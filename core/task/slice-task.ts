/**
 * One slice's life in one environment: rebase on HEAD, replay what is missing, fold the batch, write HEAD.
 *
 * Invariants: a memory is the fold of exactly the slice's records up to its position; records at or before the position
 * are dropped, never those at or before `delivered`; an invocation that returns has its whole batch at or before
 * `delivered`, in HEAD; a slice that is RECOVERING is brought forward by the owner of its generation only.
 */
import { assert } from '../assert.ts';
import type { Head } from '../checkpoint/head.ts';
import type { RecordDecoder } from '../decode/record-decoder.ts';
import type { Plan } from '../definition/plan.ts';
import { mayHavePassed } from '../elapsed.ts';
import { BehindFault, HeldFault, RacesLostFault, TransientFault } from '../faults.ts';
import type { CheckpointStore, Pauses, StreamRecord, SuspicionStore } from '../ports.ts';
import { comparePositions, type Position } from '../position.ts';
import { isRecovering } from '../slice/topology.ts';
import { CatchUp } from './catch-up.ts';
import { Committer } from './committer.ts';
import { inOrderOf } from './delivered-batch.ts';
import { type DeliveryReport, newReport, type Step } from './delivery-report.ts';
import { claimOf, decideEntry, fencedOff } from './entry.ts';
import { FailedRecord, FoldGuard } from './fold-guard.ts';
import { HeadHold } from './head-hold.ts';
import type { OwnerMemory, OwnerPorts } from './owner-memory.ts';
import { Rebase } from './rebase.ts';
import type { RedrivePorts } from './redrive.ts';
import { ReplayLog, type SliceIdentity } from './replay-log.ts';
import { RunMerger } from './run-merger.ts';
import { Tick } from './tick.ts';

export interface TaskPorts extends Omit<OwnerPorts, 'heads'>, RedrivePorts {
  readonly heads: CheckpointStore;
  readonly suspicions: SuspicionStore;
  readonly pauses: Pauses;
}

interface Attempt {
  readonly timeLeftMs: () => number;
  readonly report: DeliveryReport;
  /** Become the owner of a new generation first, even if another owns the slice now. */
  readonly fences: boolean;
  /** The generation that the event names: see `decideEntry`. */
  readonly claimed: number | null;
  /** It takes longer than a delivery, and would lose its races for HEAD to deliveries for ever. */
  readonly asksToHold: boolean;
  /** What to do where the slice is to be left as it is. */
  readonly held: (head: Head) => Promise<Step>;
  /** `losses`: races lost in a row, so many halvings of the work that one commit takes. */
  readonly step: (memory: OwnerMemory, losses: number) => Promise<Step>;
}

/** Across the attempts of one invocation. */
interface SeenBefore {
  /** HEAD's, at the first of them; null before. */
  generation: number | null;
}

/** Records that throw in one invocation: as many as are remembered. */
const FAILURES_MAX = 1_000;
/** Races lost in a row before the others are asked to hold back. */
const LOSSES_TO_HOLD = 2;

export class SliceTask {
  readonly #identity: SliceIdentity;
  readonly #ports: TaskPorts;
  readonly #rebase: Rebase;
  readonly #guard: FoldGuard;
  readonly #committer: Committer;
  readonly #catchUp: CatchUp;
  readonly #hold: HeadHold;
  readonly #tick: Tick;
  readonly #planHash: string;
  #memory: OwnerMemory | null = null;
  /** The generation that this task fenced. */
  #lease: number | null = null;
  #busy = false;

  /** `stateBytesMax`: bytes of memory that the slice's state may take, as it counts them itself. */
  constructor(
    identity: SliceIdentity,
    plan: Plan,
    decoder: RecordDecoder,
    ports: TaskPorts,
    stateBytesMax = Number.POSITIVE_INFINITY,
  ) {
    this.#identity = identity;
    this.#ports = ports;
    this.#planHash = plan.hash;
    this.#hold = new HeadHold(() => this.#rebase.lookAtHead(), ports);
    const held = { ...ports, heads: this.#hold.heads };
    this.#rebase = new Rebase(identity, plan, decoder, held);
    this.#guard = new FoldGuard(identity.sliceId, ports.suspicions);
    const merger = new RunMerger(ports);
    this.#committer = new Committer(merger, held);
    this.#tick = new Tick(
      { sliceId: identity.sliceId, planHash: plan.hash },
      { ...ports, guard: this.#guard, committer: this.#committer, merger },
    );
    this.#catchUp = new CatchUp({
      log: new ReplayLog(identity, ports),
      chunkRecords: ports.knobs.replayChunkRecords,
      guard: this.#guard,
      committer: this.#committer,
      commitReserveMs: ports.knobs.commitReserveMs,
      stateBytesMax,
      clock: ports.clock,
      pauses: ports.pauses,
    });
  }

  /**
   * Folds a batch of the slice's records, in order, and has HEAD answer for it. When this returns, none of them need come
   * again; when it throws, all may. Throws `TransientFault`, `BehindFault`, `HeldFault`, `ReplayGapFault`,
   * `StreamMismatchFault`, `LostStateFault` or `CorruptStateFault`.
   */
  deliver(records: readonly StreamRecord[], timeLeftMs: () => number): Promise<DeliveryReport> {
    return this.#exclusively((report) => this.#deliver(inOrderOf(records), timeLeftMs, report));
  }

  /** Completes an epoch with a base, whether or not something is new. `claimed`: see `recover`. */
  checkpoint(timeLeftMs: () => number, claimed: number | null = null): Promise<DeliveryReport> {
    return this.#exclusively((report) =>
      this.#attempt({
        timeLeftMs,
        report,
        fences: false,
        claimed,
        asksToHold: true,
        held: async (head) => {
          if (claimOf(claimed, head) === 'past') throw fencedOff(head, claimed);
          throw new HeldFault(`slice ${head.sliceId} is being recovered`, {
            hint: 'ask again when its state is OPEN',
          });
        },
        step: (memory) => this.#committer.commit(memory, report, { base: true }),
      }),
    );
  }

  /**
   * Takes the slice from its owner, if it has one, brings it up to `delivered` and opens it again. Where its time does not do,
   * the answer is unfinished and names the generation: the next event claims that, and goes on in whatever environment. Throws
   * `HeldFault` where another owner has fenced the slice since.
   */
  recover(timeLeftMs: () => number, claimed: number | null = null): Promise<DeliveryReport> {
    return this.#exclusively(async (report) => {
      const attempt: Attempt = {
        timeLeftMs,
        report,
        fences: true,
        claimed,
        asksToHold: true,
        held: async (head) => {
          const mine = report.generation ?? claimed;
          if (claimOf(mine, head) === 'current') return 'done';
          throw fencedOff(head, mine);
        },
        step: (memory) => this.#committer.commit(memory, report, { base: true }),
      };
      try {
        await this.#attempt(attempt);
      } catch (fault) {
        if (!(fault instanceof BehindFault)) throw fault;
        this.#memory?.state.undo();
        report.isUnfinished = true;
      }
    });
  }

  /**
   * What is due although no record comes: saves what is too old, does what the inbox asks, merges runs, goes on with a recovery. `claimed`: see
   * `recover`.
   */
  tick(timeLeftMs: () => number, claimed: number | null = null): Promise<DeliveryReport> {
    return this.#exclusively(async (report) => {
      if (!(await this.#tick.isDue(await this.#rebase.readHead()))) return;
      await this.#attempt({
        timeLeftMs,
        report,
        fences: false,
        claimed,
        asksToHold: true,
        held: async () => 'done',
        step: (memory, losses) => this.#tick.step(memory, { losses, timeLeftMs }, report),
      });
    });
  }

  /** Bytes of memory that the slice's state holds here, about. */
  heapBytes(): number {
    return this.#memory?.state.heapBytes() ?? 0;
  }

  async #deliver(
    records: readonly StreamRecord[],
    timeLeftMs: () => number,
    report: DeliveryReport,
  ): Promise<void> {
    const last = records.at(-1);
    let answered: Head | null = null;
    let begun: { epoch: number; position: Position } | null = null;
    await this.#attempt({
      timeLeftMs,
      report,
      fences: false,
      claimed: null,
      asksToHold: false,
      held: async (head) => {
        answered = last === undefined ? head : await this.#committer.answerWhileHeld(head, last);
        return answered === null ? 'lost' : 'done';
      },
      step: async (memory, losses) => {
        const { head, state } = memory;
        // What outlived a lost commit holds what this invocation has folded.
        const position = begun?.epoch === head.epoch ? begun.position : state.position;
        begun = { epoch: head.epoch, position };
        const limits = { timeLeftMs, halvings: losses };
        const closed = await this.#catchUp.closeGap(memory, records, limits, report);
        if (closed === 'lost') return 'lost';
        begun = { epoch: memory.head.epoch, position };
        report.folded = 0;
        for (const record of records) if (comparePositions(record, position) > 0) report.folded++;
        if ((await this.#catchUp.foldAll(memory, records, report)) === 'lost') return 'lost';
        const step = await this.#committer.answer(memory, report);
        // Not before: what was read to close a gap is undone where it lost its race.
        if (step === 'done') memory.followsSource = true;
        answered = memory.head;
        return step;
      },
    });
    const head = answered as Head | null;
    assert(
      head !== null && (last === undefined || comparePositions(last, head.delivered) <= 0),
      'an-answered-batch-is-delivered',
    );
  }

  async #exclusively(run: (report: DeliveryReport) => Promise<void>): Promise<DeliveryReport> {
    assert(!this.#busy, 'one-invocation-at-a-time');
    const report = newReport();
    this.#busy = true;
    try {
      await run(report);
    } catch (fault) {
      // The memory may hold half of a batch, or half of a delta. Only a replay that ran out of time leaves it whole.
      if (fault instanceof BehindFault) this.#memory?.state.undo();
      else this.#memory = null;
      throw fault;
    } finally {
      try {
        assert(!this.#committer.isCommitting, 'no-commit-outlives-its-invocation');
        await this.#withdraw();
      } finally {
        this.#busy = false;
      }
    }
    report.epoch = this.#memory?.head.epoch ?? 0;
    return report;
  }

  /** Takes back what says that this invocation is at work: each part, even where another one fails. */
  async #withdraw(): Promise<void> {
    try {
      await this.#hold.release(this.#identity.sliceId);
    } finally {
      try {
        await this.#tick.settle();
      } finally {
        await this.#guard.disarm(this.#memory?.head.cursor ?? null);
      }
    }
  }

  async #attempt(attempt: Attempt): Promise<void> {
    const { report } = attempt;
    const attemptsMax = this.#ports.knobs.headWriteAttemptsMax;
    const seen: SeenBefore = { generation: null };
    let losses = 0;
    let failures = 0;
    while (losses < attemptsMax) {
      const commitsBefore = report.commits;
      try {
        if ((await this.#once(attempt, seen, losses)) === 'done') return;
      } catch (error) {
        if (!(error instanceof FailedRecord)) throw error;
        this.#guard.failed(error);
        this.#memory = null;
        // No race was lost, and each record fails once: those of one batch do not use up its tries.
        failures++;
        const { commitReserveMs } = this.#ports.knobs;
        if (failures < FAILURES_MAX && attempt.timeLeftMs() >= commitReserveMs) continue;
        throw new TransientFault(
          `slice ${this.#identity.sliceId}: folding ${failures} records threw, and there is no time left to quarantine them`,
          { hint: 'the batch will come again, and this environment goes on from there' },
        );
      }
      report.refused++;
      losses = report.commits > commitsBefore ? 1 : losses + 1;
      if (attempt.asksToHold && losses >= LOSSES_TO_HOLD) {
        await this.#hold.ask(this.#identity.sliceId);
      }
    }
    throw new RacesLostFault(
      `slice ${this.#identity.sliceId}: other environments won ${attemptsMax} races for HEAD in a row`,
      { hint: 'another environment works on the same slice; the batch will come again' },
    );
  }

  async #once(attempt: Attempt, seen: SeenBefore, losses: number): Promise<Step> {
    const { held, fences, step, report, timeLeftMs } = attempt;
    let head = await this.#hold.readHead();
    // What this invocation has fenced itself, on the way, goes on with what the event claimed.
    const claimed = attempt.claimed === null ? null : (report.generation ?? attempt.claimed);
    const claim = claimOf(claimed, head);
    const isOwner = head.generation === this.#lease;
    seen.generation ??= head.generation;
    // A fence that another's followed is left to that one. One that lost to what the owner before it wrote is not.
    const isFirst = report.generation === null && head.generation === seen.generation;
    const entry = decideEntry({
      status: head.status,
      claim,
      isOwner,
      isLeaseOver: this.#isLeaseOver(head),
      asksToFence: fences && (claim !== 'none' || isFirst),
      isOwnPlan: head.planHash === this.#planHash,
    });
    if (entry === 'wait') throw new HeldFault(`slice ${head.sliceId} is ${head.status}`);
    if (entry === 'leave') return held(head);
    // Each time: HEAD may have gone on by what another environment took from another stream.
    const isProved = this.#memory === null || report.restored > 0;
    if (isProved) await this.#catchUp.proveDelivered(head);
    if (entry === 'fence') {
      const fenced = await this.#committer.fence(head);
      if (fenced === null) return 'lost';
      head = fenced;
      this.#own(head, report);
    } else if (isRecovering(head) && (isOwner || claim === 'current')) {
      report.generation = head.generation;
    }
    const memory = await this.#reach(head, report);
    if (memory === null) return 'lost';
    if (report.restored > 0) {
      this.#guard.watch();
      if (!isProved) await this.#catchUp.proveDelivered(memory.head);
    }
    const limits = { timeLeftMs, halvings: losses };
    if ((await this.#catchUp.replay(memory, limits, report)) === 'lost') return 'lost';
    return step(memory, losses);
  }

  /** Nothing was committed for so long that its owner must be gone. */
  #isLeaseOver(head: Head): boolean {
    const { clock, knobs } = this.#ports;
    return mayHavePassed(head.committedMs, knobs.recoveryLeaseMs, clock.nowMs());
  }

  /** A memory at `head`, under this code's plan; null if HEAD moved. */
  async #reach(head: Head, report: DeliveryReport): Promise<OwnerMemory | null> {
    const before = this.#memory;
    this.#memory = null;
    const reached = await this.#rebase.reach(head, before);
    if (reached.outcome === 'lost') return null;
    const { memory, restored, rewoundTo } = reached;
    if (restored) {
      report.restored++;
      this.#catchUp.assertFits(head.sliceId, memory.state.heapBytes());
    }
    if (rewoundTo !== null) {
      report.rewoundTo = rewoundTo;
      this.#own(memory.head, report);
    }
    await this.#committer.listQuarantined(memory);
    const { switchTo, lostParts } = memory;
    if (switchTo !== null || lostParts > 0) {
      const request = { base: true, ...(switchTo === null ? {} : { planOrdinal: switchTo }) };
      if ((await this.#committer.commit(memory, report, request)) === 'lost') return null;
      if (switchTo !== null) this.#own(memory.head, report);
      report.lostParts += lostParts;
    }
    this.#memory = memory;
    return memory;
  }

  /** Of a generation that this task has begun. */
  #own({ generation }: Head, report: DeliveryReport): void {
    this.#lease = generation;
    report.generation = generation;
  }
}
