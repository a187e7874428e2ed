import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointDatabase } from '../../adapters/local/store/checkpoint-database.ts';
import { FileObjectStore } from '../../adapters/local/store/file-object-store.ts';
import { LocalCheckpointStore } from '../../adapters/local/store/local-checkpoint-store.ts';
import { LocalInbox } from '../../adapters/local/store/local-inbox.ts';
import { LocalItemStore } from '../../adapters/local/store/local-item-store.ts';
import { LocalPlanRegistry } from '../../adapters/local/store/local-plan-registry.ts';
import { LocalQuarantineIndex } from '../../adapters/local/store/local-quarantine-index.ts';
import { LocalSuspicionStore } from '../../adapters/local/store/local-suspicion-store.ts';
import { LocalRecordSource } from '../../adapters/local/stream/local-record-source.ts';
import { LocalStream } from '../../adapters/local/stream/local-stream.ts';
import type { StreamRecord } from '../../core/ports.ts';
import { blobStoreContract } from './blob-store-contract.ts';
import { checkpointStoreContract } from './checkpoint-store-contract.ts';
import type { World } from './contract.ts';
import { inboxContract } from './inbox-contract.ts';
import { objectStoreContract } from './object-store-contract.ts';
import { planRegistryContract } from './plan-registry-contract.ts';
import { quarantineIndexContract } from './quarantine-index-contract.ts';
import { recordSourceContract, type StreamWorld } from './record-source-contract.ts';
import { type DirectoryWorld, shardDirectoryContract } from './shard-directory-contract.ts';
import { suspicionStoreContract } from './suspicion-store-contract.ts';

const clock = { nowMs: () => Date.now() };

checkpointStoreContract({
  name: 'SQLite',
  make: () => sqliteWorld((database) => new LocalCheckpointStore(database)),
});

blobStoreContract({
  name: 'SQLite',
  make: () => sqliteWorld((database) => new LocalItemStore(database, clock)),
});

objectStoreContract({
  name: 'files',
  make: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-contract-'));
    return {
      connect: () => FileObjectStore.open(join(folder, 'objects')),
      disconnect: async () => {},
      dispose: () => rm(folder, { recursive: true }),
    };
  },
});

quarantineIndexContract({
  name: 'SQLite',
  make: () => sqliteWorld((database) => new LocalQuarantineIndex(database)),
});

inboxContract({
  name: 'SQLite',
  make: () => sqliteWorld((database) => new LocalInbox(database)),
});

planRegistryContract({
  name: 'SQLite',
  make: () => sqliteWorld((database) => new LocalPlanRegistry(database)),
});

suspicionStoreContract({
  name: 'SQLite',
  make: () => sqliteWorld((database) => new LocalSuspicionStore(database)),
});

recordSourceContract({ name: 'SQLite', make: localStream });

const SHARDS_STAY = 'the shards of a local stream are made with it, and stay';

shardDirectoryContract({
  name: 'SQLite',
  make: localDirectory,
  skip: [
    'a closed shard stays listed beside its children, which are listed in time',
    'a shard that the stream does not have is not listed, has no range, and is gone to readers',
  ].map((test) => ({ test, reason: SHARDS_STAY })),
});

async function sqliteWorld<P>(build: (database: CheckpointDatabase) => P): Promise<World<P>> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-contract-'));
  const open: CheckpointDatabase[] = [];
  const disconnect = async () => {
    for (const database of open.splice(0)) database.close();
  };
  return {
    connect: async () => {
      const database = CheckpointDatabase.open(join(folder, 'checkpoint.db'));
      open.push(database);
      return build(database);
    },
    disconnect,
    dispose: async () => {
      await disconnect();
      await rm(folder, { recursive: true });
    },
  };
}

async function localDirectory(): Promise<DirectoryWorld> {
  const [world, another] = [await localStream(), await localStream()];
  const ofSource = async ({ connect }: LocalStreamWorld) => {
    const source = await connect();
    return { source, shards: source };
  };
  const refuse = () => {
    throw new Error(SHARDS_STAY);
  };
  return {
    ...world,
    connect: () => ofSource(world),
    connectOther: () => ofSource(another),
    append: (shardId, data) => world.append(shardId, [data]),
    split: refuse,
    pass: () => {},
    goneShardId: '',
    dispose: async () => {
      await world.dispose();
      await another.dispose();
    },
  };
}

type LocalStreamWorld = Omit<StreamWorld, 'connect'> & {
  readonly connect: () => Promise<LocalRecordSource>;
};

async function localStream(): Promise<LocalStreamWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-contract-'));
  const path = join(folder, 'stream.db');
  let stream = LocalStream.open({ path, name: 'flights', shardCount: 2, clock });
  const [one, other] = stream.shards();
  if (one === undefined || other === undefined) throw new Error('a stream of two shards');
  const sources: LocalRecordSource[] = [];
  const disconnect = async () => {
    for (const source of sources.splice(0)) source.close();
    stream.close();
  };
  return {
    shardIds: [one.shardId, other.shardId],
    connect: async () => {
      const source = LocalRecordSource.open(path);
      sources.push(source);
      return source;
    },
    append: async (shardId, datas) => {
      const range = shardId === one.shardId ? one.range : other.range;
      const explicitHashKey = BigInt(`0x${range.start}`).toString();
      const entries = datas.map((data) => ({ partitionKey: 'key', explicitHashKey, data }));
      return recordsOf(stream, shardId, stream.append(entries).length);
    },
    trim: async (shardId, to) => {
      const keepAfter = new Map([[shardId, to]]);
      await stream.trimExpired(Date.now() + (stream.retentionHours + 1) * 3_600_000, keepAfter);
    },
    disconnect: async () => {
      await disconnect();
      stream = LocalStream.open({ path, name: 'flights', clock });
    },
    dispose: async () => {
      await disconnect();
      await rm(folder, { recursive: true });
    },
  };
}

/** The newest `count` records of a shard, as the stream gives them. */
function recordsOf(stream: LocalStream, shardId: string, count: number): StreamRecord[] {
  const first = stream.tip(shardId).ordinal - count + 1;
  return [...stream.readFrom(shardId, first, { countMax: count, bytesMax: 1e9 }).records];
}
