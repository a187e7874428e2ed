/**
 * A pipeline in memory, without faults: the real owner of slices and the real queries over stores in memory. It delivers
 * shards' logs in batches, as the event source mapping would, and measures what each checkpoint costs.
 */
import type { MemoryBlobStore } from '../adapters/memory/memory-blob-store.ts';
import { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { Aggregator } from '../core/aggregator.ts';
import { parseHead } from '../core/checkpoint/head.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { Plan } from '../core/definition/plan.ts';
import { canonicalJson, planToJson } from '../core/definition/plan-json.ts';
import { BATCH_RECORDS_MAX, INVOCATION_MS_MAX, QUERY_LIMIT_MAX } from '../core/limits.ts';
import { type QuarantinedRecord, quarantineId } from '../core/ports.ts';
import { Queries } from '../core/query/queries.ts';
import type { PipelineStatus } from '../core/query/status.ts';
import type { AnswerRow } from '../core/query/view-answer.ts';
import { sliceIdOf } from '../core/slice/topology.ts';
import type { LoggedRecord } from '../simulation/recount.ts';
import type { ShardLog } from './arrivals.ts';

/** What one slice came to. */
export interface SliceSizes {
  readonly shardId: string;
  readonly records: number;
  /** Checkpoints, each one delta. */
  readonly commits: number;
  /** Of open windows, at most at any time. */
  readonly entriesMax: number;
  /** That a restore would read, at most at any time. */
  readonly stateBytesMax: number;
  readonly deltaBytes: number;
}

const BLOB_KIND = /\/(delta|base|run)\//;

export class MemoryRun {
  readonly sizes: SliceSizes[] = [];
  readonly #plan: Plan;
  readonly #ports = new MemoryPorts(0);
  readonly #aggregator: Aggregator;
  #deltaBytes = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    const { items, objects } = this.#ports.blobs;
    for (const store of [items, objects]) this.#count(store);
    const pipeline = canonicalJson(planToJson(plan));
    void this.#ports.plans.activate({ ordinal: 1, hash: plan.hash, pipeline });
    this.#aggregator = new Aggregator(plan, createJsonDecoder(plan), this.#ports);
  }

  /** Delivers a shard's whole log, in batches of what arrives within `batchWindowMs`. */
  async deliver({ shardId, records }: ShardLog, batchWindowMs: number): Promise<void> {
    this.#deltaBytes = 0;
    let [commits, entriesMax, stateBytesMax] = [0, 0, 0];
    for (const batch of batchesOf(records, batchWindowMs)) {
      for (const record of batch) this.#ports.source.append(shardId, record);
      this.#ports.clock.set(batch.at(-1)?.arrivalMs ?? 0);
      const report = await this.#aggregator.deliver(shardId, batch, () => INVOCATION_MS_MAX);
      commits += report.commits;
      const item = await this.#ports.heads.readHead(sliceIdOf(shardId));
      if (item === null) continue;
      const { entryCount, stateBytes } = parseHead(item);
      entriesMax = Math.max(entriesMax, entryCount);
      stateBytesMax = Math.max(stateBytesMax, stateBytes);
    }
    const deltaBytes = this.#deltaBytes;
    this.sizes.push({
      shardId,
      records: records.length,
      commits,
      entriesMax,
      stateBytesMax,
      deltaBytes,
    });
  }

  /** All rows of a view, as the query API answers. */
  async rows(view: string): Promise<AnswerRow[]> {
    const queries = this.#queries();
    const rows: AnswerRow[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const parameters: [string, string][] = [['limit', String(QUERY_LIMIT_MAX)]];
      const answer = await queries.view(
        view,
        next === '' ? parameters : [...parameters, ['next', next]],
      );
      if (!answer.ok) throw new Error(`${view}: ${answer.problem.detail}`);
      for (const row of answer.value.rows) rows.push(row);
      next = answer.value.next;
    }
    return rows;
  }

  async status(): Promise<PipelineStatus> {
    const answer = await this.#queries().status();
    if (!answer.ok) throw new Error(answer.problem.detail);
    return answer.value;
  }

  async quarantined(): Promise<QuarantinedRecord[]> {
    const records: QuarantinedRecord[] = [];
    for (;;) {
      const last = records.at(-1);
      const after = last === undefined ? null : quarantineId(last);
      const page = await this.#ports.quarantine.list(after, 1_000);
      if (page.length === 0) return records;
      records.push(...page);
    }
  }

  #queries(): Queries {
    return new Queries(this.#plan, this.#ports);
  }

  #count(store: MemoryBlobStore): void {
    const create = store.create.bind(store);
    store.create = (key, bytes) => {
      if (BLOB_KIND.exec(key)?.[1] === 'delta') this.#deltaBytes += bytes.length;
      return create(key, bytes);
    };
  }
}

function* batchesOf(records: readonly LoggedRecord[], windowMs: number): Generator<LoggedRecord[]> {
  let batch: LoggedRecord[] = [];
  for (const record of records) {
    const firstMs = batch[0]?.arrivalMs ?? record.arrivalMs;
    if (record.arrivalMs - firstMs >= windowMs || batch.length >= BATCH_RECORDS_MAX) {
      if (batch.length > 0) yield batch;
      batch = [];
    }
    batch.push(record);
  }
  if (batch.length > 0) yield batch;
}
