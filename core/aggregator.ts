/**
 * What one environment does for a whole pipeline: it owns whichever slices its invocations bring, and keeps their
 * memories within a byte bound, the least recently used going first. A slice that is larger by itself than what the
 * environment has is refused by name: the end of the process would come again with each batch.
 */

import type { RecordDecoder } from './decode/record-decoder.ts';
import type { Plan } from './definition/plan.ts';
import { ENVIRONMENT_STATE_BYTES_MAX } from './limits.ts';
import type { StreamRecord } from './ports.ts';
import { sliceIdOf } from './slice/topology.ts';
import type { DeliveryReport } from './task/delivery-report.ts';
import type { SliceIdentity } from './task/replay-log.ts';
import { SliceTask, type TaskPorts } from './task/slice-task.ts';

/** Bytes of memory, as the states themselves count it. */
export interface AggregatorBounds {
  /** Of all slices together, as long as there are several. */
  readonly stateBytesMax?: number;
  /** Of one slice. */
  readonly sliceBytesMax?: number;
}

export class Aggregator {
  readonly #plan: Plan;
  readonly #decoder: RecordDecoder;
  readonly #ports: TaskPorts;
  readonly #stateBytesMax: number;
  readonly #sliceBytesMax: number;
  /** By shard, the most recently used last. */
  readonly #tasks = new Map<string, SliceTask>();

  constructor(plan: Plan, decoder: RecordDecoder, ports: TaskPorts, bounds: AggregatorBounds = {}) {
    this.#plan = plan;
    this.#decoder = decoder;
    this.#ports = ports;
    this.#stateBytesMax = bounds.stateBytesMax ?? ENVIRONMENT_STATE_BYTES_MAX;
    this.#sliceBytesMax = bounds.sliceBytesMax ?? Number.POSITIVE_INFINITY;
  }

  /** See `SliceTask.deliver`. */
  deliver(
    shardId: string,
    records: readonly StreamRecord[],
    timeLeftMs: () => number,
  ): Promise<DeliveryReport> {
    return this.#evicting(this.#task(shardId).deliver(records, timeLeftMs));
  }

  /** See `SliceTask.checkpoint`. */
  checkpoint(
    shardId: string,
    timeLeftMs: () => number,
    claimed: number | null = null,
  ): Promise<DeliveryReport> {
    return this.#evicting(this.#task(shardId).checkpoint(timeLeftMs, claimed));
  }

  /** See `SliceTask.tick`. */
  tick(
    shardId: string,
    timeLeftMs: () => number,
    claimed: number | null = null,
  ): Promise<DeliveryReport> {
    return this.#evicting(this.#task(shardId).tick(timeLeftMs, claimed));
  }

  /** See `SliceTask.recover`. */
  recover(
    shardId: string,
    timeLeftMs: () => number,
    claimed: number | null = null,
  ): Promise<DeliveryReport> {
    return this.#evicting(this.#task(shardId).recover(timeLeftMs, claimed));
  }

  #task(shardId: string): SliceTask {
    const known = this.#tasks.get(shardId);
    const identity = { sliceId: sliceIdOf(shardId), shardId };
    const task = known ?? this.#newTask(identity);
    this.#tasks.delete(shardId);
    this.#tasks.set(shardId, task);
    return task;
  }

  #newTask(identity: SliceIdentity): SliceTask {
    return new SliceTask(identity, this.#plan, this.#decoder, this.#ports, this.#sliceBytesMax);
  }

  /** The bound holds after an invocation that failed too: one that ran out of time keeps its memory. */
  async #evicting(work: Promise<DeliveryReport>): Promise<DeliveryReport> {
    try {
      return await work;
    } finally {
      this.#evict();
    }
  }

  #evict(): void {
    let heapBytes = 0;
    const newestFirst = [...this.#tasks].reverse();
    for (const [index, [shardId, task]] of newestFirst.entries()) {
      heapBytes += task.heapBytes();
      // The one in use stays, however large it is.
      if (index > 0 && heapBytes > this.#stateBytesMax) this.#tasks.delete(shardId);
    }
  }
}
