/**
 * One slice's life in one environment: rebase on HEAD, replay what is missing, fold the batch, flip HEAD.
 *
 * Invariants: a memory is the fold of exactly the slice's records up to its position; records at or before the position
 * are dropped, never those at or before `delivered`; an invocation that returns has its whole batch at or before
 * `delivered`, in HEAD.
 */
import { assert } from './assert.ts';
import { collect } from './checkpoint/collect.ts';
import { firstHead, type Head, headItem, parseHead } from './checkpoint/head.ts';
import { sameBlob } from './checkpoint/names.ts';
import { type PublishPorts, publish } from './checkpoint/publish.ts';
import { advance, type Checkpoint, restore } from './checkpoint/restore.ts';
import type { RecordDecoder } from './decode/record-decoder.ts';
import type { Plan } from './definition/plan.ts';
import { BehindFault, CorruptStateFault, HeldFault, TransientFault } from './faults.ts';
import type {
  QuarantinedRecord,
  QuarantineIndex,
  RecordSource,
  ShardDirectory,
  StreamRecord,
} from './ports.ts';
import { comparePositions } from './position.ts';
import { ReplayLog, type SliceIdentity } from './replay-log.ts';
import { SliceState } from './state/slice-state.ts';

export interface TaskPorts extends PublishPorts {
  readonly source: RecordSource;
  readonly shards: ShardDirectory;
  readonly quarantine: QuarantineIndex;
}

/** What one invocation did. */
export interface DeliveryReport {
  /** Records of the batch that this invocation folded; the others were in the state already. */
  folded: number;
  /** Records that were read from the stream again to catch up with `delivered`. */
  replayed: number;
  /** Times that the state was built from base and chain. */
  restored: number;
  /** Epochs completed. */
  flips: number;
  /** Flips that another owner was faster with. */
  refused: number;
  epoch: number;
}

interface Memory {
  head: Head;
  checkpoint: Checkpoint;
  state: SliceState;
  /** Arrival time of the record at the position; 0 if the position is the cursor's. */
  arrivalMs: number;
  /** What HEAD's epoch quarantined and the index may not list yet. */
  unlisted: readonly QuarantinedRecord[];
  /** True once the stream has shown that nothing lies between the position and what the event source brings. */
  followsSource: boolean;
}

type Step = 'done' | 'lost';

/** After so long without a record, what the event source brings is held against the stream. */
const GAP_CHECK_SILENCE_MS = 10_000;

export class SliceTask {
  readonly #identity: SliceIdentity;
  readonly #plan: Plan;
  readonly #decoder: RecordDecoder;
  readonly #ports: TaskPorts;
  readonly #log: ReplayLog;
  #memory: Memory | null = null;
  #busy = false;

  constructor(identity: SliceIdentity, plan: Plan, decoder: RecordDecoder, ports: TaskPorts) {
    this.#identity = identity;
    this.#plan = plan;
    this.#decoder = decoder;
    this.#ports = ports;
    const { source, knobs } = ports;
    this.#log = new ReplayLog(identity, source, knobs.replayChunkRecords);
  }

  /**
   * Folds a batch of the slice's records, in order, and makes it durable. When this returns, none of them need come
   * again; when it throws, all may. Throws `TransientFault`, `BehindFault`, `HeldFault`, `ReplayGapFault` or
   * `CorruptStateFault`.
   */
  deliver(records: readonly StreamRecord[], timeLeftMs: () => number): Promise<DeliveryReport> {
    return this.#exclusively((report) => this.#deliver(records, timeLeftMs, report));
  }

