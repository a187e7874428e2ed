/**
 * One run of a scenario. First everything may go wrong: whatever happens, nothing that a reader sees may be wrong (safety). Then
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
import { Deaths } from './deaths.ts';
import { EnvironmentPool } from './environment-pool.ts';
import { Epilogue } from './epilogue.ts';
import { EventSourceMapping } from './event-source-mapping.ts';
import { FaultPlan } from './fault-plan.ts';
import { faultyPorts } from './faulty-ports.ts';
import { harmedDecoder } from './harmful-record.ts';
import { backlogMsMaxOf, isExcused, isFairOf, keptMsOf, rollbackMsMinOf } from './judgement.ts';
import type { ThrownFault } from './lambda-environment.ts';
import { Operator } from './operator.ts';
import { produce, type RecordGenerator } from './producer.ts';
import { Random } from './random.ts';
import { Reader } from './reader.ts';
import type { Incident, Scenario } from './scenario.ts';
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

type Replacement = Extract<Incident, { kind: 'mapping-replaced' }>;

/** More than a restore of a long chain takes whose reads are throttled again and again; what goes in circles goes on past any bound. */
const EVENTS_MAX = 150_000;
const RETIREMENT_MS_MAX = 60_000;
const LIVENESS_MS_MAX = 4 * 3_600_000;

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
  readonly #deaths = new Deaths((kind, detail) => this.#report(kind, detail));
  readonly #checks: boolean;
  #mappings: EventSourceMapping[] = [];
  #replacements: Promise<void> = Promise.resolve();
  #readers: Reader[] = [];
  #failure: Failure | null = null;
  #isCalm = false;

  /** Without `checks` the same happens, and it is not checked. */
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
      (head) => this.#checkBacklog(head),
      (scenario.knobs.unsavedAgeMsMax ?? DEFAULT_KNOBS.unsavedAgeMsMax) === 0,
    );
    this.#pool = new EnvironmentPool(
      this.#wire,
      {
        timeoutMs: scenario.functionTimeoutMs,
        zombieRate: scenario.zombieRate,
        random: this.#random.fork('lambda'),
        onFault: (thrown) => this.#judge(thrown),
        report: this.#report,
        onEnd: () => this.#deaths.ended(),
      },
      scenario.environments,
      (connection) => this.#createHandler(connection),
    );
    this.#operator = new Operator({
      shared: this.#stores.shared,
      blobs: this.#stores.blobs,
      trimsForFallback: scenario.trimsForFallback,
      batchRecordsMax: scenario.batchRecordsMax,
      resendRate: scenario.resendRate,
      nowMs: this.#clocks.commonMs,
      arrivalMs: this.#clocks.trueMs,
      act: (work) => this.#act(work),
      wire: this.#wire,
      stream: this.#stream,
      pool: this.#pool,
      auditor: this.#auditor,
      random: this.#random.fork('operator'),
      activate: (index) => this.#activate(index),
      replaceMapping: (replacement) => this.#act(this.#replaceMapping(replacement)),
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

  /** Steps on until `goal` is reached, a check reports, or so much virtual time is over. */
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
    this.#deaths.calm();
    this.#stream.calm();
    this.#pool.thawAll();
    await this.#until(this.#endMappings(), LIVENESS_MS_MAX);
    this.#addMapping('TRIM_HORIZON').calm();
    const isThere = await this.#until(this.#untilCaughtUp(), LIVENESS_MS_MAX);
    if (this.#failure !== null) return;
    if (!isThere) return this.#report('stuck', this.#auditor.standing());
    const isRight = await this.#until(this.#newEpilogue().run(), 2 * LIVENESS_MS_MAX);
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

  /** An environment that answers for records of a slice that another owner recovers must know that its backlog is young. */
  #checkBacklog({ shardId, cursor }: Head): void {
    const shard = this.#stream.shard(shardId);
    const oldest = shard.log[Math.max(recordsUpTo(shard, cursor), shard.trimmed)];
    const nowMs = this.#clocks.trueMs();
    const ageMs = nowMs - (oldest?.arrivalMs ?? nowMs);
    if (ageMs <= backlogMsMaxOf(this.#scenario)) return;
    this.#report('answered for a backlog that is too old', `${shardId}: ${ageMs} ms`);
  }

  /** It lost records for good, or waits for a parent that did. */
  #isCutOff(shard: SimShard): boolean {
    return (
      this.#operator.isGapped(shard.id) || shard.parents.some((parent) => this.#isCutOff(parent))
    );
  }

  #newEpilogue(): Epilogue {
    const readers = [...this.#readers];
    const lastReader = this.#newReader('last-reader');
    this.#readers.push(lastReader);
    return new Epilogue({
      scenario: this.#scenario,
      wire: this.#wire,
      stream: this.#stream,
      auditor: this.#auditor,
      pool: this.#pool,
      inbox: this.#stores.shared.inbox,
      random: this.#random.fork('last records'),
      nowMs: this.#clocks.trueMs,
      generate: this.#generate,
      plan: this.#plan,
      readers,
      lastReader,
      isCutOff: (shard) => this.#isCutOff(shard),
      otherDeaths: () => this.#deaths.others,
      checks: this.#checks,
      report: this.#report,
    });
  }

  #portsOf(connection: Connection) {
    const random = this.#random.fork(connection.actor);
    const { clockSkewMsMax, knobs, baseMs } = this.#scenario;
    const skewMs = random.between(-clockSkewMsMax, clockSkewMsMax);
    const nowMs = this.#clocks.begin(connection.actor, skewMs);
    const onHeadWritten = ({ sliceId }: HeadItem) =>
      this.#auditor.writtenBy(sliceId, connection.actor);
    const parts = { nowMs, random, knobs, baseMs, onHeadWritten };
    return faultyPorts(this.#stores.shared, connection, parts);
  }

  #createHandler(connection: Connection): AggregateHandler {
    const { foldMs } = this.#scenario;
    const decoder = harmedDecoder(
      createJsonDecoder(this.#plan),
      () => connection.work(foldMs),
      (data) => {
        this.#deaths.killedBy(data);
        connection.die('of a record');
      },
    );
    const ports = this.#portsOf(connection);
    return createAggregateHandler(new Aggregator(this.#plan, decoder, ports, this.#scenario));
  }

  #newReader(name: string): Reader {
    const connection = new Connection(name, this.#wire, null);
    const deps = {
      activePlan: () => this.#plan,
      wire: this.#wire,
      stream: this.#stream,
      auditor: this.#auditor,
      random: this.#random.fork(`questions of ${name}`),
      nowMs: this.#clocks.trueMs,
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

  /** One after the other: a mapping that another replacement makes meanwhile would live beside one made at LATEST. */
  #replaceMapping(replacement: Replacement): Promise<void> {
    this.#replacements = this.#replacements.then(() => this.#replaceMappingNow(replacement));
    return this.#replacements;
  }

  async #replaceMappingNow({ from, afterMs, fresh }: Replacement): Promise<void> {
    if (this.#isCalm) return;
    if (from === 'LATEST') await this.#endMappings();
    else this.#mappings.at(-1)?.stop();
    await this.#time.sleep(afterMs);
    if (this.#isCalm) return;
    if (fresh === true) this.#pool.killAll();
    this.#addMapping(from);
  }

  /** A mapping made at LATEST may skip what another has yet to bring: no pipeline has both at once (ADR 0015). */
  async #endMappings(): Promise<void> {
    for (const mapping of this.#mappings) mapping.stop();
    await Promise.all(this.#mappings.map((mapping) => mapping.ended()));
    if (this.#mappings.some(({ from }) => from === 'LATEST')) this.#pool.killAll();
    this.#mappings = [];
  }

  /** A rollback goes on from where the plan was left, unless that is too long ago, damaged, or without its records. */
  #mayForgetPlan({ shardId, previous }: Head): boolean {
    if (previous === null || this.#operator.hasDamaged) return true;
    if (this.#clocks.trueMs() - previous.sinceMs > rollbackMsMinOf(this.#scenario)) return true;
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
      isFair: isFairOf(this.#scenario),
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
