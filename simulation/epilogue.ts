/**
 * The end of a run, when nothing goes wrong any more and every record is in: a few more records must be there as soon as was
 * promised, every request must end, and all that a reader can ask must be answered, rightly and completely.
 */
import type { Head } from '../core/checkpoint/head.ts';
import type { Plan } from '../core/definition/plan.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import { REDRIVE_BEGINNINGS_MAX } from '../core/limits.ts';
import type { Inbox } from '../core/ports.ts';
import { comparePositions, type Position } from '../core/position.ts';
import type { Auditor, Report } from './auditor.ts';
import type { Wire } from './connection.ts';
import type { EnvironmentPool } from './environment-pool.ts';
import { harmOf } from './harmful-record.ts';
import { freshMsMaxOf, leavesNotes } from './judgement.ts';
import type { RecordGenerator } from './producer.ts';
import type { Random } from './random.ts';
import type { Reader } from './reader.ts';
import { type LoggedRecord, recordId } from './recount.ts';
import { differenceOfRequests, undoneCount } from './request-check.ts';
import type { Scenario } from './scenario.ts';
import type { SimShard, SimStream } from './sim-stream.ts';

export interface EpilogueDeps {
  readonly scenario: Scenario;
  readonly wire: Wire;
  readonly stream: SimStream;
  readonly auditor: Auditor;
  readonly pool: EnvironmentPool;
  readonly inbox: Inbox;
  readonly random: Random;
  readonly nowMs: () => number;
  readonly generate: RecordGenerator;
  /** The one that is active now. */
  readonly plan: Plan;
  /** Those that asked until now. */
  readonly readers: readonly Reader[];
  readonly lastReader: Reader;
  /** The shard lost records for good, or waits for a parent that did. */
  readonly isCutOff: (shard: SimShard) => boolean;
  /** Environments that ended otherwise than by a record. */
  readonly otherDeaths: () => number;
  /** False: the same happens, and nothing is held against what it should be. */
  readonly checks: boolean;
  readonly report: Report;
}

const ATTEMPTS_MAX = 10;
const PAUSE_MS = 120_000;
const FRESH_RECORDS_MAX = 4;
const FRESH_PAUSE_MS_MAX = 2_000;
/** Owners that one record can end, one after the other. */
const LEASES_MAX = 30;
/** At one place, at least, before a record is quarantined unread. */
const DEATHS_BEFORE_CONDEMNED = 3;

export class Epilogue {
  readonly #deps: EpilogueDeps;

  constructor(deps: EpilogueDeps) {
    this.#deps = deps;
  }

  async run(): Promise<void> {
    const { readers } = this.#deps;
    await Promise.all(readers.map((reader) => reader.stop()));
    await this.#lastRecords();
    await this.#checkEnd();
  }

