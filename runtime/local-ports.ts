/**
 * The core's ports over one data folder. Every thread opens its own: connections are not shared.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { CheckpointDatabase } from '../adapters/local/store/checkpoint-database.ts';
import { FileObjectStore } from '../adapters/local/store/file-object-store.ts';
import { LocalCheckpointStore } from '../adapters/local/store/local-checkpoint-store.ts';
import { LocalInbox } from '../adapters/local/store/local-inbox.ts';
import { LocalItemStore } from '../adapters/local/store/local-item-store.ts';
import { LocalPlanRegistry } from '../adapters/local/store/local-plan-registry.ts';
import { LocalQuarantineIndex } from '../adapters/local/store/local-quarantine-index.ts';
import { LocalSuspicionStore } from '../adapters/local/store/local-suspicion-store.ts';
import { LocalRecordSource } from '../adapters/local/stream/local-record-source.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import type { Clock, NonceSource, Pauses } from '../core/ports.ts';
import type { TaskPorts } from '../core/task/slice-task.ts';

export const systemClock: Clock = { nowMs: () => Date.now() };

const timerPauses: Pauses = {
  pause: (ms) => setTimeout(ms),
  yield: () => setImmediate(),
};

export const randomNonces: NonceSource = { nonce: () => randomBytes(8).toString('hex') };

export interface LocalPorts extends TaskPorts {
  readonly source: LocalRecordSource;
  close(): void;
}

export function streamPath(dataFolder: string): string {
  return join(dataFolder, 'stream.db');
}

/** What a process brings along itself. */
export type ProcessPorts = Pick<TaskPorts, 'clock' | 'pauses' | 'nonces' | 'knobs'>;

const OF_THIS_MACHINE: ProcessPorts = {
  clock: systemClock,
  pauses: timerPauses,
  nonces: randomNonces,
  knobs: DEFAULT_KNOBS,
};

/** Opens the ports of a data folder whose stream exists. */
export async function openLocalPorts(
  dataFolder: string,
  process: ProcessPorts = OF_THIS_MACHINE,
): Promise<LocalPorts> {
  const database = CheckpointDatabase.open(join(dataFolder, 'checkpoint.db'));
  const source = LocalRecordSource.open(streamPath(dataFolder));
  return {
    heads: new LocalCheckpointStore(database),
    blobs: {
      items: new LocalItemStore(database, process.clock),
      objects: await FileObjectStore.open(join(dataFolder, 'objects')),
    },
    quarantine: new LocalQuarantineIndex(database),
    inbox: new LocalInbox(database),
    plans: new LocalPlanRegistry(database),
    suspicions: new LocalSuspicionStore(database),
    source,
    shards: source,
    ...process,
    close() {
      source.close();
      database.close();
    },
  };
}
