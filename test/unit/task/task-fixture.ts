/**
 * One or two slices over stores in memory, with tasks made at will: each is a process of its own.
 */
import { CountingNonces } from '../../../adapters/memory/counting-nonces.ts';
import { MemoryBlobStore } from '../../../adapters/memory/memory-blob-store.ts';
import { MemoryCheckpointStore } from '../../../adapters/memory/memory-checkpoint-store.ts';
import { MemoryClock } from '../../../adapters/memory/memory-clock.ts';
import { MemoryQuarantineIndex } from '../../../adapters/memory/memory-quarantine-index.ts';
import { MemoryRecordSource } from '../../../adapters/memory/memory-record-source.ts';
import { readBlob } from '../../../core/checkpoint/blobs.ts';
import { type Head, headItem, parseHead } from '../../../core/checkpoint/head.ts';
import { type EpochReference, load } from '../../../core/checkpoint/restore.ts';
import { RunReader } from '../../../core/checkpoint/run.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { DEFAULT_KNOBS, type Knobs } from '../../../core/knobs.ts';
import type { CheckpointStore, StreamRecord } from '../../../core/ports.ts';
import type { ClosedEntry } from '../../../core/state/slice-image.ts';
import { SliceTask, type TaskPorts } from '../../../core/task.ts';
import { randomLog, SHARD, SLICE, smallPlan, toStreamRecord } from '../../world/small-log.ts';
import { emptyState, mergedText } from '../state/fold-fixture.ts';

export const PLENTY = () => 60_000;

const RANGE = { start: '0'.repeat(32), end: 'f'.repeat(32) };
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

export class TaskWorld {
  readonly records: StreamRecord[];
  readonly heads = new MemoryCheckpointStore();
  readonly clock = new MemoryClock(1_000_000);
  readonly blobs = {
    items: new MemoryBlobStore(this.clock),
    objects: new MemoryBlobStore(this.clock),
  };
  readonly quarantine = new MemoryQuarantineIndex();
  readonly source = new MemoryRecordSource();
  readonly ports: TaskPorts;

  constructor(length: number, knobs: Partial<Knobs> = {}, seed = 5) {
    this.records = randomLog(length, seed).map(toStreamRecord);
    for (const record of this.records) this.source.append(SHARD, record);
    this.ports = {
      heads: this.heads,
      blobs: this.blobs,
      clock: this.clock,
      nonces: new CountingNonces(),
      source: this.source,
      shards: { hashRange: async () => RANGE },
      quarantine: this.quarantine,
      knobs: { ...DEFAULT_KNOBS, ...knobs },
    };
  }

  task(ports: Partial<TaskPorts> = {}): SliceTask {
    const identity = { sliceId: SLICE, shardId: SHARD };
    const decoder = createJsonDecoder(smallPlan);
    return new SliceTask(identity, smallPlan, decoder, { ...this.ports, ...ports });
  }

  /** The store of HEADs with another way to write one. */
  headsThatWrite(writeHead: CheckpointStore['writeHead']): CheckpointStore {
    return {
      readHead: (sliceId) => this.heads.readHead(sliceId),
      createHead: (item) => this.heads.createHead(item),
      listHeads: () => this.heads.listHeads(),
      writeHead,
    };
  }

  async head(): Promise<Head> {
    const item = await this.heads.readHead(SLICE);
    if (item === null) throw new Error('no HEAD');
    return parseHead(item);
  }

  /** Rewrites HEAD as some other writer would. */
  async rewriteHead(more: Partial<Head>): Promise<Head> {
    const head = await this.head();
    const next = {
      ...head,
      revision: head.revision + 1,
      nonce: this.ports.nonces.nonce(),
      ...more,
    };
    const answer = await this.heads.writeHead(headItem(next), head.revision);
    if (answer.outcome !== 'applied') throw new Error('HEAD was not rewritten');
    return next;
  }

  /** HEAD answers for the first `count` records, although no checkpoint has them. */
  async deliverOnly(count: number): Promise<void> {
    const { sequenceNumber, subSequence, arrivalMs } = this.records[count - 1] as StreamRecord;
    const delivered = { sequenceNumber, subSequence };
    await this.rewriteHead({ delivered, deliveredArrivalMs: arrivalMs });
  }

  /** Open state and all closed entries of an epoch, as text, from the stores alone. */
  async answers(epoch: EpochReference): Promise<{ open: string; closed: string[] }> {
    const { image, manifest } = await load(smallPlan, epoch, this.blobs);
    const closed: ClosedEntry[][] = image.closed.map((entries) => [...entries]);
    for (const run of manifest.runs) {
      const bytes = await readBlob(this.blobs, SLICE, run);
      const reader = new RunReader(SLICE, run, async (from, to) => bytes.subarray(from, to));
      for (const [index, view] of smallPlan.views.entries()) {
        closed[index]?.push(...(await reader.entries(view)));
      }
    }
    return { open: hex(image.encode()), closed: mergedText(smallPlan, closed) };
  }

  /** What `answers` must be once the first `count` records are folded. */
  expected(count: number): { open: string; closed: string[] } {
    const state = emptyState(smallPlan);
    for (const record of this.records.slice(0, count)) state.fold(record);
    return {
      open: hex(state.encodeBase()),
      closed: mergedText(smallPlan, state.closedSinceBase()),
    };
  }
}
