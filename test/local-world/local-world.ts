/**
 * A data folder's lives under one seed: records come, are folded, saved and asked for; environments die at any call, processes at
 * any step; and people copy files, put some of them back, and lose others. Files, SQLite and the stores are real; the clock,
 * nonces and the order of all that happens are the seed's.
 *
 * What must hold: the files belong together, and then all that is acknowledged is counted once; or a named fault says that they
 * do not, and what was there before can go on.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseHead } from '../../core/checkpoint/head.ts';
import { BehindFault, CorruptStateFault, HeldFault, TransientFault } from '../../core/faults.ts';
import { DEFAULT_KNOBS } from '../../core/knobs.ts';
import type { StreamRecord } from '../../core/ports.ts';
import { quarantineId, requestId } from '../../core/ports.ts';
import { countUpTo, START } from '../../core/position.ts';
import { Queries } from '../../core/query/queries.ts';
import { Auditor } from '../../simulation/auditor.ts';
import type { RecordGenerator } from '../../simulation/producer.ts';
import { EVERYTHING } from '../../simulation/question.ts';
import { Random } from '../../simulation/random.ts';
import { differenceOfAnswer } from '../../simulation/reader-check.ts';
import type { SimShard } from '../../simulation/sim-stream.ts';
import { smallPlan, smallRecords } from '../../simulation/small-pipeline.ts';
import { type Copy, expectedFault, isPointless, MIXES, type Mix, mixFiles } from './file-mix.ts';
import { Killed, type LifeOptions, LocalLife } from './local-life.ts';

const EPOCH_MS = 1_760_000_000_000;
const STEPS = 60;
const ATTEMPTS_MAX = 12;
const PLENTY = () => 60_000;

export class LocalWorld {
  /** What happened, a line each: the same seed gives the same. */
  readonly story: string[] = [];
  /** How often files that do not belong together were refused. */
  refusals = 0;
  readonly #root: string;
  readonly #random: Random;
  readonly #generate: RecordGenerator = smallRecords();
  readonly #shards: SimShard[];
  readonly #auditor: Auditor;
  readonly #options: LifeOptions;
  readonly #copies: Copy[] = [];
  #life: LocalLife | null = null;
  #lives = 0;
  /** How often files were put back, or lost. */
  #history = 0;
  #nowMs = 0;
  #failure: string | null = null;
  /** Where to go back to once what was lost is found to be needed. */
  #beforeLoss: Copy | null = null;

  constructor(seed: number, root: string) {
    this.#root = root;
    this.#random = new Random(`local ${seed}`);
    const { knobs, shardCount } = this.#draw();
    this.#shards = Array.from({ length: shardCount }, (_, index) => ({
      id: `shardId-${String(index).padStart(12, '0')}`,
      range: { start: '', end: '' },
      parents: [],
      log: [],
      trimmed: 0,
      isClosed: false,
    }));
    const nonces = this.#random.fork('nonces');
    const word = () => nonces.word().toString(16).padStart(8, '0');
    this.#options = {
      plan: smallPlan,
      shardCount,
      process: {
        clock: { nowMs: () => EPOCH_MS + this.#nowMs },
        pauses: { pause: async () => {}, yield: async () => {} },
        nonces: { nonce: () => word() + word() },
        knobs: { ...DEFAULT_KNOBS, ...knobs },
      },
      onHead: (item) => {
        this.#auditor.written(item);
        return this.#auditor.learn(parseHead(item));
      },
    };
    this.#auditor = this.#newAuditor();
  }

  /** Null if every promise was kept. */
  async run(): Promise<string | null> {
    await this.#open(join(this.#root, 'life-0'));
    for (let step = 0; step < STEPS && this.#failure === null; step++) {
      this.#nowMs += this.#random.below(this.#random.pick([100, 5_000, 90_000]));
      await this.#step();
    }
    if (this.#failure === null) await this.#settle();
    this.#current().close();
    return this.#failure;
  }

  #draw() {
    const random = this.#random.fork('knobs');
    const knobs = {
      chainLengthMax: random.pick([2, 5, 64]),
      runFanIn: random.pick([2, 8]),
      runBlockBytes: random.pick([60, DEFAULT_KNOBS.runBlockBytes]),
      retentionGraceMs: random.pick([60_000, DEFAULT_KNOBS.retentionGraceMs]),
      replayChunkRecords: random.pick([3, 1_000]),
      unsavedAgeMsMax: random.pick([0, 0, 30_000]),
      recoveryLeaseMs: 5_000,
    };
    return { knobs, shardCount: random.between(1, 3) };
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const kind = random.below(20);
    if (kind < 6) return this.#put(random.between(1, 12));
    if (kind < 13) return this.#work(random.pick(this.#shards));
    if (kind < 15) return this.#ask();
    if (kind === 15) return this.#redrive();
    if (kind === 16) return this.#copy();
    if (kind < 19) return this.#restart(random.chance(0.5));
    return this.#mix(random.pick(MIXES));
  }

  #put(count: number): void {
    const { stream } = this.#current().stores;
    const made = Array.from({ length: count }, () =>
      this.#generate(this.#random, EPOCH_MS + this.#nowMs),
    );
    const appended = stream.append(made.map((each) => ({ ...each, explicitHashKey: null })));
    for (const [index, { shardId, sequenceNumber }] of appended.entries()) {
      const { partitionKey, data } = made[index] as (typeof made)[number];
      const shard = this.#shards.find(({ id }) => id === shardId) as SimShard;
      // Its arrival time is the stream's to say; everything else is what was sent.
      const arrivalMs = this.#arrivalOf(shard, sequenceNumber);
      shard.log.push({ sequenceNumber, subSequence: 0, partitionKey, arrivalMs, data });
    }
    this.#tell(`put ${count}`);
  }

  #arrivalOf({ id, log }: SimShard, sequenceNumber: string): number {
    const { stream } = this.#current().stores;
    const limits = { countMax: 1, bytesMax: 10_000_000 };
    const [record] = stream.readFrom(id, log.length + 1, limits).records;
    if (record?.sequenceNumber !== sequenceNumber) {
      this.#fail(`${id} does not have ${sequenceNumber}, which it has acknowledged`);
    }
    return record?.arrivalMs ?? 0;
  }

  /** A batch from where the mapping is, or an invocation without one; now and then its environment dies. */
  async #work(shard: SimShard): Promise<void> {
    const kind = this.#random.below(8);
    if (kind === 0) await this.#invoke(shard, 'checkpoint');
    else if (kind <= 2) await this.#invoke(shard, 'tick');
    else if (kind === 3) await this.#invoke(shard, 'recover');
    else await this.#invoke(shard, 'deliver');
  }

  async #invoke(
    { id, log }: SimShard,
    what: 'checkpoint' | 'tick' | 'recover' | 'deliver',
    isCalm = false,
  ): Promise<boolean> {
    const life = this.#current();
    const { stream } = life.stores;
    const from = stream.mappingPosition(id) ?? START;
    const batch = log.slice(countUpTo(log, from)).slice(0, this.#random.between(1, 20));
    if (what === 'deliver' && batch.length === 0) return true;
    const killAt = !isCalm && this.#random.chance(0.25) ? this.#random.between(1, 12) : null;
    try {
      await life.invoke(
        (aggregator) =>
          what === 'deliver' ? aggregator.deliver(id, batch, PLENTY) : aggregator[what](id, PLENTY),
        killAt,
        this.#random.chance(0.5),
      );
      const last = batch.at(-1);
      if (what === 'deliver' && last !== undefined) stream.saveMappingPosition(id, last);
      this.#tell(`${what} ${id.slice(-1)}`);
    } catch (fault) {
      this.#tell(`${what} ${id.slice(-1)}: ${fault instanceof Error ? fault.name : fault}`);
      await this.#judge(fault);
      return false;
    }
    await this.#audit(id);
    return true;
  }

  async #judge(fault: unknown): Promise<void> {
    if (fault instanceof Killed || fault instanceof TransientFault) return;
    if (fault instanceof HeldFault || fault instanceof BehindFault) return;
    if (fault instanceof CorruptStateFault && this.#beforeLoss !== null) return this.#goBack();
    this.#fail(`${fault instanceof Error ? fault.stack : fault}`);
  }

  async #audit(shardId: string): Promise<void> {
    const head = this.#auditor.head(shardId);
    // What is lost for good is found when it is needed.
    if (head !== null && this.#beforeLoss === null) await this.#auditor.audit(head);
  }

  async #ask(): Promise<void> {
    const view = this.#random.pick(smallPlan.views);
    const items = await this.#current().ports.heads.listHeads();
    const asked = await new Queries(smallPlan, this.#current().ports).view(view.name, [
      ['limit', '1000'],
    ]);
    this.#tell(`ask ${view.name}`);
    if (!asked.ok) {
      if (this.#beforeLoss === null) this.#fail(`${view.name}: ${asked.problem.detail}`);
      return;
    }
    const pages = [asked.value];
    const standing = this.#shards.map((shard) => ({ shard, records: shard.log.length }));
    const answered = { plan: smallPlan, view, question: EVERYTHING, pages, standing };
    const difference = differenceOfAnswer(answered, [items.map(parseHead)], this.#auditor);
    if (difference !== null) this.#fail(`${view.name}: ${difference}`);
    if (asked.value.damaged !== undefined && this.#beforeLoss === null) {
      this.#fail(`${view.name} is damaged, and nothing was lost`);
    }
  }

  async #redrive(): Promise<void> {
    const { quarantine, inbox, nonces, clock } = this.#current().ports;
    const listed = await quarantine.list(null, 1_000);
    if (listed.length === 0) return;
    const { sliceId } = this.#random.pick(listed);
    const mine = listed.filter((record) => record.sliceId === sliceId).map(quarantineId);
    const records = [this.#random.pick(mine), this.#random.pick(mine)];
    await inbox.put({ id: requestId(clock.nowMs(), nonces.nonce()), sliceId, records, done: null });
    this.#tell('redrive');
  }

  /** A person copies the folder while it is in use: between two writes, as a snapshot of the disk would. */
  #copy(): void {
    this.#copies.push(this.#copyTo(join(this.#root, `copy-${this.#copies.length}`)));
    this.#tell('copy');
  }

  #copyTo(path: string): Copy {
    cpSync(this.#current().path, path, { recursive: true });
    const logs = this.#shards.map(({ log }) => [...log]);
    return { path, history: this.#history, logs, beforeLoss: this.#beforeLoss };
  }

  /** The process ends, well or by SIGKILL: then nothing but what is in the files at this moment stays. */
  async #restart(kills: boolean): Promise<void> {
    const path = join(this.#root, `life-${++this.#lives}`);
    const life = this.#current();
    if (kills) cpSync(life.path, path, { recursive: true });
    life.close();
    this.#tell(kills ? 'kill' : 'restart');
    await this.#open(kills ? path : life.path);
    if (kills) rmSync(life.path, { recursive: true });
  }

  /** A start from files that may not belong together. */
  async #mix(mix: Mix): Promise<void> {
    const copy = this.#copies.length > 0 ? this.#random.pick(this.#copies) : null;
    const before = this.#copyTo(join(this.#root, `before-${++this.#lives}`));
    if (isPointless(mix, copy, before)) return;
    const { path } = this.#current();
    const expected = await expectedFault(mix, copy, this.#current(), this.#shards);
    this.#current().close();
    mixFiles(mix, path, { copy, now: before }, this.#random);
    this.#tell(`start with ${mix}`);
    try {
      await this.#open(path);
    } catch (fault) {
      this.#tell(`refused: ${(fault as Error).name}`);
      this.refusals++;
      if (expected === null || !(fault instanceof expected)) this.#fail(`${mix}: ${fault}`);
      return this.#putBack(before);
    }
    if (expected !== null) return this.#fail(`${mix} was not refused`);
    this.#history++;
    if (mix === 'older folder' || mix === 'older stream') this.#setLogs(copy as Copy);
    if (mix === 'older folder') this.#beforeLoss = (copy as Copy).beforeLoss;
    await this.#lookAnew();
    if (mix !== 'older folder' && mix !== 'older stream') this.#beforeLoss ??= before;
  }

  /** What was lost is needed: a person puts back what was there before. */
  async #goBack(): Promise<void> {
    this.#current().close();
    await this.#putBack(this.#beforeLoss as Copy);
  }

  async #putBack(before: Copy): Promise<void> {
    const path = join(this.#root, `life-${++this.#lives}`);
    cpSync(before.path, path, { recursive: true });
    this.#history++;
    this.#setLogs(before);
    this.#beforeLoss = before.beforeLoss;
    this.#tell('put back');
    await this.#open(path);
    await this.#lookAnew();
  }

  /** HEADs may be older than those that the auditor knows. */
  async #lookAnew(): Promise<void> {
    this.#auditor.forget();
    for (const item of await this.#current().ports.heads.listHeads()) this.#auditor.written(item);
  }

  #setLogs({ logs }: Copy): void {
    for (const [index, { log }] of this.#shards.entries()) {
      log.splice(0, log.length, ...(logs[index] as readonly StreamRecord[]));
    }
  }

  async #open(path: string): Promise<void> {
    this.#life = await LocalLife.open(path, this.#options);
  }

  /** Nothing goes wrong any more: every acknowledged record is in, and every answer right. */
  async #settle(): Promise<void> {
    for (const shard of this.#shards) {
      for (let attempt = 0; !(await this.#isIn(shard)) && this.#failure === null; attempt++) {
        if (attempt === ATTEMPTS_MAX) return this.#fail(`${shard.id} does not come to its end`);
        this.#nowMs += 60_000;
        for (const what of ['recover', 'deliver', 'tick'] as const) {
          await this.#invoke(shard, what, true);
        }
      }
      await this.#invoke(shard, 'checkpoint', true);
    }
    for (let count = 0; count < 3 && this.#failure === null; count++) await this.#ask();
  }

  /** Brings the rest of what the mapping has, and looks then. */
  async #isIn(shard: SimShard): Promise<boolean> {
    const { id, log } = shard;
    const { stream } = this.#current().stores;
    while (
      this.#failure === null &&
      log.length > countUpTo(log, stream.mappingPosition(id) ?? START)
    ) {
      if (!(await this.#invoke(shard, 'deliver', true))) return false;
    }
    const head = this.#auditor.head(id);
    return log.length === 0 || (head?.digest.count === log.length && head.status === 'OPEN');
  }

  #current(): LocalLife {
    if (this.#life === null) throw new Error('the folder is not open');
    return this.#life;
  }

  #newAuditor(): Auditor {
    const stores = {
      heads: through(() => this.#current().ports.heads),
      blobs: {
        items: through(() => this.#current().ports.blobs.items),
        objects: through(() => this.#current().ports.blobs.objects),
      },
      source: through(() => this.#current().ports.source),
      shards: through(() => this.#current().ports.shards),
      quarantine: through(() => this.#current().ports.quarantine),
      inbox: through(() => this.#current().ports.inbox),
      plans: through(() => this.#current().ports.plans),
      suspicions: through(() => this.#current().ports.suspicions),
    };
    const logs = {
      shards: this.#shards,
      shard: (id: string) => this.#shards.find((shard) => shard.id === id) as SimShard,
    };
    const report = (kind: string, detail: string) => this.#fail(`${kind}: ${detail}`);
    const hasLost = () => this.#beforeLoss !== null;
    return new Auditor(
      [smallPlan],
      logs,
      stores,
      Infinity,
      report,
      hasLost,
      () => true,
      () => {},
      this.#options.process.knobs.unsavedAgeMsMax === 0,
    );
  }

  #tell(what: string): void {
    this.story.push(`${this.#nowMs} ${what}`);
  }

  #fail(detail: string): void {
    this.#tell(`FAILED ${detail}`);
    this.#failure ??= detail;
  }
}

/** A port of whatever life there is. */
function through<T extends object>(port: () => T): T {
  return new Proxy({} as T, {
    get: (_, name) => {
      const target = port();
      const method = Reflect.get(target, name) as unknown;
      return typeof method === 'function' ? method.bind(target) : method;
    },
  });
}