  /** A few more records: each is in a checkpoint, where readers see it, as soon as was promised. */
  async #lastRecords(): Promise<void> {
    const { random, stream, wire, nowMs, generate, scenario, isCutOff, report } = this.#deps;
    const put: { readonly shard: SimShard; readonly record: Position }[] = [];
    for (let count = random.between(1, FRESH_RECORDS_MAX); count > 0; count--) {
      const { partitionKey, data } = generate(random, nowMs());
      const record = stream.put(partitionKey, data, nowMs());
      const shard = stream.shards.find(({ log }) => log.at(-1) === record) as SimShard;
      put.push({ shard, record });
      wire.trace.add('producer', 'put at last', partitionKey, record.sequenceNumber.slice(-24));
      await wire.time.sleep(random.below(FRESH_PAUSE_MS_MAX));
    }
    const boundMs = freshMsMaxOf(scenario);
    const endMs = wire.time.nowMs + boundMs;
    // An owner that dies of a record in its recovery leaves the slice until its lease is over.
    const leaseMs = scenario.knobs.recoveryLeaseMs ?? DEFAULT_KNOBS.recoveryLeaseMs;
    const recoveredMsMax = endMs + LEASES_MAX * leaseMs;
    for (const { shard, record } of put) {
      let recoveringMs = 0;
      while (!isCutOff(shard) && !this.#isSaved(shard, record)) {
        const isRecovering = this.#deps.auditor.head(shard.id)?.status === 'RECOVERING';
        if (isRecovering) recoveringMs = wire.time.nowMs;
        const dueMs = Math.max(endMs, Math.min(recoveringMs + boundMs, recoveredMsMax));
        if (wire.time.nowMs >= dueMs) {
          const where = `${record.sequenceNumber} of ${shard.id}`;
          return report('stale', `${where} is in no checkpoint after ${boundMs} ms`);
        }
        await wire.time.sleep(1_000);
      }
    }
  }

  #isSaved(shard: SimShard, record: Position): boolean {
    const head = this.#deps.auditor.head(shard.id);
    return head !== null && comparePositions(head.cursor, record) >= 0;
  }

  /** A base of each slice, then everything that a reader can ask. */
  async #checkEnd(): Promise<void> {
    const { stream, auditor, pool, plan, readers, lastReader, isCutOff, checks } = this.#deps;
    for (const shard of stream.shards) {
      const head = auditor.head(shard.id);
      if (head === null || isCutOff(shard)) continue;
      await this.#insist(`checkpoint of ${shard.id}`, async () => {
        const event = { tidemark: 'checkpoint', shardId: shard.id } as const;
        return (await pool.invoke(event, shard.id)).outcome === 'returned';
      });
    }
    this.#checkCondemned();
    await this.#checkRequests();
    for (const { id } of stream.shards) {
      const head = auditor.head(id);
      if (head !== null && checks) await auditor.audit(head);
    }
    const isWhole = !stream.shards.some((shard) => isCutOff(shard));
    // Readers of before have their caches and warm images, the last one has none.
    for (const reader of readers) {
      reader.adopt(plan);
      const view = reader.pick(plan.views);
      await this.#insist(`view ${view.name}`, () => reader.askLast(view, isWhole));
    }
    for (const view of plan.views) {
      await this.#insist(`view ${view.name}`, () => lastReader.askLast(view, isWhole));
    }
    await this.#insist('quarantine', () => lastReader.askQuarantine());
    await this.#insist('status', async () => (await lastReader.askStatus()) !== null);
  }

  async #checkRequests(): Promise<void> {
    const { inbox, stream, auditor, pool, scenario, isCutOff, checks, report } = this.#deps;
    const kills = scenario.harmful.some(({ harm }) => harm === 'kills');
    for (const shard of stream.shards) {
      const { id } = shard;
      if (auditor.head(id) === null || isCutOff(shard)) continue;
      // A request that kills its owners is given up after so many deaths.
      const undone = await undoneCount(auditor.head(id) as Head, inbox);
      const attemptsMax = ATTEMPTS_MAX + (kills ? undone * (REDRIVE_BEGINNINGS_MAX + 1) : 0);
      await this.#insist(
        `requests of ${id}`,
        async () => {
          await pool.invoke({ tidemark: 'tick', shardId: id }, id);
          return (await undoneCount(auditor.head(id) as Head, inbox)) === 0;
        },
        attemptsMax,
      );
      if (!checks) continue;
      const head = auditor.head(id) as Head;
      const wrong = await differenceOfRequests(head, inbox, auditor);
      if (wrong !== null) report('wrong request', `${id}: ${wrong}`);
    }
  }

  async #insist(
    what: string,
    ask: () => Promise<boolean>,
    attemptsMax = ATTEMPTS_MAX,
  ): Promise<void> {
    const { wire, report } = this.#deps;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      if (await ask()) return;
      await wire.time.sleep(PAUSE_MS);
    }
    report(`no answer: ${what}`, 'a reader got none although nothing goes wrong any more');
  }

  /** Records that do no harm are quarantined unread where environments died otherwise, at the same place again and again. */
  #checkCondemned(): void {
    const { stream, auditor, scenario, otherDeaths, report } = this.#deps;
    let innocents = 0;
    for (const { id, log } of stream.shards) {
      const head = auditor.head(id);
      if (head === null) continue;
      for (const [record, reason] of auditor.condemnedAt(head)) {
        const logged = log.find((each) => recordId(each) === record) as LoggedRecord;
        const harm = harmOf(logged.data);
        if (reason === 'fold-failed' && harm !== 'throws') {
          report('a sound record was refused', `${record} of ${id}: ${reason}`);
        }
        if (reason !== 'fold-failed' && harm !== 'kills') innocents++;
      }
    }
    const deaths = otherDeaths();
    if (innocents === 0 || leavesNotes(scenario)) return;
    if (innocents * DEATHS_BEFORE_CONDEMNED <= deaths) return;
    const detail = `${innocents}, although ${deaths} environments died of other things`;
    report('sound records were quarantined', detail);
  }
}
