/**
 * A world for one slice: a log, stores, environments that may die, and an event source that brings batches at least once,
 * with other boundaries each time, to whichever environment; and what people and disks do in between. After every write of
 * HEAD a reader checks what it says against the log's prefix up to its cursor.
 */
import { MemoryPorts } from '../../adapters/memory/memory-ports.ts';
import { Aggregator } from '../../core/aggregator.ts';
import { type Head, parseHead } from '../../core/checkpoint/head.ts';
import { blobKey } from '../../core/checkpoint/names.ts';
import { type Checkpoint, restore } from '../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../core/decode/json-decoder.ts';
import type { Plan } from '../../core/definition/plan.ts';
import { BehindFault, CorruptStateFault, HeldFault, TransientFault } from '../../core/faults.ts';
import type { Knobs } from '../../core/knobs.ts';
import { quarantineId, requestId, type StreamRecord } from '../../core/ports.ts';
import { comparePositions } from '../../core/position.ts';
import { Crash, type FaultKind, FaultSwitch } from './fault-switch.ts';
import {
  insideKinesisRecords,
  laterPlan,
  nameOfRecord,
  type PlanSpan,
  type Recount,
  recount,
  SHARD,
  SLICE,
  type SmallRecord,
  smallPlan,
  toStreamRecord,
} from './small-log.ts';
import { answersOf, expectEqual, type LedgerRow, WorldReader } from './world-reader.ts';

/**
 * `redrive` asks for all that is in the quarantine. `lose-…` takes away what HEAD names, and all
 * environments start anew. `activate-…` makes a plan the
 * active one; environments get its code one after the other. `recover` is an invocation instead of a batch.
 */
export type WorldEvent =
  | 'redrive'
  | 'lose-delta'
  | 'lose-base'
  | 'activate-later'
  | 'activate-first'
  | 'recover';

export interface WorldOptions {
  readonly log: readonly (SmallRecord | null)[];
  readonly faults?: ReadonlyMap<number, FaultKind>;
  readonly environments?: number;
  /** Sizes of the batches, over and over: a batch ends with its last Kinesis record. */
  readonly batchSizes?: readonly number[];
  /** How many records are inside a Kinesis record, over and over. */
  readonly insideSizes?: readonly number[];
  readonly knobs?: Partial<Knobs>;
  /** Each so many steps there is a tick instead of a batch; 0: never. */
  readonly tickEvery?: number;
  /** By number of the step before which they happen. */
  readonly events?: Readonly<Record<number, WorldEvent>>;
}

type Work = readonly StreamRecord[] | 'checkpoint' | 'recover' | 'tick';

const STEPS_MAX = 2_000;
const SETTLE_STEPS_MAX = 40;
const STEP_MS = 1_000;
const PLENTY = () => 60_000;

export class World {
  readonly records: StreamRecord[];
  readonly stores: MemoryPorts;
  readonly faultSwitch: FaultSwitch;
  /** Epochs at which a reader looked. */
  readonly epochsSeen = new Set<number>();
  readonly timelinesSeen = new Set<number>();
  readonly statesSeen = new Set<string>();
  /** What was redriven in the end. */
  redriven: ReadonlySet<string> = new Set();
  /** Calls that had been made when the first event happened. */
  callsBeforeEvents = 0;
  /** The environment that works, and where its batch began. */
  #running = 0;
  readonly #busy = new Set<number>();
  /** One that was held up at one of several calls at once may end before the one that overtook it. */
  #overtaking: Promise<boolean> | null = null;
  #batchStart = 0;
  readonly #options: Required<Omit<WorldOptions, 'faults' | 'knobs'>>;
  readonly #plans: Plan[];
  readonly #environments: Aggregator[];
  readonly #reader: WorldReader;
  readonly #recounts = new Map<string, Recount>();
  /** Environments that get other code, the next first. */
  #rollout: { readonly index: number; readonly plan: Plan }[] = [];
  /** By which plans the records up to HEAD's cursor were folded. */
  #spans: PlanSpan[] = [{ plan: smallPlan, from: 0 }];
  #timeline = 0;
  #checked = '';
  /** The timeline whose newest epochs may be unreadable, since something was lost. */
  #damagedTimeline: number | null = null;
  readonly #requested = new Set<string>();

