/**
 * Ports in memory that note each call which AWS would charge, and how many of them were waited for one after another.
 */
import { MemoryPorts } from '../../adapters/memory/memory-ports.ts';
import { HEAD_BYTES_MAX } from '../../core/limits.ts';
import type {
  BlobStore,
  BlobUpload,
  CheckpointStore,
  HeadItem,
  ObjectStore,
  RecordSource,
  SuspicionStore,
} from '../../core/ports.ts';
import type { TaskPorts } from '../../core/task/slice-task.ts';
import { itemByteLength, type StoreCall } from './store-calls.ts';

/** Collects sooner than what is deployed, so that a short run deletes as much as it writes. */
export const COUNTED_GRACE_MS = 60_000;

export class CountedPorts {
  readonly memory = new MemoryPorts(0, { retentionGraceMs: COUNTED_GRACE_MS });
  readonly ports: TaskPorts;
  calls: StoreCall[] = [];
  rounds = { dynamodb: 0, s3: 0 };
  /** How often each store was listed: what that costs depends on how long blobs are kept. */
  listings = { dynamodb: 0, s3: 0 };
  readonly #underWay = { dynamodb: 0, s3: 0 };

  constructor(source: RecordSource) {
    const { memory } = this;
    this.ports = {
      clock: memory.clock,
      knobs: memory.knobs,
      nonces: memory.nonces,
      shards: memory.shards,
      quarantine: memory.quarantine,
      inbox: memory.inbox,
      plans: memory.plans,
      pauses: memory.pauses,
      source,
      heads: this.#heads(memory.heads),
      suspicions: this.#suspicions(memory.suspicions),
      blobs: {
        items: this.#blobs(memory.blobs.items, 'dynamodb'),
        objects: this.#objects(memory.blobs.objects),
      },
    };
  }

  /** Counts begin anew. */
  reset(): void {
    this.calls = [];
    this.rounds = { dynamodb: 0, s3: 0 };
    this.listings = { dynamodb: 0, s3: 0 };
  }

  #heads(heads: CheckpointStore): CheckpointStore {
    const byteLength = HEAD_BYTES_MAX;
    const read = <T>(work: () => Promise<T>) =>
      this.#called({ to: 'dynamodb', call: 'read', byteLength }, work);
    const write = <T>(work: () => Promise<T>) =>
      this.#called({ to: 'dynamodb', call: 'write', byteLength }, work);
    return {
      readHead: (sliceId) => read(() => heads.readHead(sliceId)),
      createHead: (item: HeadItem) => write(() => heads.createHead(item)),
      writeHead: (item, ifRevision, passing) =>
        write(() => heads.writeHead(item, ifRevision, passing)),
      holdHead: (sliceId, hold, instead) => write(() => heads.holdHead(sliceId, hold, instead)),
      listHeads: () => read(() => heads.listHeads()),
    };
  }

  #suspicions(suspicions: SuspicionStore): SuspicionStore {
    const byteLength = itemByteLength(0);
    return {
      read: (sliceId) =>
        this.#called({ to: 'dynamodb', call: 'read', byteLength }, () => suspicions.read(sliceId)),
      write: (sliceId, suspicion) =>
        this.#called({ to: 'dynamodb', call: 'write', byteLength }, () =>
          suspicions.write(sliceId, suspicion),
        ),
    };
  }

  /** Of an upload, its beginning, each piece and its end are charged as a write is. */
  #objects(store: ObjectStore): ObjectStore {
    const put = <T>(work: () => Promise<T>) => this.#called({ to: 's3', call: 'put' }, work);
    return {
      ...this.#blobs(store, 's3'),
      upload: async (key): Promise<BlobUpload> => {
        const upload = await put(() => store.upload(key));
        return {
          write: (piece) => put(() => upload.write(piece)),
          complete: () => put(() => upload.complete()),
          abandon: () => upload.abandon(),
        };
      },
    };
  }

  #blobs(store: BlobStore, to: 'dynamodb' | 's3'): BlobStore {
    const callOf = (kind: 'read' | 'write', byteLength: number): StoreCall => {
      if (to === 's3') return { to, call: kind === 'read' ? 'get' : 'put' };
      return { to, call: kind, byteLength: itemByteLength(byteLength) };
    };
    const sizes = new Map<string, number>();
    const sizeOf = (key: string) => sizes.get(key) ?? 0;
    return {
      create: (key, bytes) => {
        sizes.set(key, bytes.length);
        return this.#called(callOf('write', bytes.length), () => store.create(key, bytes));
      },
      read: (key) => this.#called(callOf('read', sizeOf(key)), () => store.read(key)),
      readRange: (key, from, end) =>
        this.#called(callOf('read', sizeOf(key)), () => store.readRange(key, from, end)),
      list: (prefix, after, limit) => {
        this.listings[to]++;
        return store.list(prefix, after, limit);
      },
      delete: async (keys) => {
        for (const key of keys) {
          // Free in S3.
          if (to === 'dynamodb') this.calls.push(callOf('write', sizeOf(key)));
          sizes.delete(key);
        }
        await store.delete(keys);
      },
    };
  }

  async #called<T>(call: StoreCall, work: () => Promise<T>): Promise<T> {
    this.calls.push(call);
    // What begins beside another call is waited for with it.
    if (this.#underWay[call.to]++ === 0) this.rounds[call.to]++;
    try {
      return await work();
    } finally {
      this.#underWay[call.to]--;
    }
  }
}
