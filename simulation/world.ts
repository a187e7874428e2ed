/**
 * One run of a scenario. First everything may go wrong: whatever happens, nothing that anybody sees may be wrong (safety). Then
 * nothing goes wrong any more, and within a bound of virtual time everything must be there (liveness).
 */
import { Aggregator } from '../core/aggregator.ts';
import type { Head } from '../core/checkpoint/head.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { Plan } from '../core/definition/plan.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import type { HeadItem } from '../core/ports.ts';
import { comparePositions } from '../core/position.ts';
import { type AggregateHandler, createAggregateHandler } from '../functions/aggregate/handler.ts';
import { Auditor, stackOf } from './auditor.ts';
import { Clocks, EPOCH_MS } from './clocks.ts';
import { Connection, type Wire } from './connection.ts';
import { EnvironmentPool } from './environment-pool.ts';
import { EventSourceMapping } from './event-source-mapping.ts';
import { FaultPlan } from './fault-plan.ts';
import { faultyPorts } from './faulty-ports.ts';
import { isExcused, jumpsMsOf, keptMsOf } from './judgement.ts';
import type { ThrownFault } from './lambda-environment.ts';
import { Operator } from './operator.ts';
import { produce, type RecordGenerator } from './producer.ts';
import { Random } from './random.ts';
import { Reader } from './reader.ts';
import { areDone, differenceOfRequests } from './request-check.ts';
import type { Scenario } from './scenario.ts';
import { createSharedStores, type SharedStores } from './shared-stores.ts';
import { recordsUpTo, type SimShard, SimStream } from './sim-stream.ts';
import { Trace } from './trace.ts';
import { VirtualTime } from './virtual-time.ts';

export interface Failure {
  /** The promise that was broken. */
  readonly kind: string;
  readonly detail: string;
}

export interface RunResult {
  readonly failure: Failure | null;
  readonly traceHash: string;
  readonly eventCount: number;
  readonly virtualMs: number;
  readonly auditedCount: number;
  readonly answerCount: number;
  readonly timeline: readonly string[];
}

const EVENTS_MAX = 250_000;
const RETIREMENT_MS_MAX = 60_000;
const LIVENESS_MS_MAX = 4 * 3_600_000;
const FINAL_ATTEMPTS_MAX = 10;
const FINAL_PAUSE_MS = 120_000;

export class World {
  readonly #plans: readonly Plan[];
  #plan: Plan;
  #activations = 0;
  readonly #scenario: Scenario;
  readonly #generate: RecordGenerator;
  readonly #random: Random;
  readonly #time = new VirtualTime();
  readonly #trace = new Trace(() => this.#time.nowMs);
  readonly #wire: Wire;
  readonly #stream: SimStream;
  readonly #stores: SharedStores;
  readonly #auditor: Auditor;
  readonly #pool: EnvironmentPool;
  readonly #operator: Operator;
  readonly #clocks = new Clocks(this.#time);
  readonly #keptMs: number;
  readonly #checks: boolean;
  #mappings: EventSourceMapping[] = [];
  #readers: Reader[] = [];
  #failure: Failure | null = null;
  #isCalm = false;

