/**
 * A pipeline in memory, without faults: the real owner of slices and the real queries over stores in memory. It delivers
 * shards' logs in batches, as the event source mapping would, and measures what each checkpoint costs.
 */
import { CountingNonces } from '../adapters/memory/counting-nonces.ts';
import { MemoryBlobStore } from '../adapters/memory/memory-blob-store.ts';
import { MemoryCheckpointStore } from '../adapters/memory/memory-checkpoint-store.ts';
import { MemoryClock } from '../adapters/memory/memory-clock.ts';
import { MemoryInbox } from '../adapters/memory/memory-inbox.ts';
import { MemoryPlanRegistry } from '../adapters/memory/memory-plan-registry.ts';
import { MemoryQuarantineIndex } from '../adapters/memory/memory-quarantine-index.ts';
import { MemoryRecordSource } from '../adapters/memory/memory-record-source.ts';
import { MemorySuspicionStore } from '../adapters/memory/memory-suspicion-store.ts';
import { Aggregator } from '../core/aggregator.ts';
import { parseHead } from '../core/checkpoint/head.ts';
import { sliceIdOf } from '../core/checkpoint/names.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { Plan } from '../core/definition/plan.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import { BATCH_RECORDS_MAX, INVOCATION_MS_MAX, QUERY_LIMIT_MAX } from '../core/limits.ts';
import type { BlobStore, QuarantinedRecord } from '../core/ports.ts';
import { Queries } from '../core/query/queries.ts';
import type { PipelineStatus } from '../core/query/status.ts';
import type { AnswerRow } from '../core/query/view-answer.ts';
import type { LoggedRecord } from '../simulation/recount.ts';
import type { ShardLog } from './arrivals.ts';

/** What one slice came to. */
export interface SliceSizes {
  readonly shardId: string;
  readonly records: number;
  /** Checkpoints, each one delta. */
  readonly flips: number;
  /** Of open windows, at most at any time. */
  readonly entriesMax: number;
  /** That a restore would read, at most at any time. */
  readonly stateBytesMax: number;
  readonly deltaBytes: number;
}

const BLOB_KIND = /\/(delta|base|run)\//;
const WHOLE_RANGE = { start: '0'.repeat(32), end: 'f'.repeat(32) };

export class MemoryRun {
  readonly sizes: SliceSizes[] = [];
  readonly #plan: Plan;
  readonly #clock = new MemoryClock(0);
  readonly #heads = new MemoryCheckpointStore();
  readonly #source = new MemoryRecordSource();
  readonly #quarantine = new MemoryQuarantineIndex();
  readonly #blobs = { items: this.#counted(), objects: this.#counted() };
  readonly #aggregator: Aggregator;
  #deltaBytes = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#aggregator = new Aggregator(plan, createJsonDecoder(plan), {
      heads: this.#heads,
      blobs: this.#blobs,
      clock: this.#clock,
      nonces: new CountingNonces(),
      source: this.#source,
      shards: { hashRange: async () => WHOLE_RANGE },
      quarantine: this.#quarantine,
      plans: new MemoryPlanRegistry(),
      inbox: new MemoryInbox(),
      suspicions: new MemorySuspicionStore(),
      knobs: DEFAULT_KNOBS,
    });
  }

  /** Delivers a shard's whole log, in batches of what arrives within `batchWindowMs`. */
  async deliver({ shardId, records }: ShardLog, batchWindowMs: number): Promise<void> {
    this.#deltaBytes = 0;
    let [flips, entriesMax, stateBytesMax] = [0, 0, 0];
    for (const batch of batchesOf(records, batchWindowMs)) {
      for (const record of batch) this.#source.append(shardId, record);
      this.#clock.set(batch.at(-1)?.arrivalMs ?? 0);
      const report = await this.#aggregator.deliver(shardId, batch, () => INVOCATION_MS_MAX);
      flips += report.flips;
      const item = await this.#heads.readHead(sliceIdOf(shardId));
      if (item === null) continue;
      const { entryCount, stateBytes } = parseHead(item);
      entriesMax = Math.max(entriesMax, entryCount);
      stateBytesMax = Math.max(stateBytesMax, stateBytes);
    }
    const deltaBytes = this.#deltaBytes;
    this.sizes.push({
      shardId,
      records: records.length,
      flips,
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

  quarantined(): Promise<QuarantinedRecord[]> {
    return this.#quarantine.list(null, Number.MAX_SAFE_INTEGER);
  }

  #queries(): Queries {
    return new Queries(this.#plan, {
      heads: this.#heads,
      blobs: this.#blobs,
      clock: this.#clock,
      source: this.#source,
      quarantine: this.#quarantine,
    });
  }

  #counted(): BlobStore {
    const store = new MemoryBlobStore(this.#clock);
    const create = store.create.bind(store);
    store.create = (key, bytes) => {
      if (BLOB_KIND.exec(key)?.[1] === 'delta') this.#deltaBytes += bytes.length;
      return create(key, bytes);
    };
    return store;
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
