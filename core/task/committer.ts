/**
 * Writing HEAD for a memory: an epoch of what it folded, or an answer for records that it, or another owner, still has to
 * save.
 *
 * A commit may be under way while the records that follow are folded:
 *
 *   fold k ─ begin commit k ─ fold k + 1 ─ settle commit k ─ begin commit k + 1 ─ …
 *
 * Invariants: one commit at a time; each that was begun is settled before its invocation returns.
 */
import { assert } from '../assert.ts';
import { collect } from '../checkpoint/collect.ts';
import { type CommitOutcome, type CommitRequest, prepareCommit } from '../checkpoint/commit.ts';
import type { Head } from '../checkpoint/head.ts';
import { writeHead } from '../checkpoint/head-write.ts';
import type { Manifest } from '../checkpoint/manifest.ts';
import { delivering, fencing } from '../checkpoint/transitions.ts';
import { isSurelyYoung } from '../elapsed.ts';
import { CorruptStateFault, HeldFault, TransientFault } from '../faults.ts';
import type { StreamRecord } from '../ports.ts';
import { comparePositions } from '../position.ts';
import { isRecovering } from '../slice/topology.ts';
import { type CadenceDecision, type CadenceFacts, decideCadence } from './cadence.ts';
import type { DeliveryReport, Step } from './delivery-report.ts';
import { type OwnerMemory, type OwnerPorts, quarantinedBy } from './owner-memory.ts';
import type { RunMerger } from './run-merger.ts';
import { proveDelivered } from './stream-proof.ts';

/** What it commits is sealed in the state. */
interface CommitUnderWay {
  /** Never rejects by itself: nothing may be waiting for it yet. */
  readonly written: Promise<{ readonly outcome: CommitOutcome } | { readonly fault: unknown }>;
  isWritten: boolean;
  /** Of the last record that it commits. */
  readonly arrivalMs: number;
  readonly closesGap: boolean;
}

export class Committer {
  readonly #merger: RunMerger;
  readonly #ports: OwnerPorts;
  /** This environment has collected from the beginning: what others left by a crash before that is gone. */
  #isSwept = false;
  #underWay: CommitUnderWay | null = null;

  constructor(merger: RunMerger, ports: OwnerPorts) {
    this.#merger = merger;
    this.#ports = ports;
  }

  /** Has HEAD answer for what was folded: by an epoch, or by `delivered` alone. */
  async answer(memory: OwnerMemory, report: DeliveryReport): Promise<Step> {
    const { head, state, arrivalMs } = memory;
    const { position } = state;
    const due = this.due({
      occasion: 'batch',
      head,
      position,
      unsavedBytes: state.uncommittedBytes(),
      hasRedriven: false,
      hasCommitted: report.commits > 0,
    });
    if (due === 'checkpoint') return this.commit(memory, report);
    // The owner of a recovery would answer for records, and leave the slice as far behind as it was.
    assert(!isRecovering(head), 'an-owner-brings-its-recovery-forward');
    if (due === 'nothing') return 'done';
    assert(state.isWhole, 'a-commit-falls-between-kinesis-records');
    const nonce = this.#ports.nonces.nonce();
    const after = await this.#write(head, delivering(head, position, arrivalMs, nonce));
    if (after === null) return 'lost';
    memory.head = after;
    return 'done';
  }

  /** What is due now. */
  due(facts: Omit<CadenceFacts, 'nowMs'>): CadenceDecision {
    const { clock, knobs } = this.#ports;
    return decideCadence({ ...facts, nowMs: clock.nowMs() }, knobs);
  }

  /** Commits all that was folded. */
  async commit(
    memory: OwnerMemory,
    report: DeliveryReport,
    request: CommitRequest = { base: false },
  ): Promise<Step> {
    return this.#applied(memory, report, await this.#prepare(memory, request)());
  }

  /**
   * Begins to commit all that was folded. Until it is settled, the memory may be folded on, and nothing else.
   */
  begin(memory: OwnerMemory): void {
    const write = this.#prepare(memory, { base: false });
    memory.state.seal();
    const { arrivalMs, closesGap } = memory;
    const written = write()
      .then(
        (outcome) => ({ outcome }),
        (fault: unknown) => ({ fault }),
      )
      .finally(() => {
        underWay.isWritten = true;
      });
    const underWay = { written, isWritten: false, arrivalMs, closesGap };
    this.#underWay = underWay;
  }

  /** True while a commit was begun and its outcome is not known. */
  get isWriting(): boolean {
    return this.#underWay?.isWritten === false;
  }

  /** True while a commit was begun and is not settled. */
  get isCommitting(): boolean {
    return this.#underWay !== null;
  }

  /** Waits for the commit that was begun, if one was. Where it is lost, what was folded after it is undone. */
  async settle(memory: OwnerMemory, report: DeliveryReport): Promise<Step> {
    const underWay = this.#underWay;
    if (underWay === null) return 'done';
    const settled = await underWay.written;
    this.#underWay = null;
    if ('fault' in settled) throw settled.fault;
    if (settled.outcome.outcome === 'refused') {
      const { recordCount } = memory.state.progress;
      memory.state.reopen();
      // They will be read and folded again.
      report.replayed -= recordCount - memory.state.progress.recordCount;
      memory.arrivalMs = underWay.arrivalMs;
      memory.closesGap = underWay.closesGap;
    }
    return this.#applied(memory, report, settled.outcome);
  }

  /** Waits for the commit that was begun, whatever becomes of it: its memory is of no more use. */
  async abandon(memory: OwnerMemory, report: DeliveryReport): Promise<void> {
    const settled = await this.#underWay?.written;
    this.#underWay = null;
    if (settled === undefined) return;
    // It may have moved the floor.
    this.#isSwept = false;
    if ('fault' in settled || settled.outcome.outcome === 'refused') return;
    if (settled.outcome.compacted) this.#merger.settle();
    addCommit(report, settled.outcome, memory.head);
  }