  constructor(options: WorldOptions) {
    const environments = options.environments ?? 2;
    const { log, batchSizes = [2, 1, 3], insideSizes = [1], tickEvery = 0, events = {} } = options;
    this.#options = { log, environments, batchSizes, insideSizes, tickEvery, events };
    this.records = insideKinesisRecords(log.map(toStreamRecord), insideSizes);
    this.stores = new MemoryPorts(1_000_000, {
      chainLengthMax: 4,
      runFanIn: 2,
      retentionGraceMs: 3_000,
      replayChunkRecords: 2,
      recoveryLeaseMs: 3_000,
      ...options.knobs,
    });
    for (const record of this.records) this.stores.source.append(SHARD, record);
    void this.stores.plans.activate({ ordinal: 1, hash: smallPlan.hash, pipeline: '{}' });
    this.faultSwitch = new FaultSwitch(
      options.faults ?? new Map(),
      (deletes) => this.checkReader(deletes),
      () => this.#overtake(this.#running),
    );
    this.#reader = new WorldReader(SLICE, this.stores.blobs);
    this.#plans = Array.from({ length: environments }, () => smallPlan);
    this.#environments = this.#plans.map((plan) => this.#newEnvironment(plan));
  }

  /** Delivers the whole log, whatever goes wrong, then checks the final answer. */
  async run(): Promise<void> {
    const { batchSizes, tickEvery, events } = this.#options;
    let next = 0;
    for (let step = 0; next < this.records.length; step++) {
      if (step > STEPS_MAX) throw new Error(`no end after ${STEPS_MAX} invocations`);
      this.stores.clock.advance(STEP_MS);
      this.#deploy();
      const event = events[step];
      if (event !== undefined && this.callsBeforeEvents === 0) {
        this.callsBeforeEvents = this.faultSwitch.calls.length;
      }
      if (event !== undefined && event !== 'recover') await this.#happen(event);
      const size = batchSizes[step % batchSizes.length] as number;
      // The event source may be behind what it was told: it brings some records again.
      this.#batchStart = this.#startAt(Math.max(0, next - (step % 3)));
      const end = this.#endAt(next + size);
      const batch = this.records.slice(this.#batchStart, end);
      const isTick = tickEvery > 0 && step % tickEvery === tickEvery - 1;
      const work = event === 'recover' ? event : isTick ? 'tick' : batch;
      const done = await this.#invoke(step % this.#environments.length, work);
      await this.#overtaking;
      if (done && work === batch) next = end;
    }
    await this.#settle();
    await this.#checkEnd();
  }

  /** Where the Kinesis record begins that a record is inside. */
  #startAt(index: number): number {
    const { sequenceNumber } = this.records[index] as StreamRecord;
    return this.records.findIndex((record) => record.sequenceNumber === sequenceNumber);
  }

