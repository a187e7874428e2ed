/**
 * The operator, and bad luck: carries out the incidents of a scenario, each at its time.
 */
import { decodeBase } from '../core/checkpoint/base.ts';
import { referenceOf } from '../core/checkpoint/blobs.ts';
import type { Head } from '../core/checkpoint/head.ts';
import { chainSince, packsOf } from '../core/checkpoint/manifest.ts';
import { blobKey, parseBlobKey } from '../core/checkpoint/names.ts';
import { type QuarantinedRecord, quarantineId, requestId } from '../core/ports.ts';
import { START } from '../core/position.ts';
import { sliceIdOf } from '../core/slice/topology.ts';
import type { SliceEvent } from '../functions/aggregate/aggregate-event.ts';
import type { Auditor } from './auditor.ts';
import type { Wire } from './connection.ts';
import type { DamageableBlobs } from './damageable-blobs.ts';
import type { EnvironmentPool } from './environment-pool.ts';
import type { SharedPorts } from './faulty-ports.ts';
import type { Random } from './random.ts';
import type { Incident } from './scenario.ts';
import { recordsUpTo, type SimShard, type SimStream } from './sim-stream.ts';

export interface OperatorDeps {
  readonly wire: Wire;
  readonly stream: SimStream;
  readonly pool: EnvironmentPool;
  readonly auditor: Auditor;
  readonly random: Random;
  readonly shared: SharedPorts;
  readonly blobs: { readonly items: DamageableBlobs; readonly objects: DamageableBlobs };
  readonly trimsForFallback: boolean;
  readonly batchRecordsMax: number;
  readonly resendRate: number;
  readonly nowMs: () => number;
  /** The stream's own clock. */
  readonly arrivalMs: () => number;
  /** Takes the faults of what goes on by itself. */
  readonly act: (work: Promise<unknown>) => void;
  readonly replaceMapping: (replacement: Extract<Incident, { kind: 'mapping-replaced' }>) => void;
  /** Makes a plan the active one. */
  readonly activate: (plan: number) => Promise<void>;
  /** Sets the clock of a process; null: of all, those too that begin later. */
  readonly jumpClock: (actor: string | null, byMs: number) => void;
}

const SHARDS_MAX = 10;
const LISTED_MAX = 1_000;
const RESEND_MS_MAX = 30_000;
/** A little more than after which the core looks for a gap. */
const SILENCE_MS = 11_000;

export class Operator {
  readonly #deps: OperatorDeps;
  /** When records of a shard were last trimmed. */
  readonly #trimmedMs = new Map<string, number>();
  /** Shards that lost records which their slice still needed. */
  readonly #gapped = new Set<string>();

  readonly #damaged = new Set<string>();

  constructor(deps: OperatorDeps) {
    this.#deps = deps;
  }

  /** Resolves after the last incident. */
  async run(incidents: readonly Incident[]): Promise<void> {
    const { time, trace } = this.#deps.wire;
    for (const incident of incidents) {
      await time.sleep(Math.max(0, incident.atMs - time.nowMs));
      trace.add('operator', incident.kind, '', '');
      this.#carryOut(incident);
    }
  }

  trimmedMs(shardId: string): number {
    return this.#trimmedMs.get(shardId) ?? Number.NEGATIVE_INFINITY;
  }

  /** Something stored is not what was written. */
  get hasDamaged(): boolean {
    return this.#damaged.size > 0;
  }

  /** Ticks every shard's slice, on and on. */
  async tick(everyMs: number): Promise<never> {
    const { wire, stream, pool } = this.#deps;
    for (;;) {
      await wire.time.sleep(everyMs);
      for (const { id } of stream.shards) {
        await pool.invoke({ tidemark: 'tick', shardId: id }, id);
      }
    }
  }

