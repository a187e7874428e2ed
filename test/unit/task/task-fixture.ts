/**
 * One or two slices over stores in memory, with tasks made at will: each is a process of its own, under a plan and with a
 * decoder of its own.
 */
import { MemoryPorts } from '../../../adapters/memory/memory-ports.ts';
import { readBlob } from '../../../core/checkpoint/blobs.ts';
import { type Head, headItem, parseHead } from '../../../core/checkpoint/head.ts';
import { type BlobReference, blobKey } from '../../../core/checkpoint/names.ts';
import { type EpochReference, load } from '../../../core/checkpoint/restore.ts';
import { RunReader } from '../../../core/checkpoint/run.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { RecordDecoder } from '../../../core/decode/record-decoder.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import type { Knobs } from '../../../core/knobs.ts';
import {
  type CheckpointStore,
  quarantineId,
  type RedriveRequest,
  requestId,
  type StreamRecord,
} from '../../../core/ports.ts';
import type { RecordCounts } from '../../../core/state/counters.ts';
import type { SliceState } from '../../../core/state/slice-state.ts';
import { SliceTask, type TaskPorts } from '../../../core/task/slice-task.ts';
import { FaultSwitch, type Life } from '../../world/fault-switch.ts';
import {
  insideKinesisRecords,
  randomLog,
  SHARD,
  SLICE,
  type SmallRecord,
  smallPlan,
  toStreamRecord,
} from '../../world/small-log.ts';
import { closedOf, emptyState, mergedText } from '../state/fold-fixture.ts';

export const PLENTY = () => 60_000;

/** Time enough for `calls` looks at the clock, then none. */
export function timeFor(calls: number): () => number {
  let left = calls;
  return () => (left-- > 0 ? 60_000 : 0);
}

export interface Code {
  readonly plan?: Plan;
  readonly decoder?: RecordDecoder;
}