  /** Behind the last record inside the Kinesis record before `end`. */
  #endAt(end: number): number {
    const isNext = end > 0 && end < this.records.length;
    return isNext && this.#startAt(end) < end
      ? this.#endAt(end + 1)
      : Math.min(end, this.records.length);
  }

  async head(): Promise<Head | null> {
    const item = await this.stores.heads.readHead(SLICE);
    return item === null ? null : parseHead(item);
  }

  /**
   * What HEAD says now must be the fold of exactly the records up to its cursor. `again`: even if an epoch has been looked at,
   * since what it reads may have gone.
   */
  async checkReader(again: boolean): Promise<void> {
    const head = await this.head();
    if (head === null) return;
    const epoch = `${head.timeline} ${head.epoch} ${head.status}`;
    if (epoch === this.#checked && !again) return;
    this.#checked = epoch;
    this.epochsSeen.add(head.epoch);
    this.timelinesSeen.add(head.timeline);
    this.statesSeen.add(`${head.status} ${head.planOrdinal}`);
    this.#follow(head);
    // Up to its first fault a world is the one without faults, whose every write has been checked.
    if (this.faultSwitch.awaitsFirstFault) return;
    const checkpoint = await this.#read(head);
    if (checkpoint === null) return;
    const ledger = await this.#reader.ledger(checkpoint);
    const expected = this.#recountOf(this.#countUpTo(head), redrivenOf(ledger));
    const what = `of epoch ${head.epoch} on timeline ${head.timeline}`;
    expectEqual(await this.#reader.answers(checkpoint), answersOf(expected), `answers ${what}`);
    expectEqual(head.counts, expected.counts, `counts ${what}`);
    const folded = this.records.slice(0, this.#countUpTo(head));
    const kinesisCount = new Set(folded.map(({ sequenceNumber }) => sequenceNumber)).size;
    const found = [head.recordCount, head.digest.count];
    expectEqual(found, [folded.length, kinesisCount], `records ${what}`);
    const inQuarantine = ledger.map(({ record }) => record);
    expectEqual(inQuarantine, expected.inQuarantine, `ledger ${what}`);
  }

  /** The checkpoint of HEAD; null where it cannot be read since something was lost. */
  async #read(head: Head): Promise<Checkpoint | null> {
    const { plan } = this.#spans.at(-1) as PlanSpan;
    try {
      return await restore(plan, head, this.stores.blobs);
    } catch (fault) {
      const isExpected = fault instanceof CorruptStateFault;
      if (isExpected && head.timeline === this.#damagedTimeline) return null;
      throw fault;
    }
  }

  /** A slice that goes back to an older epoch, or over to another plan, folds what follows its cursor by HEAD's plan. */
  #follow({ timeline, planHash, cursor }: Head): void {
    const count = this.#countUpTo({ cursor });
    if (timeline !== this.#timeline) {
      this.#timeline = timeline;
      this.#spans = this.#spans.filter(({ from }) => from === 0 || from < count);
    }
    if (planHash === this.#spans.at(-1)?.plan.hash) return;
    const plan = planHash === smallPlan.hash ? smallPlan : laterPlan;
    if (count === 0) this.#spans = [];
    this.#spans = [...this.#spans, { plan, from: count }];
  }

  #newEnvironment(plan: Plan): Aggregator {
    return new Aggregator(plan, createJsonDecoder(plan), this.faultSwitch.wrap(this.stores));
  }

  #deploy(): void {
    const next = this.#rollout.shift();
    if (next === undefined) return;
    this.#plans[next.index] = next.plan;
    this.#environments[next.index] = this.#newEnvironment(next.plan);
  }

  async #happen(event: Exclude<WorldEvent, 'recover'>): Promise<void> {
    if (event === 'redrive') return this.#requestAll();
    if (event === 'lose-delta' || event === 'lose-base') return this.#lose(event);
    const plan = event === 'activate-later' ? laterPlan : smallPlan;
    const { plans } = this.stores;
    const ordinal = ((await plans.active())?.ordinal ?? 0) + 1;
    await plans.activate({ ordinal, hash: plan.hash, pipeline: '{}' });
    this.#rollout = this.#plans.map((_, index) => ({ index, plan }));
  }

  async #requestAll(): Promise<void> {
    const { clock, nonces, inbox, quarantine } = this.stores;
    const listed = await quarantine.list(null, 1_000);
    for (const record of listed) this.#requested.add(nameOfRecord(record));
    const id = requestId(clock.nowMs(), nonces.nonce());
    const records = [...listed.map(quarantineId), `${SLICE}/of/nothing`];
    await inbox.put({ id, sliceId: SLICE, records, done: null });
  }

  async #lose(event: 'lose-delta' | 'lose-base'): Promise<void> {
    const head = await this.head();
    const reference = event === 'lose-delta' ? head?.delta : head?.base;
    if (head === null || reference == null) throw new Error(`there is nothing to ${event}`);
    this.#damagedTimeline = head.timeline;
    const { items, objects } = this.stores.blobs;
    await (reference.place === 'item' ? items : objects).delete([blobKey(SLICE, reference)]);
    for (const [index, plan] of this.#plans.entries()) {
      this.#environments[index] = this.#newEnvironment(plan);
    }
  }

  /** True if the invocation answered; otherwise it comes again. */
  async #invoke(index: number, work: Work): Promise<boolean> {
    const environment = this.#environments[index] as Aggregator;
    this.#running = index;
    this.#busy.add(index);
    this.faultSwitch.beginInvocation();
    try {
      if (typeof work === 'string') await environment[work](SHARD, PLENTY);
      else await environment.deliver(SHARD, work, PLENTY);
      return true;
    } catch (error) {
      const isOrderly = [TransientFault, BehindFault, HeldFault].some((f) => error instanceof f);
      if (!(error instanceof Crash || isOrderly)) throw error;
      if (error instanceof Crash) {
        this.#environments[index] = this.#newEnvironment(this.#plans[index] as Plan);
      }
      return false;
    } finally {
      this.#busy.delete(index);
    }
  }

  /** While one environment is held up, another is brought its batch too, with what follows it. */
  async #overtake(held: number): Promise<void> {
    const other = (held + 1) % this.#environments.length;
    if (this.#busy.has(other)) return;
    const batch = this.records.slice(this.#batchStart, this.#endAt(this.#batchStart + 5));
    this.#overtaking = this.#invoke(other, batch);
    await this.#overtaking;
    this.#running = held;
  }

  /** Ticks by environments that know nothing, until nothing is left to do; then a base. */
  async #settle(): Promise<void> {
    for (let step = 0; ; step++) {
      if (step > SETTLE_STEPS_MAX) throw new Error('the slice does not come to rest');
      this.stores.clock.advance(STEP_MS);
      await this.#overtaking;
      this.#deploy();
      const index = step % this.#environments.length;
      this.#environments[index] = this.#newEnvironment(this.#plans[index] as Plan);
      if (
        this.#rollout.length > 0 ||
        !(await this.#invoke(index, this.records.slice(this.#startAt(this.records.length - 2))))
      )
        continue;
      if (!(await this.#invoke(index, 'tick'))) continue;
      if (await this.#invoke(index, 'checkpoint')) return;
    }
  }

  async #checkEnd(): Promise<void> {
    this.#damagedTimeline = null;
    await this.checkReader(true);
    const head = (await this.head()) as Head;
    const last = this.records.at(-1) as StreamRecord;
    expectEqual(head.status, 'OPEN', 'final status');
    expectEqual(head.cursor.sequenceNumber, last.sequenceNumber, 'final cursor');
    // A rollback within the grace loses nothing: it is as if the later plan had never been.
    const rollsBack = Object.values(this.#options.events).includes('activate-first');
    if (rollsBack) expectEqual(this.#spans, [{ plan: smallPlan, from: 0 }], 'plans in the end');
    const checkpoint = (await this.#read(head)) as Checkpoint;
    const redriven = redrivenOf(await this.#reader.ledger(checkpoint));
    this.redriven = redriven;
    // A record that is no JSON cannot come back.
    const wanted = [...this.#requested].filter((each) => this.#recordOf(each) !== null);
    expectEqual([...redriven].sort(), wanted.sort(), 'redriven');
    const requests = await this.stores.inbox.list(SLICE, null, 100);
    expectEqual(requests.filter(({ done }) => done === null).length, 0, 'open requests');
    const listed = await this.stores.quarantine.list(null, 1_000);
    const names = new Set(listed.map(nameOfRecord));
    const { inQuarantine } = this.#recountOf(this.records.length, redriven);
    expectEqual([...names].sort(), [...inQuarantine].sort(), 'quarantine');
    for (const record of listed) {
      const original = this.records.find((each) => nameOfRecord(each) === nameOfRecord(record));
      expectEqual([...record.data], [...(original as StreamRecord).data], 'quarantined bytes');
    }
  }

  #recordOf(name: string): SmallRecord | null | undefined {
    const index = this.records.findIndex((record) => nameOfRecord(record) === name);
    return this.#options.log[index];
  }

  #countUpTo({ cursor }: Pick<Head, 'cursor'>): number {
    return this.records.filter((record) => comparePositions(record, cursor) <= 0).length;
  }

  #recountOf(length: number, redriven: ReadonlySet<string>): Recount {
    const spans = this.#spans.map(({ plan, from }) => `${plan.hash}@${from}`);
    const key = JSON.stringify([length, spans, [...redriven]]);
    let known = this.#recounts.get(key);
    if (known === undefined) {
      const { log } = this.#options;
      known = recount(log.slice(0, length), this.#spans, redriven, this.records);
      this.#recounts.set(key, known);
    }
    return known;
  }
}

/** Each was quarantined once, and came back once at most. */
function redrivenOf(ledger: readonly LedgerRow[]): Set<string> {
  for (const row of ledger) {
    expectEqual(
      [row.inQuarantine, row.redriven <= 1],
      [1, true],
      `ledger row ${JSON.stringify(row)}`,
    );
  }
  const redriven = ledger.filter((row) => row.redriven > 0);
  return new Set(redriven.map(({ record }) => record));
}
