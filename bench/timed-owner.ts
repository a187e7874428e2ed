/** An owner over stores in memory, and what its batches take. */
import { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { type Head, parseHead } from '../core/checkpoint/head.ts';
import { restore } from '../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { Plan } from '../core/definition/plan.ts';
import type { Knobs } from '../core/knobs.ts';
import type { HeadItem, StreamRecord } from '../core/ports.ts';
import { SliceTask } from '../core/task/slice-task.ts';

export const SHARD = 'shardId-000000000000';
export const SLICE = 'slice-000000000000';

const EVER = () => 600_000;

/** What closes a gap is read from the stream: only the first batch looks. */
const APPENDED_MAX = 10_000;

export interface TimedBatch {
  readonly beganMs: number;
  readonly tookMs: number;
  /** Of it, what the thread ran: the rest it waited for a processor. */
  readonly ranMs: number;
  readonly savedBytes: number;
}

export class TimedOwner {
  readonly ports: MemoryPorts;
  readonly #plan: Plan;
  readonly #task: SliceTask;
  #appended = 0;

  private constructor(plan: Plan, ports: MemoryPorts) {
    const identity = { sliceId: SLICE, shardId: SHARD };
    this.ports = ports;
    this.#plan = plan;
    this.#task = new SliceTask(identity, plan, createJsonDecoder(plan), ports);
  }

  static async of(plan: Plan, knobs: Partial<Knobs> = {}): Promise<TimedOwner> {
    const ports = new MemoryPorts(1_000, knobs);
    await ports.plans.activate({ ordinal: 1, hash: plan.hash, pipeline: '{}' });
    return new TimedOwner(plan, ports);
  }

  async deliver(batch: readonly StreamRecord[]): Promise<TimedBatch> {
    for (const record of batch) {
      if (this.#appended++ < APPENDED_MAX) this.ports.source.append(SHARD, record);
    }
    const ran = process.threadCpuUsage();
    const beganMs = performance.now();
    const { savedBytes } = await this.#task.deliver(batch, EVER);
    const tookMs = performance.now() - beganMs;
    const { user, system } = process.threadCpuUsage(ran);
    return { beganMs, tookMs, ranMs: (user + system) / 1000, savedBytes };
  }

  async head(): Promise<Head> {
    return parseHead((await this.ports.heads.readHead(SLICE)) as HeadItem);
  }

  /** Milliseconds that a restore takes. */
  async restoreMs(): Promise<number> {
    const head = await this.head();
    const beganMs = performance.now();
    await restore(this.#plan, head, this.ports.blobs);
    return performance.now() - beganMs;
  }
}