/** A port with some of its methods replaced. */
export function overriding<T extends object>(port: T, methods: Partial<T>): T {
  return new Proxy(port, {
    get: (target, name) => {
      const value = Reflect.get(name in methods ? methods : target, name) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const NOTHING = async () => {};

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** What `TaskWorld.answers` gives of a state that was committed. */
export function textOf(state: SliceState): { open: string; closed: string[] } {
  return {
    open: hex(state.encodeWhole()),
    closed: mergedText(state.image.plan, closedOf(state)),
  };
}

export class TaskWorld {
  readonly records: StreamRecord[];
  readonly ports: MemoryPorts;

  /** A random log of so many records, or this one. `sizes`: how many are inside each Kinesis record, in turn. */
  constructor(
    log: number | readonly (SmallRecord | null)[],
    knobs: Partial<Knobs> = {},
    { seed = 5, sizes = [1] }: { readonly seed?: number; readonly sizes?: readonly number[] } = {},
  ) {
    const records = (typeof log === 'number' ? randomLog(log, seed) : log).map(toStreamRecord);
    this.records = insideKinesisRecords(records, sizes);
    this.ports = new MemoryPorts(1_000_000, knobs);
    for (const record of this.records) this.source.append(SHARD, record);
    void this.ports.plans.activate({ ordinal: 1, hash: smallPlan.hash, pipeline: '{}' });
  }

  get heads() {
    return this.ports.heads;
  }

  get clock() {
    return this.ports.clock;
  }

  get blobs() {
    return this.ports.blobs;
  }

  get quarantine() {
    return this.ports.quarantine;
  }

  get source() {
    return this.ports.source;
  }

  get inbox() {
    return this.ports.inbox;
  }

  task(ports: Partial<TaskPorts> = {}, { plan = smallPlan, decoder }: Code = {}): SliceTask {
    const identity = { sliceId: SLICE, shardId: SHARD };
    const itsDecoder = decoder ?? createJsonDecoder(plan);
    return new SliceTask(identity, plan, itsDecoder, { ...this.ports, ...ports });
  }

  /** A task that can do nothing more once its life is over: not even tidy up. */
  mortalTask(life: Life, code: Code = {}, ports: Partial<TaskPorts> = {}): SliceTask {
    const faultSwitch = new FaultSwitch(new Map(), NOTHING, NOTHING);
    return this.task(faultSwitch.wrap({ ...this.ports, ...ports }, life), code);
  }

  /** The records [from, to). */
  batch(from: number, to: number): StreamRecord[] {
    return this.records.slice(from, to);
  }

  /** The plan becomes the active one. */
  async activate(plan: Plan): Promise<void> {
    const { plans } = this.ports;
    const ordinal = ((await plans.active())?.ordinal ?? 0) + 1;
    await plans.activate({ ordinal, hash: plan.hash, pipeline: '{}' });
  }

  /** Ids of the quarantine's records, as listed. */
  async quarantinedIds(): Promise<string[]> {
    return (await this.quarantine.list(null, 1_000)).map(quarantineId);
  }

  /** Asks for records to be redriven, and gives the request's id. */
  async request(records: readonly string[]): Promise<string> {
    const id = requestId(this.clock.nowMs(), this.ports.nonces.nonce());
    await this.inbox.put({ id, sliceId: SLICE, records, done: null });
    return id;
  }

  async requestOf(id: string): Promise<RedriveRequest> {
    const all = await this.inbox.list(SLICE, null, 1_000);
    const found = all.find((request) => request.id === id);
    if (found === undefined) throw new Error(`no request ${id}`);
    return found;
  }

  /** Takes a blob away, or changes a byte of it. */
  async damage(reference: BlobReference, how: 'gone' | 'changed' = 'gone'): Promise<void> {
    const store = reference.place === 'item' ? this.blobs.items : this.blobs.objects;
    const key = blobKey(SLICE, reference);
    const bytes = await store.read(key);
    if (bytes === null) throw new Error(`${key} is not there`);
    await store.delete([key]);
    const at = bytes.length >> 1;
    if (how === 'changed')
      await store.create(
        key,
        bytes.map((b, i) => (i === at ? b ^ 1 : b)),
      );
  }

  /** Keys of all blobs, with their bytes. */
  async allBlobs(): Promise<Map<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    for (const store of [this.blobs.items, this.blobs.objects]) {
      for (const { key } of await store.list(`${SLICE}/`, null, 10_000)) {
        found.set(key, (await store.read(key)) as Uint8Array);
      }
    }
    return found;
  }

  /** The store of HEADs with another way to write one. */
  headsThatWrite(writeHead: CheckpointStore['writeHead']): CheckpointStore {
    return {
      readHead: (sliceId) => this.heads.readHead(sliceId),
      createHead: (item) => this.heads.createHead(item),
      listHeads: () => this.heads.listHeads(),
      holdHead: (sliceId, hold, instead) => this.heads.holdHead(sliceId, hold, instead),
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
    // It holds back for none.
    const hold = (await this.heads.readHead(SLICE))?.hold ?? null;
    const answer = await this.heads.writeHead(headItem(next), head.revision, hold);
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
  async answers(
    epoch: EpochReference,
    plan: Plan = smallPlan,
  ): Promise<{ open: string; closed: string[] }> {
    const { image, manifest } = await load(plan, epoch, this.blobs);
    const closed = closedOf(image);
    for (const run of manifest.runs) {
      const bytes = await readBlob(this.blobs, SLICE, run);
      const reader = new RunReader(SLICE, run, async (from, to) => bytes.subarray(from, to));
      for (const [index, view] of plan.views.entries()) {
        closed[index]?.push(...(await reader.entries({ view, life: image.lives[index]! })));
      }
    }
    return { open: hex(image.encode()), closed: mergedText(plan, closed) };
  }

  /** Of the first `count` records. */
  expectedCounts(count: number, plan: Plan = smallPlan): Readonly<RecordCounts> {
    const state = emptyState(plan);
    for (const record of this.records.slice(0, count)) state.fold(record);
    return state.progress.counts;
  }

  /** Open entries once the first `count` records are folded. */
  expectedOpenCount(count: number, plan: Plan = smallPlan): number {
    const state = emptyState(plan);
    for (const record of this.records.slice(0, count)) state.fold(record);
    return state.openEntryCount;
  }

  /** What `answers` must be once the first `count` records are folded. */
  expected(count: number, plan: Plan = smallPlan): { open: string; closed: string[] } {
    const state = emptyState(plan);
    for (const record of this.records.slice(0, count)) state.fold(record);
    return textOf(state);
  }
}
