import { expect } from 'vitest';
import { MemoryAgeStore } from '../../adapters/memory/memory-age-store.ts';
import { MemoryBlobStore } from '../../adapters/memory/memory-blob-store.ts';
import { MemoryCheckpointStore } from '../../adapters/memory/memory-checkpoint-store.ts';
import { MemoryClock } from '../../adapters/memory/memory-clock.ts';
import { MemoryInbox } from '../../adapters/memory/memory-inbox.ts';
import { MemoryPlanRegistry } from '../../adapters/memory/memory-plan-registry.ts';
import { MemoryPorts } from '../../adapters/memory/memory-ports.ts';
import { MemoryQuarantineIndex } from '../../adapters/memory/memory-quarantine-index.ts';
import { MemoryRecordSource } from '../../adapters/memory/memory-record-source.ts';
import { MemorySuspicionStore } from '../../adapters/memory/memory-suspicion-store.ts';
import { hashTextHex } from '../../core/hash.ts';
import type { HashRange, StreamRecord } from '../../core/ports.ts';
import { Random } from '../../simulation/random.ts';
import { SimStream } from '../../simulation/sim-stream.ts';
import { ageStoreContract } from './age-store-contract.ts';
import { checkpointStoreContract } from './checkpoint-store-contract.ts';
import { worldOf } from './contract.ts';
import { inboxContract } from './inbox-contract.ts';
import { objectStoreContract } from './object-store-contract.ts';
import { planRegistryContract } from './plan-registry-contract.ts';
import { quarantineIndexContract } from './quarantine-index-contract.ts';
import { recordSourceContract, type StreamWorld } from './record-source-contract.ts';
import { type DirectoryWorld, shardDirectoryContract } from './shard-directory-contract.ts';
import { suspicionStoreContract } from './suspicion-store-contract.ts';

const restart = (test: string) => [{ test, reason: 'memory ends with its process' }];

checkpointStoreContract({
  name: 'memory',
  make: async () => worldOf(new MemoryCheckpointStore()),
  skip: restart('what was written is there after a restart'),
});

objectStoreContract({
  name: 'memory',
  make: async () => worldOf(new MemoryBlobStore(new MemoryClock(Date.now()))),
  skip: restart('what was created is there after a restart'),
});

quarantineIndexContract({
  name: 'memory',
  make: async () => worldOf(new MemoryQuarantineIndex()),
  skip: restart('what was put is there after a restart'),
});

inboxContract({
  name: 'memory',
  make: async () => worldOf(new MemoryInbox()),
  skip: restart('what was put is there after a restart'),
});

planRegistryContract({
  name: 'memory',
  make: async () => worldOf(new MemoryPlanRegistry()),
  skip: restart('what was activated is there after a restart'),
});

ageStoreContract({ name: 'memory', make: async () => worldOf(new MemoryAgeStore()) });

suspicionStoreContract({
  name: 'memory',
  make: async () => worldOf(new MemorySuspicionStore()),
  skip: restart('what was written is there after a restart'),
});

recordSourceContract({
  name: 'memory',
  make: async () => memoryStream(),
  skip: restart('what was appended is there after a restart'),
});

const ONE_SHARD = 'every shard of it has the whole range, and none closes or goes';

shardDirectoryContract({
  name: 'memory',
  make: async () => memoryDirectory(),
  skip: [
    {
      test: 'every shard is listed once, without a record too, whoever asks',
      reason: 'a shard is there from its first record on',
    },
    { test: 'records change nothing of the list', reason: 'the same' },
    ...[
      'ranges are 32 hex digits each, tile all hash keys, and stay',
      'a closed shard stays listed beside its children, which are listed in time',
      'a shard that the stream does not have is not listed, has no range, and is gone to readers',
    ].map((test) => ({ test, reason: ONE_SHARD })),
    {
      test: 'a stream has one id, whoever asks, and another stream of its name another',
      reason: 'all have the same',
    },
  ],
});

shardDirectoryContract({
  name: 'the simulation',
  make: async () => simulatedDirectory(),
  skip: [
    {
      test: 'a shard that the stream does not have is not listed, has no range, and is gone to readers',
      reason: 'no shard goes there',
    },
    {
      test: 'a stream has one id, whoever asks, and another stream of its name another',
      reason: 'there is one stream',
    },
  ],
});

const unsupported = async () => {
  throw new Error('it cannot');
};

function memoryDirectory(): DirectoryWorld {
  const ports = new MemoryPorts(0);
  const { shardIds, append } = memoryStream(ports.source);
  return {
    ...worldOf({ source: ports.source, shards: ports.shards }),
    shardIds,
    append: (shardId, data) => append(shardId, [data]),
    split: unsupported,
    connectOther: unsupported,
    pass: () => {},
    goneShardId: '',
  };
}

/** Reads are whole there. */
function simulatedDirectory(): DirectoryWorld {
  const stream = new SimStream(2, { shortReadRate: 0, emptyReadRate: 0 }, new Random('directory'));
  const [one, other] = stream.shards;
  if (one === undefined || other === undefined) throw new Error('a stream of two shards');
  const keyIn = ({ start, end }: HashRange) => {
    for (let number = 0; ; number++) {
      const hash = hashTextHex(`key-${number}`);
      if (hash >= start && hash <= end) return `key-${number}`;
    }
  };
  return {
    ...worldOf({ source: stream, shards: stream }),
    shardIds: [one.id, other.id],
    append: async (shardId, data) => stream.put(keyIn(stream.shard(shardId).range), data, 0),
    split: async (shardId) => {
      expect(stream.split(stream.shard(shardId))).toBe(true);
    },
    connectOther: unsupported,
    pass: () => {},
    goneShardId: '',
  };
}

function memoryStream(source = new MemoryRecordSource()): StreamWorld {
  let sequence = 95;
  return {
    ...worldOf(source),
    shardIds: ['shardId-000000000000', 'shardId-000000000001'],
    append: async (shardId, datas) => {
      const records = datas.map((data): StreamRecord => {
        // Not dense, as in Kinesis, and from two digits to three.
        sequence += 3;
        const sequenceNumber = `${sequence}`;
        return { sequenceNumber, subSequence: 0, partitionKey: 'key', arrivalMs: 1_000, data };
      });
      for (const record of records) source.append(shardId, record);
      return records;
    },
    trim: async (shardId, to) => source.trim(shardId, to),
  };
}
