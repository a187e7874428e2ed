/**
 * The core's ports over one data folder. Every thread opens its own: connections are not shared.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { CheckpointDatabase } from '../adapters/local/store/checkpoint-database.ts';
import { FileObjectStore } from '../adapters/local/store/file-object-store.ts';
import { LocalCheckpointStore } from '../adapters/local/store/local-checkpoint-store.ts';
import { LocalItemStore } from '../adapters/local/store/local-item-store.ts';
import { LocalQuarantineIndex } from '../adapters/local/store/local-quarantine-index.ts';
import { LocalRecordSource } from '../adapters/local/stream/local-record-source.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import type { Clock, NonceSource } from '../core/ports.ts';
import type { TaskPorts } from '../core/task.ts';

export const systemClock: Clock = { nowMs: () => Date.now() };

export const randomNonces: NonceSource = { nonce: () => randomBytes(8).toString('hex') };

export interface LocalPorts extends TaskPorts {
  readonly source: LocalRecordSource;
  close(): void;
}

export function streamPath(dataFolder: string): string {
  return join(dataFolder, 'stream.db');
}

/** Opens the ports of a data folder whose stream exists. */
export async function openLocalPorts(dataFolder: string): Promise<LocalPorts> {
  const database = CheckpointDatabase.open(join(dataFolder, 'checkpoint.db'));
  const source = LocalRecordSource.open(streamPath(dataFolder));
  return {
    heads: new LocalCheckpointStore(database),
    blobs: {
      items: new LocalItemStore(database, systemClock),
      objects: await FileObjectStore.open(join(dataFolder, 'objects')),
    },
    quarantine: new LocalQuarantineIndex(database),
    source,
    shards: source,
    clock: systemClock,
    nonces: randomNonces,
    knobs: DEFAULT_KNOBS,
    close() {
      source.close();
      database.close();
    },
  };
}