  /** Without `checks` the same happens, and nobody looks whether it is right. */
  constructor(
    plans: readonly Plan[],
    scenario: Scenario,
    generate: RecordGenerator,
    checks: boolean,
  ) {
    this.#checks = checks;
    this.#plans = plans;
    this.#plan = plans[0] as Plan;
    this.#scenario = scenario;
    this.#generate = generate;
    this.#random = new Random(`run ${scenario.seed}`);
    const faults = new FaultPlan(scenario, this.#time, this.#random.fork('faults'));
    this.#wire = { time: this.#time, trace: this.#trace, faults };
    this.#stream = new SimStream(scenario.shards, scenario, this.#random.fork('stream'));
    this.#keptMs = keptMsOf(scenario);
    this.#stores = createSharedStores(this.#stream, this.#clocks.trueMs, (item) => {
      this.#auditor.written(item);
    });
    const auditEvery = checks ? scenario.auditEvery : Number.POSITIVE_INFINITY;
    const { sound } = this.#stores;
    const garbles = scenario.callFaults.some(({ kind }) => kind === 'garbled');
    const mayRefuse = () => garbles || this.#operator.hasDamaged;
    this.#auditor = new Auditor(
      plans,
      this.#stream,
      sound,
      auditEvery,
      this.#report,
      mayRefuse,
      (before) => this.#mayForgetPlan(before),
    );
    this.#pool = new EnvironmentPool(
      this.#wire,
      {
        timeoutMs: scenario.functionTimeoutMs,
        zombieRate: scenario.zombieRate,
        random: this.#random.fork('lambda'),
        onFault: (thrown) => this.#judge(thrown),
        report: this.#report,
      },
      scenario.environments,
      (connection) => this.#createHandler(connection),
    );
    this.#operator = new Operator({
      shared: this.#stores.shared,
      blobs: this.#stores.blobs,
      trimsForFallback: scenario.trimsForFallback,
      batchRecordsMax: scenario.batchRecordsMax,
      nowMs: this.#clocks.commonMs,
      act: (work) => this.#act(work),
      wire: this.#wire,
      stream: this.#stream,
      pool: this.#pool,
      auditor: this.#auditor,
      random: this.#random.fork('operator'),
      activate: (index) => this.#activate(index),
      replaceMapping: (from, afterMs) => this.#act(this.#replaceMapping(from, afterMs)),
      jumpClock: (actor, byMs) => this.#clocks.set(actor, byMs),
    });
  }

  async run(): Promise<RunResult> {
    await this.#register(this.#plan);
    for (let index = 0; index < this.#scenario.mappings; index++) this.#addMapping('TRIM_HORIZON');
    for (let index = 0; index < this.#scenario.readers; index++) {
      const reader = this.#newReader(`reader-${index + 1}`);
      this.#readers.push(reader);
      this.#act(reader.run(this.#scenario.questionEveryMs));
    }
    this.#act(this.#operator.tick(this.#scenario.tickEveryMs));
    const safety = Promise.all([
      produce(
        this.#scenario,
        this.#generate,
        this.#stream,
        this.#wire,
        this.#random.fork('producer'),
        EPOCH_MS,
      ),
      this.#operator.run(this.#scenario.incidents),
    ]);
    await this.#until(safety, Number.POSITIVE_INFINITY);
    if (this.#failure === null) await this.#converge();
    return {
      failure: this.#failure,
      traceHash: this.#trace.hash(),
      eventCount: this.#trace.eventCount,
      virtualMs: this.#time.nowMs,
      auditedCount: this.#auditor.auditedCount,
      answerCount: this.#readers.reduce((sum, { answerCount }) => sum + answerCount, 0),
      timeline: this.#trace.timeline(),
    };
  }

  /** Steps on until `goal` is reached, somebody reports, or so much virtual time is over. */
  async #until(goal: Promise<unknown>, boundMs: number): Promise<boolean> {
    let isReached = false;
    const startMs = this.#time.nowMs;
    this.#act(
      goal.then(() => {
        isReached = true;
      }),
    );
    while (!isReached && this.#failure === null && this.#time.nowMs - startMs < boundMs) {
      if (this.#trace.eventCount > EVENTS_MAX) this.#report('no end', `${EVENTS_MAX} events`);
      if (!(await this.#time.step())) break;
    }
    return isReached;
  }

  async #converge(): Promise<void> {
    this.#isCalm = true;
    this.#trace.add('world', 'calm', '', '');
    this.#wire.faults.calm();
    this.#stream.calm();
    this.#pool.thawAll();
    await this.#until(this.#endMappings(), LIVENESS_MS_MAX);
    this.#addMapping('TRIM_HORIZON').calm();
    const isThere = await this.#until(this.#untilCaughtUp(), LIVENESS_MS_MAX);
    if (this.#failure !== null) return;
    if (!isThere) return this.#report('stuck', this.#standing());
    const isRight = await this.#until(this.#checkEnd(), LIVENESS_MS_MAX);
    if (!isRight && this.#failure === null) this.#report('stuck', 'the last questions');
  }

  async #untilCaughtUp(): Promise<void> {
    while (!this.#stream.shards.every((shard) => this.#isCaughtUp(shard))) {
      await this.#time.sleep(1_000);
    }
  }

  #isCaughtUp(shard: SimShard): boolean {
    const tip = shard.log.at(-1);
    if (tip === undefined || this.#isCutOff(shard)) return true;
    const head = this.#auditor.head(shard.id);
    if (head === null || head.planHash !== this.#plan.hash) return false;
    return comparePositions(head.cursor, tip) === 0;
  }

  /** It lost records for good, or waits for a parent that did. */
  #isCutOff(shard: SimShard): boolean {
    return (
      this.#operator.isGapped(shard.id) || shard.parents.some((parent) => this.#isCutOff(parent))
    );
  }

  #standing(): string {
    const behind = this.#stream.shards.filter((shard) => !this.#isCaughtUp(shard));
    const texts = behind.map((shard) => {
      const head = this.#auditor.head(shard.id);
      const done = head?.digest.count ?? 0;
      return `${shard.id} has ${done} of ${shard.log.length} records at epoch ${head?.epoch ?? 0}`;
    });
    return texts.join('; ');
  }

  /** The last word: a base of each slice, then everything that a reader can ask. */
  async #checkEnd(): Promise<void> {
    for (const shard of this.#stream.shards) {
      const head = this.#auditor.head(shard.id);
      if (head === null || this.#operator.isGapped(shard.id)) continue;
      await this.#insist(`checkpoint of ${shard.id}`, async () => {
        const event = { tidemark: 'checkpoint', shardId: shard.id } as const;
        return (await this.#pool.invoke(event, shard.id)).outcome === 'returned';
      });
    }
    await this.#checkRequests();
    for (const { id } of this.#stream.shards) {
      const head = this.#auditor.head(id);
      if (head !== null && this.#checks) await this.#auditor.audit(head);
    }
    const reader = this.#newReader('last-reader');
    this.#readers.push(reader);
    for (const { name } of this.#plan.views) {
      await this.#insist(`view ${name}`, () => reader.askView(name, 7));
    }
    await this.#insist('quarantine', () => reader.askQuarantine());
    await this.#insist('status', async () => (await reader.askStatus()) !== null);
  }

  async #checkRequests(): Promise<void> {
    const { inbox } = this.#stores.shared;
    for (const { id } of this.#stream.shards) {
      if (this.#auditor.head(id) === null || this.#operator.isGapped(id)) continue;
      await this.#insist(`requests of ${id}`, async () => {
        await this.#pool.invoke({ tidemark: 'tick', shardId: id }, id);
        return areDone(this.#auditor.head(id) as Head, inbox);
      });
      if (!this.#checks) continue;
      const head = this.#auditor.head(id) as Head;
      const wrong = await differenceOfRequests(head, inbox, this.#auditor);
      if (wrong !== null) this.#report('wrong request', `${id}: ${wrong}`);
    }
  }

  async #insist(what: string, ask: () => Promise<boolean>): Promise<void> {
    for (let attempt = 0; attempt < FINAL_ATTEMPTS_MAX; attempt++) {
      if (await ask()) return;
      await this.#time.sleep(FINAL_PAUSE_MS);
    }
    this.#report(`no answer: ${what}`, 'a reader got none although nothing goes wrong any more');
  }

  #portsOf(connection: Connection) {
    const random = this.#random.fork(connection.actor);
    const { clockSkewMsMax, knobs } = this.#scenario;
    const skewMs = random.between(-clockSkewMsMax, clockSkewMsMax);
    const nowMs = this.#clocks.begin(connection.actor, skewMs);
    const onHeadWritten = ({ sliceId }: HeadItem) =>
      this.#auditor.writtenBy(sliceId, connection.actor);
    return faultyPorts(this.#stores.shared, connection, { nowMs, random, knobs, onHeadWritten });
  }

  #createHandler(connection: Connection): AggregateHandler {
    const decoder = createJsonDecoder(this.#plan);
    const ports = this.#portsOf(connection);
    return createAggregateHandler(
      new Aggregator(this.#plan, decoder, ports, this.#scenario.stateBytesMax),
    );
  }

  #newReader(name: string): Reader {
    const connection = new Connection(name, this.#wire, null);
    const deps = {
      activePlan: () => this.#plan,
      wire: this.#wire,
      stream: this.#stream,
      auditor: this.#auditor,
      random: this.#random.fork(`questions of ${name}`),
      keptMs: this.#keptMs,
      isDamaged: () => this.#operator.hasDamaged,
      report: this.#report,
      checks: this.#checks,
    };
    return new Reader(deps, connection, this.#portsOf(connection));
  }

  #addMapping(from: 'LATEST' | 'TRIM_HORIZON'): EventSourceMapping {
    const deps = {
      time: this.#time,
      stream: this.#stream,
      streamName: this.#plan.stream,
      pool: this.#pool,
      scenario: this.#scenario,
      random: this.#random.fork(`mapping of ${this.#clocks.trueMs()} ${this.#mappings.length}`),
      onAnswered: this.#auditor.answered.bind(this.#auditor),
      act: (work: Promise<unknown>) => this.#act(work),
    };
    const mapping = new EventSourceMapping(deps, from);
    this.#mappings.push(mapping);
    return mapping;
  }

  /** Deploys another plan: new environments carry it at once, those of before go on for a while. */
  async #activate(index: number): Promise<void> {
    const plan = this.#plans[index];
    if (plan === undefined || plan === this.#plan) return;
    this.#plan = plan;
    const random = this.#random.fork(`deployment ${this.#activations}`);
    this.#pool.retire(() => random.below(RETIREMENT_MS_MAX));
    await this.#register(plan);
  }

  async #register({ hash }: Plan): Promise<void> {
    const ordinal = ++this.#activations;
    await this.#stores.shared.plans.activate({ ordinal, hash, pipeline: '' });
  }

  async #replaceMapping(from: 'LATEST' | 'TRIM_HORIZON', afterMs: number): Promise<void> {
    if (from === 'LATEST') await this.#endMappings();
    else this.#mappings.at(-1)?.stop();
    await this.#time.sleep(afterMs);
    if (!this.#isCalm) this.#addMapping(from);
  }

  /** A mapping made at LATEST may skip what another has yet to bring: nobody has both at once (ADR 0015). */
  async #endMappings(): Promise<void> {
    for (const mapping of this.#mappings) mapping.stop();
    await Promise.all(this.#mappings.map((mapping) => mapping.ended()));
    if (this.#mappings.some(({ from }) => from === 'LATEST')) this.#pool.killAll();
    this.#mappings = [];
  }

  /** A rollback goes on from where the plan was left, unless that is too long ago, damaged, or without its records. */
  #mayForgetPlan({ shardId, previous }: Head): boolean {
    // What comes garbled twice is taken for damaged.
    const isGarbled = this.#scenario.callFaults.some(({ kind }) => kind === 'garbled');
    if (previous === null || isGarbled || this.#operator.hasDamaged) return true;
    const { rollbackGraceMs } = { ...DEFAULT_KNOBS, ...this.#scenario.knobs };
    const clockErrorMs = 2 * this.#scenario.clockSkewMsMax + jumpsMsOf(this.#scenario);
    if (this.#clocks.trueMs() - previous.sinceMs > rollbackGraceMs - clockErrorMs) return true;
    const shard = this.#stream.shard(shardId);
    return recordsUpTo(shard, previous.cursor) < shard.trimmed;
  }

  #judge(thrown: ThrownFault): void {
    const { fault, environment, shardId, asked, tookMs } = thrown;
    const beganMs = this.#time.nowMs - tookMs;
    const circumstances = {
      keptMs: this.#keptMs,
      isGapped: this.#operator.isGapped(shardId),
      sawTrim: beganMs < this.#operator.trimmedMs(shardId),
      plansChanged: this.#activations > 1,
    };
    if (isExcused(thrown, circumstances)) return;
    const kind = fault instanceof Error ? fault.name : 'no error';
    this.#report(kind, `${environment}, ${asked} on ${shardId}: ${stackOf(fault)}`);
  }

  readonly #report = (kind: string, detail: string): void => {
    this.#trace.add('world', 'FAILED', kind, '');
    this.#failure ??= { kind, detail };
  };

  #act(work: Promise<unknown>): void {
    work.catch((fault: unknown) => this.#report('the simulation broke', stackOf(fault)));
  }
}
