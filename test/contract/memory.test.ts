import { MemoryAgeStore } from '../../adapters/memory/memory-age-store.ts';
import { MemoryBlobStore } from '../../adapters/memory/memory-blob-store.ts';
import { MemoryCheckpointStore } from '../../adapters/memory/memory-checkpoint-store.ts';
import { MemoryClock } from '../../adapters/memory/memory-clock.ts';
import { MemoryInbox } from '../../adapters/memory/memory-inbox.ts';
import { MemoryPlanRegistry } from '../../adapters/memory/memory-plan-registry.ts';
import { MemoryQuarantineIndex } from '../../adapters/memory/memory-quarantine-index.ts';
import { MemoryRecordSource } from '../../adapters/memory/memory-record-source.ts';
import { MemorySuspicionStore } from '../../adapters/memory/memory-suspicion-store.ts';
import type { StreamRecord } from '../../core/ports.ts';
import { ageStoreContract } from './age-store-contract.ts';
import { blobStoreContract } from './blob-store-contract.ts';
import { checkpointStoreContract } from './checkpoint-store-contract.ts';
import { worldOf } from './contract.ts';
import { inboxContract } from './inbox-contract.ts';
import { planRegistryContract } from './plan-registry-contract.ts';
import { quarantineIndexContract } from './quarantine-index-contract.ts';
import { recordSourceContract, type StreamWorld } from './record-source-contract.ts';
import { suspicionStoreContract } from './suspicion-store-contract.ts';

const restart = (test: string) => [{ test, reason: 'memory ends with its process' }];

checkpointStoreContract({
  name: 'memory',
  make: async () => worldOf(new MemoryCheckpointStore()),
  skip: restart('what was written is there after a restart'),
});

blobStoreContract({
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

function memoryStream(): StreamWorld {
  const source = new MemoryRecordSource();
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