  /** Completes an epoch with a base, whether or not something is new. */
  checkpoint(timeLeftMs: () => number): Promise<DeliveryReport> {
    return this.#exclusively(async (report) => {
      await this.#attempt(async (memory) => {
        if ((await this.#replay(memory, timeLeftMs, report)) === 'lost') return 'lost';
        return this.#flip(memory, report, true);
      }, report);
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
    const inOrder = inOrderOf(records);
    await this.#attempt(async (memory) => {
      if ((await this.#replay(memory, timeLeftMs, report)) === 'lost') return 'lost';
      if ((await this.#closeGap(memory, inOrder, timeLeftMs, report)) === 'lost') return 'lost';
      const { cursor } = memory.head;
      report.folded = 0;
      for (const record of inOrder) {
        if (comparePositions(record, cursor) > 0) report.folded++;
        if (comparePositions(record, memory.state.position) > 0) this.#fold(record, memory);
      }
      // Nothing beyond the cursor: HEAD answers for the whole batch already.
      if (comparePositions(memory.state.position, cursor) === 0) return 'done';
      return this.#flip(memory, report);
    }, report);
    const last = inOrder.at(-1);
    const { head } = this.#memory as Memory;
    assert(
      last === undefined || comparePositions(last, head.delivered) <= 0,
      'an-answered-batch-is-delivered',
    );
  }

  async #exclusively(run: (report: DeliveryReport) => Promise<void>): Promise<DeliveryReport> {
    assert(!this.#busy, 'one-invocation-at-a-time');
    const report = { folded: 0, replayed: 0, restored: 0, flips: 0, refused: 0, epoch: 0 };
    this.#busy = true;
    try {
      await run(report);
    } catch (fault) {
      // The overlay may be half of a batch, the image half of a delta. Only a replay that ran out of time leaves it whole.
      if (fault instanceof BehindFault) this.#memory?.state.dropOverlay();
      else this.#memory = null;
      throw fault;
    } finally {
      this.#busy = false;
    }
    report.epoch = this.#memory?.head.epoch ?? 0;
    return report;
  }

  async #attempt(step: (memory: Memory) => Promise<Step>, report: DeliveryReport): Promise<void> {
    const attemptsMax = this.#ports.knobs.headWriteAttemptsMax;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const memory = await this.#rebase(report);
      if ((await step(memory)) === 'done') return;
      report.refused++;
    }
    throw new TransientFault(
      `slice ${this.#identity.sliceId}: HEAD moved under ${attemptsMax} flips in a row`,
      { hint: 'another environment works on the same slice; the batch will come again' },
    );
  }

