/**
 * All ports of the core in memory, for one pipeline: what every environment and reader of it shares.
 */
import type { Knobs } from '../../core/knobs.ts';
import { DEFAULT_KNOBS } from '../../core/knobs.ts';
import type { HashRange, Pauses, ShardDirectory } from '../../core/ports.ts';
import type { TaskPorts } from '../../core/task/slice-task.ts';
import { CountingNonces } from './counting-nonces.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { MemoryCheckpointStore } from './memory-checkpoint-store.ts';
import { MemoryClock } from './memory-clock.ts';
import { MemoryInbox } from './memory-inbox.ts';
import { MemoryPlanRegistry } from './memory-plan-registry.ts';
import { MemoryQuarantineIndex } from './memory-quarantine-index.ts';
import { MemoryRecordSource } from './memory-record-source.ts';
import { MemorySuspicionStore } from './memory-suspicion-store.ts';

/** `streamId` of its only stream. */
export const STREAM_ID = '5'.repeat(16);
/** The range of a stream's only shard. */
export const WHOLE_RANGE: HashRange = { start: '0'.repeat(32), end: 'f'.repeat(32) };

export class MemoryPorts implements TaskPorts {
  readonly clock: MemoryClock;
  readonly knobs: Knobs;
  readonly heads = new MemoryCheckpointStore();
  readonly blobs: { readonly items: MemoryBlobStore; readonly objects: MemoryBlobStore };
  readonly quarantine = new MemoryQuarantineIndex();
  readonly inbox = new MemoryInbox();
  readonly plans = new MemoryPlanRegistry();
  readonly suspicions = new MemorySuspicionStore();
  readonly source = new MemoryRecordSource();
  readonly nonces = new CountingNonces();
  /** Time passes at once. */
  readonly pauses: Pauses = {
    pause: async (ms) => this.clock.advance(ms),
    yield: async () => {},
  };
  readonly shards: ShardDirectory = {
    hashRange: async () => WHOLE_RANGE,
    streamId: async () => STREAM_ID,
    shardIds: () => this.source.shardIds(),
  };

  constructor(nowMs: number, knobs: Partial<Knobs> = {}) {
    this.clock = new MemoryClock(nowMs);
    this.blobs = {
      items: new MemoryBlobStore(this.clock),
      objects: new MemoryBlobStore(this.clock),
    };
    this.knobs = { ...DEFAULT_KNOBS, ...knobs };
  }
}
