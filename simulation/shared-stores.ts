/**
 * The stores that all processes of a simulation share.
 */
import { MemoryBlobStore } from '../adapters/memory/memory-blob-store.ts';
import { MemoryCheckpointStore } from '../adapters/memory/memory-checkpoint-store.ts';
import { MemoryInbox } from '../adapters/memory/memory-inbox.ts';
import { MemoryPlanRegistry } from '../adapters/memory/memory-plan-registry.ts';
import { MemoryQuarantineIndex } from '../adapters/memory/memory-quarantine-index.ts';
import { MemorySuspicionStore } from '../adapters/memory/memory-suspicion-store.ts';
import type { CheckpointStore, HeadItem } from '../core/ports.ts';
import { DamageableBlobs } from './damageable-blobs.ts';
import type { SharedPorts } from './faulty-ports.ts';
import type { SimStream } from './sim-stream.ts';

export interface SharedStores {
  /** As processes find them. */
  readonly shared: SharedPorts;
  /** The same, with blobs as they were written. */
  readonly sound: SharedPorts;
  readonly blobs: { readonly items: DamageableBlobs; readonly objects: DamageableBlobs };
}

/** `onHead` is told of each HEAD that is written. */
export function createSharedStores(
  stream: SimStream,
  nowMs: () => number,
  onHead: (item: HeadItem) => void,
): SharedStores {
  const clock = { nowMs };
  const blobs = {
    items: new DamageableBlobs(new MemoryBlobStore(clock)),
    objects: new DamageableBlobs(new MemoryBlobStore(clock)),
  };
  const shared = {
    heads: observed(new MemoryCheckpointStore(), onHead),
    blobs,
    source: stream,
    shards: stream,
    quarantine: new MemoryQuarantineIndex(),
    inbox: new MemoryInbox(),
    plans: new MemoryPlanRegistry(),
    suspicions: new MemorySuspicionStore(),
  };
  const sound = { items: blobs.items.sound, objects: blobs.objects.sound };
  return { shared, sound: { ...shared, blobs: sound }, blobs };
}

function observed(heads: CheckpointStore, onHead: (item: HeadItem) => void): CheckpointStore {
  return {
    readHead: (sliceId) => heads.readHead(sliceId),
    listHeads: () => heads.listHeads(),
    holdHead: (sliceId, hold, instead) => heads.holdHead(sliceId, hold, instead),
    createHead: async (item) => {
      const answer = await heads.createHead(item);
      if (answer.outcome === 'applied') onHead(item);
      return answer;
    },
    writeHead: async (item, ifRevision, passing) => {
      const answer = await heads.writeHead(item, ifRevision, passing);
      if (answer.outcome === 'applied') onHead(item);
      return answer;
    },
  };
}