  #prepare(memory: OwnerMemory, request: CommitRequest): () => Promise<CommitOutcome> {
    assert(this.#underWay === null, 'one-commit-at-a-time');
    assert(memory.unlisted.length === 0, 'effects-precede-the-next-commit');
    const { head, checkpoint, state, arrivalMs, closesGap } = memory;
    const { manifest, parts, recent, chain } = checkpoint;
    const mergedRun = this.#merger.finished;
    const checkpointed = { manifest, parts, recent, chain };
    const basis = { head, state, ...checkpointed, mergedRun, arrivalMs, closesGap };
    return prepareCommit(basis, this.#ports, request);
  }

  async #applied(
    memory: OwnerMemory,
    report: DeliveryReport,
    written: CommitOutcome,
  ): Promise<Step> {
    const { head, checkpoint, state } = memory;
    const { parts, recent } = checkpoint;
    if (written.outcome === 'refused') {
      if (written.current === null) throw headIsGone(head.sliceId);
      return 'lost';
    }
    const quarantined = written.quarantined.map((record) => quarantinedBy(written.head, record));
    state.commit();
    parts.add(written.touched, state.image, written.head.epoch);
    recent.add(written.changed, state.image, state.image.plan.hash);
    if (written.mergedAfter !== null) recent.merge(written.mergedAfter);
    if (written.compacted) this.#merger.settle();
    if (written.compacted) parts.adopt(written.manifest, state.image, written.head.epoch);
    if (written.manifest.runsEpoch === written.head.epoch) state.image.forgetLate();
    memory.head = written.head;
    memory.checkpoint = {
      ...checkpoint,
      manifest: written.manifest,
      chain: written.chain,
      baseCursor: written.head.baseCursor,
    };
    memory.unlisted = quarantined;
    memory.switchTo = null;
    memory.lostParts = 0;
    addCommit(report, written, head);
    await this.listQuarantined(memory);
    if (written.compacted) await this.#collect(head, written.head, written.manifest);
    return 'done';
  }

  /** Nothing is due while the floor stays, unless it is not known that all below it is gone. */
  async #collect(before: Head, after: Head, manifest: Manifest): Promise<void> {
    const isSwept = this.#isSwept;
    if (isSwept && before.collectBelow === after.collectBelow) return;
    this.#isSwept = false;
    await collect(after, manifest, this.#ports.blobs, isSwept ? before.collectBelow : 0);
    this.#isSwept = true;
  }

  async listQuarantined(memory: OwnerMemory): Promise<void> {
    if (memory.unlisted.length === 0) return;
    await this.#ports.quarantine.put(memory.unlisted);
    memory.unlisted = [];
  }

  /** Another owner recovers the slice and replays up to `delivered`: it will fold these records. Null: HEAD moved. */
  async answerWhileHeld(head: Head, last: StreamRecord): Promise<Head | null> {
    await proveDelivered(head, this.#ports.source, this.#ports.shards);
    if (comparePositions(last, head.delivered) <= 0) return head;
    await this.#assertRecoverable(head, last.arrivalMs);
    const { nonces } = this.#ports;
    return this.#write(head, delivering(head, last, last.arrivalMs, nonces.nonce()));
  }

  /** The owner still has to replay from the cursor: deliveries must not outrun what the stream keeps. */
  async #assertRecoverable(head: Head, newestArrivalMs: number): Promise<void> {
    const { source, clock, knobs } = this.#ports;
    const answer = await source.readAfter(head.shardId, head.cursor, 1);
    const oldest = answer.outcome === 'records' ? answer.records[0] : undefined;
    // There is a record: the batch itself lies after the cursor. A read that is empty does not make the backlog young.
    if (answer.outcome === 'records' && oldest === undefined) {
      throw new TransientFault(
        `${head.shardId} gave no records after ${head.cursor.sequenceNumber} yet`,
      );
    }
    // A clock that is behind does not make the backlog young: the newest record has arrived.
    const nowMs = Math.max(clock.nowMs(), newestArrivalMs);
    const { recoveryBacklogMsMax } = knobs;
    if (oldest !== undefined && isSurelyYoung(oldest.arrivalMs, recoveryBacklogMsMax, nowMs))
      return;
    throw new HeldFault(`slice ${head.sliceId} waits for its recovery, which is far behind`, {
      hint: 'see why its owners do not come forward; the records stay in the stream',
    });
  }

  async #write(before: Head, after: Head): Promise<Head | null> {
    const written = await writeHead(before, after, this.#ports.heads);
    if (written.outcome === 'applied') return written.head;
    if (written.current === null) throw headIsGone(before.sliceId);
    return null;
  }

  /** Makes this task the owner of a new generation; null: HEAD moved. */
  async fence(head: Head): Promise<Head | null> {
    const { clock, nonces } = this.#ports;
    return this.#write(head, fencing(head, nonces.nonce(), clock.nowMs()));
  }
}

/** `before`: HEAD that it replaced. */
function addCommit(
  report: DeliveryReport,
  { head, quarantined, observed }: Extract<CommitOutcome, { outcome: 'applied' }>,
  before: Head,
): void {
  report.commits++;
  report.savedBytes += observed.writtenBytes;
  report.savedEntries += observed.changedEntries;
  report.writeMs += observed.writeMs;
  report.headMs += observed.headMs;
  report.quarantined += quarantined.length;
  report.late += head.counts.late - before.counts.late;
}

function headIsGone(sliceId: string): CorruptStateFault {
  return new CorruptStateFault(`HEAD of ${sliceId} is gone`, {
    hint: 'it was deleted while this environment worked',
  });
}
