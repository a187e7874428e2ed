/**
 * Lambda's event source mapping for Kinesis: of each shard the batches in order, one at a time, at least once. What failed comes
 * again regrouped, halved or from an earlier place; what was answered may come again too. A child shard begins when its
 * parents are done. Its position is its own: it may lag behind HEAD, and a mapping made anew may be ahead of it.
 */
import { comparePositions, type Position, START } from '../core/position.ts';
import { kinesisEventRecord } from '../functions/aggregate/kinesis-event.ts';
import type { EnvironmentPool } from './environment-pool.ts';
import type { Random } from './random.ts';
import type { Scenario } from './scenario.ts';
import { recordsUpTo, type SimShard, type SimStream } from './sim-stream.ts';
import type { VirtualTime } from './virtual-time.ts';

const REGION = 'us-east-1';

export interface MappingDeps {
  readonly time: VirtualTime;
  readonly stream: SimStream;
  readonly streamName: string;
  readonly pool: EnvironmentPool;
  readonly scenario: Scenario;
  readonly random: Random;
  /** The mapping was told that all up to a position is done. */
  readonly onAnswered: (shard: SimShard, last: Position) => void;
  /** Takes the faults of what goes on by itself. */
  readonly act: (work: Promise<unknown>) => void;
}

const POLL_MS = 250;
const BACKOFF_MS_MAX = 2_000;
const STEPS_BACK_MAX = 8;

export class EventSourceMapping {
  readonly #deps: MappingDeps;
  #isStopped = false;
  #redeliveryRate: number;
  readonly #polled = new Map<SimShard, Position>();
  readonly #finished = new Set<SimShard>();
  readonly #polling = new Set<Promise<void>>();
  readonly from: 'LATEST' | 'TRIM_HORIZON';

  constructor(deps: MappingDeps, from: 'LATEST' | 'TRIM_HORIZON') {
    this.#deps = deps;
    this.from = from;
    this.#redeliveryRate = deps.scenario.redeliveryRate;
    if (from === 'LATEST') this.#skipToTip();
    this.#startShards();
  }

  /** Brings nothing more, once what runs has ended. */
  stop(): void {
    this.#isStopped = true;
  }

  /** After `stop`: when what runs has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#polling);
  }

  calm(): void {
    this.#redeliveryRate = 0;
  }

  #skipToTip(): void {
    for (const shard of this.#deps.stream.shards) {
      const tip = shard.log.at(-1) ?? START;
      if (shard.isClosed) this.#finished.add(shard);
      else this.#poll(shard, tip);
    }
  }

  #startShards(): void {
    for (const shard of this.#deps.stream.shards) {
      const isReady = shard.parents.every((parent) => this.#finished.has(parent));
      if (isReady && !this.#polled.has(shard) && !this.#finished.has(shard)) {
        this.#poll(shard, START);
      }
    }
  }

  #poll(shard: SimShard, from: Position): void {
    this.#polled.set(shard, from);
    const polling = this.#pollUntilClosed(shard, from);
    this.#polling.add(polling);
    this.#deps.act(polling);
  }

  async #pollUntilClosed(shard: SimShard, from: Position): Promise<void> {
    const { time, stream, scenario, random } = this.#deps;
    let position = from;
    let furthest = from;
    let limit = scenario.batchRecordsMax;
    while (!this.#isStopped) {
      let records = stream.peek(shard, position, limit);
      if (records.length === 0) {
        if (shard.isClosed) break;
        await time.sleep(1 + random.below(POLL_MS));
        continue;
      }
      if (records.length < limit && scenario.batchWindowMs > 0) {
        await time.sleep(random.below(scenario.batchWindowMs));
        records = stream.peek(shard, position, limit);
        // A trim within the window may have taken all of them.
        if (records.length === 0) continue;
      }
      if (random.chance(0.3)) records = records.slice(0, random.between(1, records.length));
      if (await this.#deliver(shard, records)) {
        limit = scenario.batchRecordsMax;
        position = records.at(-1) as Position;
        // Never twice before it has gone on: it would walk on the spot.
        const isFurther = comparePositions(position, furthest) > 0;
        furthest = laterPosition(position, furthest);
        if (isFurther && random.chance(this.#redeliveryRate)) {
          position = this.#before(shard, position);
        }
      } else {
        await time.sleep(random.below(BACKOFF_MS_MAX));
        if (random.chance(0.5)) limit = Math.max(1, records.length >>> 1);
      }
    }
    if (this.#isStopped) return;
    this.#finished.add(shard);
    this.#startShards();
  }

  async #deliver(shard: SimShard, records: ReturnType<SimStream['peek']>): Promise<boolean> {
    const { pool, streamName, onAnswered } = this.#deps;
    const origin = { stream: streamName, shardId: shard.id, region: REGION, role: 'simulated' };
    const event = { Records: records.map((record) => kinesisEventRecord(record, origin)) };
    const { outcome } = await pool.invoke(event, shard.id);
    if (outcome !== 'returned') return false;
    onAnswered(shard, records.at(-1) as Position);
    return true;
  }

  /** An earlier place: some records are brought again. */
  #before(shard: SimShard, position: Position): Position {
    const index = recordsUpTo(shard, position) - 1 - this.#deps.random.below(STEPS_BACK_MAX);
    return shard.log[index] ?? START;
  }
}

/** The later of two positions of one shard. */
function laterPosition(a: Position, b: Position): Position {
  return comparePositions(a, b) >= 0 ? a : b;
}