  /** In as many invocations as it takes, each in another environment perhaps. */
  async #recover(shardId: string): Promise<void> {
    const { pool, auditor, wire } = this.#deps;
    let event: SliceEvent = { tidemark: 'recover', shardId };
    for (;;) {
      const invocation = await pool.invoke(event, shardId);
      const [report] = invocation.outcome === 'returned' ? invocation.reports : [];
      if (report === undefined || !report.isUnfinished || report.generation === null) return;
      const { generation } = report;
      auditor.handedOn(sliceIdOf(shardId), generation);
      wire.trace.add('operator', 'goes on with a recovery', shardId, `generation ${generation}`);
      event = { ...event, generation };
    }
  }

  isGapped(shardId: string): boolean {
    return this.#gapped.has(shardId);
  }

  #carryOut(incident: Incident): void {
    const { stream, pool, random, wire, replaceMapping, jumpClock, act } = this.#deps;
    const shard = random.pick(stream.shards);
    switch (incident.kind) {
      case 'checkpoint':
        act(pool.invoke({ tidemark: 'checkpoint', shardId: shard.id }, shard.id));
        return;
      case 'recover':
        act(this.#recover(shard.id));
        return;
      case 'redrive':
        act(this.#redrive());
        return;
      case 'damage':
        act(this.#damage(shard, incident.blobs));
        // An environment with a warm memory would not notice.
        pool.killAll();
        return;
      case 'split':
        if (stream.shards.length < SHARDS_MAX) stream.split(shard);
        return;
      case 'merge':
        if (stream.shards.length < SHARDS_MAX) stream.merge(shard);
        return;
      case 'trim':
        for (const each of stream.shards) this.#trim(each, this.#spareCount(each));
        return;
      case 'trim-too-much':
        this.#trimTooMuch(shard);
        return;
      case 'change-plan':
        act(this.#deps.activate(incident.plan));
        return;
      case 'restart':
        pool.pick()?.kill();
        return;
      case 'clock-jump':
        jumpClock(incident.of === 'all' ? null : (pool.pick()?.name ?? ''), incident.byMs);
        return;
      case 'partition':
        wire.faults.partition(pool.pick()?.name ?? '', incident.port, incident.durationMs);
        return;
      case 'mapping-replaced':
        replaceMapping(incident);
        return;
    }
  }

  /** Asks for some quarantined records back, of whatever timeline, some of them again. */
  async #redrive(): Promise<void> {
    const { shared, random, wire, nowMs, resendRate, act } = this.#deps;
    const listed = await shared.quarantine.list(null, LISTED_MAX);
    if (listed.length === 0) return;
    const { sliceId } = random.pick(listed);
    const mine = listed.filter((record) => record.sliceId === sliceId).map(quarantineId);
    const records = Array.from({ length: random.between(1, 4) }, () => random.pick(mine));
    const nonce = random.word().toString(16).padStart(16, '0');
    const id = requestId(nowMs(), nonce);
    await shared.inbox.put({ id, sliceId, records, done: null });
    wire.trace.add('operator', 'redrive', sliceId, id);
    const again = listed.filter((record) => records.includes(quarantineId(record)));
    for (const record of again) if (random.chance(resendRate)) act(this.#resend(record));
  }

  /** A producer whose record came back sends it once more: its id is known by then, or not yet. */
  async #resend({ partitionKey, data }: QuarantinedRecord): Promise<void> {
    const { random, wire, stream, arrivalMs } = this.#deps;
    await wire.time.sleep(random.below(RESEND_MS_MAX));
    const { sequenceNumber } = stream.put(partitionKey, data, arrivalMs());
    wire.trace.add('producer', 'put after a redrive', partitionKey, sequenceNumber.slice(-24));
  }

  /**
   * Damages blobs of epochs after the oldest one that the slice keeps: that one stays whole, and so does the delta after
   * it, which proves that it was. Nothing, where it was damaged before it became the oldest: no more may be lost then.
   */
  async #damage(shard: SimShard, count: number): Promise<void> {
    const { auditor, blobs, random, wire } = this.#deps;
    const head = auditor.head(shard.id);
    if (head === null) return;
    const epochOf = (key: string) => parseBlobKey(head.sliceId, key)?.epoch ?? -1;
    const oldest = await oldestBases(head, blobs.objects);
    const needed = new Set(oldest.flatMap(({ needs }) => needs));
    const proofEpoch = Math.max(0, ...oldest.map(({ epoch }) => epoch)) + 1;
    const isSpared = (key: string) => {
      const isProof =
        parseBlobKey(head.sliceId, key)?.kind === 'delta' && epochOf(key) <= proofEpoch;
      return isProof || needed.has(key);
    };
    // Runs are no part of what a restore reads.
    const damaged = [...blobs.items.damaged, ...blobs.objects.damaged].filter(
      (key) => parseBlobKey(head.sliceId, key)?.kind !== 'run' && isSpared(key),
    );
    if (damaged.some((key) => needed.has(key) || epochOf(key) >= head.collectBelow)) return;
    this.#damaged.add(head.sliceId);
    for (const store of [blobs.items, blobs.objects]) {
      const keys = (await store.list(`${head.sliceId}/`, null, LISTED_MAX)).map(({ key }) => key);
      const doomed = keys.filter((key) => {
        return !isSpared(key) && epochOf(key) <= head.epoch;
      });
      for (let left = count; left > 0 && doomed.length > 0; left--) {
        // The newest are read soonest.
        const key = random.chance(0.5) ? (doomed.at(-1) as string) : random.pick(doomed);
        await store.damage(key, random);
        wire.trace.add('operator', 'damaged', key, '');
      }
    }
  }

  /** Records that may be trimmed. */
  #spareCount(shard: SimShard): number {
    const head = this.#deps.auditor.head(shard.id);
    if (!this.#deps.trimsForFallback || head === null) return this.#doneCount(shard);
    const forRollback = head.previous?.cursor ?? head.replayFrom;
    return Math.min(recordsUpTo(shard, head.replayFrom), recordsUpTo(shard, forRollback));
  }

  /** Records that the shard's slice holds in a checkpoint. */
  #doneCount(shard: SimShard): number {
    return recordsUpTo(shard, this.#deps.auditor.head(shard.id)?.cursor ?? START);
  }

  /**
   * A stream that trims what arrived seconds ago is none of Kinesis's: where the next record comes that soon after the last one
   * delivered, a warm owner does not look whether something lies between.
   */
  #trimTooMuch(shard: SimShard): void {
    const done = this.#doneCount(shard);
    const delivered = recordsUpTo(shard, this.#deps.auditor.head(shard.id)?.delivered ?? START);
    // A batch may be on its way.
    const last = shard.log.slice(0, delivered + this.#deps.batchRecordsMax).at(-1);
    if (done === 0 || last === undefined) return;
    const limits = Array.from({ length: shard.log.length - done }, (_, index) => done + 1 + index);
    const fit = limits.filter((limit) => {
      const next = shard.log[limit];
      return next !== undefined && next.arrivalMs - last.arrivalMs > SILENCE_MS;
    });
    if (fit.length === 0) return;
    this.#gapped.add(shard.id);
    this.#trim(shard, this.#deps.random.pick(fit));
  }

  #trim(shard: SimShard, limit: number): void {
    const { stream, random, wire } = this.#deps;
    if (limit <= shard.trimmed) return;
    stream.trim(shard, this.#gapped.has(shard.id) ? limit : random.between(shard.trimmed, limit));
    this.#trimmedMs.set(shard.id, wire.time.nowMs);
    wire.trace.add('operator', 'trimmed', shard.id, `${shard.trimmed} records`);
  }
}

/** The bases that the oldest epoch may be of that the slice keeps, with the keys of what they need beside deltas. */
async function oldestBases(
  { sliceId, collectBelow }: Head,
  objects: DamageableBlobs,
): Promise<{ readonly epoch: number; readonly needs: readonly string[] }[]> {
  if (collectBelow === 0) return [];
  const found: { epoch: number; needs: string[] }[] = [];
  for (const { key } of await objects.sound.list(`${sliceId}/base/`, null, LISTED_MAX)) {
    const name = parseBlobKey(sliceId, key);
    const bytes = await objects.sound.read(key);
    if (name === null || bytes === null) continue;
    const { manifest } = decodeBase(bytes, sliceId, referenceOf(name, 'object', bytes));
    if (chainSince(manifest) !== collectBelow) continue;
    const needs = packsOf(manifest).map((pack) => blobKey(sliceId, pack));
    found.push({ epoch: name.epoch, needs: [key, ...needs] });
  }
  return found;
}