  /** A memory that HEAD as it is now was read for. */
  async #rebase(report: DeliveryReport): Promise<Memory> {
    const head = await this.#readHead();
    this.#assertOurs(head);
    const { blobs } = this.#ports;
    const memory = this.#memory;
    if (memory !== null && isSameEpoch(memory.head, head)) {
      memory.head = head;
    } else if (memory === null) {
      report.restored++;
      this.#memory = this.#remember(head, await restore(this.#plan, head, blobs));
    } else {
      this.#memory = null;
      const { checkpoint } = memory;
      const next = await advance(checkpoint, memory.head.delta, head, blobs);
      const isRestored = next.image !== checkpoint.image;
      if (isRestored) report.restored++;
      this.#memory = this.#remember(head, next);
      this.#memory.followsSource = memory.followsSource && !isRestored;
    }
    await this.#listQuarantined(this.#memory as Memory);
    return this.#memory as Memory;
  }

  async #readHead(): Promise<Head> {
    const { heads, nonces } = this.#ports;
    const item = await heads.readHead(this.#identity.sliceId);
    if (item !== null) return parseHead(item);
    const range = await this.#ports.shards.hashRange(this.#identity.shardId);
    const planHash = this.#plan.hash;
    const head = firstHead({ ...this.#identity, range, planHash, nonce: nonces.nonce() });
    const answer = await heads.createHead(headItem(head));
    if (answer.outcome === 'applied') return head;
    if (answer.current !== null) return parseHead(answer.current);
    throw new TransientFault(`HEAD of ${this.#identity.sliceId} was refused and is not there`);
  }

  #assertOurs(head: Head): void {
    const { sliceId, shardId } = this.#identity;
    assert(head.sliceId === sliceId && head.shardId === shardId, 'head-is-of-this-slice');
    if (head.planHash !== this.#plan.hash) {
      throw new HeldFault(
        `slice ${sliceId} was written under plan ${head.planHash.slice(0, 8)}, this code carries ${this.#plan.hash.slice(0, 8)}`,
        {
          hint: 'run with the pipeline file that wrote this data, or start with an empty data folder',
        },
      );
    }
    if (head.status !== 'OPEN') throw new HeldFault(`slice ${sliceId} is ${head.status}`);
  }

  #remember(head: Head, checkpoint: Checkpoint): Memory {
    const state = new SliceState(checkpoint.image, this.#decoder, this.#identity.shardId);
    const unlisted = checkpoint.quarantined.map((record) => this.#identify(record, head));
    return { head, checkpoint, state, arrivalMs: 0, unlisted, followsSource: false };
  }

  #identify(record: Checkpoint['quarantined'][number], head: Head): QuarantinedRecord {
    const { sliceId, shardId } = this.#identity;
    const { timeline, epoch, planHash } = head;
    return { ...record, sliceId, shardId, timeline, epoch, planHash };
  }

  /** Folds (position, delivered], a committed chunk at a time. */
  async #replay(memory: Memory, timeLeftMs: () => number, report: DeliveryReport): Promise<Step> {
    const { state } = memory;
    while (comparePositions(state.position, memory.head.delivered) < 0) {
      const records = await this.#log.readTowards(state.position, memory.head.delivered);
      for (const record of records) {
        if (comparePositions(record, memory.head.delivered) > 0) break;
        this.#fold(record, memory);
        report.replayed++;
      }
      if (comparePositions(state.position, memory.head.delivered) >= 0) break;
      if ((await this.#commitChunk(memory, timeLeftMs, report)) === 'lost') return 'lost';
    }
    return 'done';
  }

  /**
   * Folds what lies in the stream between the position and the batch's first new record: an event source that was made
   * anew, or that knows of a later position than HEAD, does not bring it. Checked after each restore, and when the first
   * new record came long after the last delivered one.
   */
  async #closeGap(
    memory: Memory,
    batch: readonly StreamRecord[],
    timeLeftMs: () => number,
    report: DeliveryReport,
  ): Promise<Step> {
    const { state } = memory;
    const first = batch.find((record) => comparePositions(record, state.position) > 0);
    if (first === undefined) return 'done';
    const silenceMs = first.arrivalMs - memory.head.deliveredArrivalMs;
    if (memory.followsSource && silenceMs <= GAP_CHECK_SILENCE_MS) return 'done';
    for (;;) {
      const { between, reachedFirst } = await this.#log.readBetween(state.position, first);
      for (const record of between) {
        this.#fold(record, memory);
        report.replayed++;
      }
      if (reachedFirst) break;
      if ((await this.#commitChunk(memory, timeLeftMs, report)) === 'lost') return 'lost';
    }
    memory.followsSource = true;
    return 'done';
  }

  /** Commits what was folded of a replay; throws when there is no time for more. */
  async #commitChunk(
    memory: Memory,
    timeLeftMs: () => number,
    report: DeliveryReport,
  ): Promise<Step> {
    if ((await this.#flip(memory, report)) === 'lost') return 'lost';
    if (timeLeftMs() < this.#ports.knobs.flipReserveMs) throw this.#behind(memory);
    return 'done';
  }

  #fold(record: StreamRecord, memory: Memory): void {
    memory.state.fold(record);
    memory.arrivalMs = record.arrivalMs;
  }

  async #flip(memory: Memory, report: DeliveryReport, baseRequested = false): Promise<Step> {
    assert(memory.unlisted.length === 0, 'effects-precede-the-next-flip');
    const { head, checkpoint, state, arrivalMs } = memory;
    const { manifest, chain } = checkpoint;
    const basis = { head, state, manifest, chain, arrivalMs };
    const flip = await publish(basis, this.#ports, baseRequested);
    if (flip.outcome === 'refused') {
      if (flip.current === null) {
        throw new CorruptStateFault(`HEAD of ${head.sliceId} is gone`, {
          hint: 'somebody deleted it while this environment worked',
        });
      }
      return 'lost';
    }
    const quarantined = state.quarantined.map((record) => this.#identify(record, flip.head));
    state.commit();
    if (flip.compacted) state.image.forgetClosed();
    memory.head = flip.head;
    memory.checkpoint = { ...checkpoint, manifest: flip.manifest, chain: flip.chain };
    memory.unlisted = quarantined;
    report.flips++;
    await this.#listQuarantined(memory);
    if (flip.compacted) await collect(flip.head, flip.manifest, this.#ports.blobs);
    return 'done';
  }

  async #listQuarantined(memory: Memory): Promise<void> {
    if (memory.unlisted.length === 0) return;
    await this.#ports.quarantine.put(memory.unlisted);
    memory.unlisted = [];
  }

  #behind({ head, state }: Memory): BehindFault {
    return new BehindFault(
      `slice ${head.sliceId} is at ${state.position.sequenceNumber}, behind ${head.delivered.sequenceNumber}`,
      { hint: 'what was replayed so far is committed; the next invocation goes on from there' },
    );
  }
}

/** True if a memory of `mine`, overlay included, is still right under `current`. */
function isSameEpoch(mine: Head, current: Head): boolean {
  const sameDelta =
    mine.delta === null
      ? current.delta === null
      : current.delta !== null && sameBlob(mine.delta, current.delta);
  return sameDelta && mine.timeline === current.timeline && mine.epoch === current.epoch;
}

/** The batch by position. Lambda brings it so; a source that does not must not make a record look known. */
function inOrderOf(records: readonly StreamRecord[]): readonly StreamRecord[] {
  for (let index = 1; index < records.length; index++) {
    const before = records[index - 1] as StreamRecord;
    if (comparePositions(before, records[index] as StreamRecord) >= 0) {
      return [...records].sort(comparePositions);
    }
  }
  return records;
}
