/** A data folder as `tidemark dev` uses it, without its processes: records are appended and folded at will. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { LocalPlanRegistry } from '../../../adapters/local/store/local-plan-registry.ts';
import type { AppendedRecord } from '../../../adapters/local/stream/local-stream.ts';
import { Aggregator } from '../../../core/aggregator.ts';
import { parseHead } from '../../../core/checkpoint/head.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { Position } from '../../../core/position.ts';
import { START } from '../../../core/position.ts';
import { sliceIdOf } from '../../../core/slice/topology.ts';
import { type FolderStores, openFolderStores } from '../../../runtime/folder-stores.ts';
import { openLocalPorts, systemClock } from '../../../runtime/local-ports.ts';
import { smallPlan } from '../../world/small-log.ts';

export const SHARD = 'shardId-000000000000';

export class FolderLife {
  readonly path: string;
  readonly stores: FolderStores;
  #appended = 0;
  #isClosed = false;

  static async open(path: string): Promise<FolderLife> {
    const stores = await openFolderStores(pathsOf(path), {
      name: smallPlan.stream,
      clock: systemClock,
    });
    const registry = new LocalPlanRegistry(stores.database);
    if ((await registry.active()) === null) {
      await registry.activate({ ordinal: 1, hash: smallPlan.hash, pipeline: '{}' });
    }
    return new FolderLife(path, stores);
  }

  private constructor(path: string, stores: FolderStores) {
    this.path = path;
    this.stores = stores;
  }

  append(count: number): AppendedRecord[] {
    const entries = Array.from({ length: count }, () => {
      const id = ++this.#appended;
      const record = { id: `${Date.now()}-${id}`, t: 1_000 + id, type: 'a', key: 'k', amount: 1 };
      const data = Buffer.from(JSON.stringify(record));
      return { partitionKey: 'k', explicitHashKey: null, data };
    });
    return this.stores.stream.append(entries);
  }

  /** Folds all that the stream has, as an environment that starts now; how many records its slice holds then. */
  async fold(after: Position = START): Promise<number> {
    const ports = await openLocalPorts(this.path);
    try {
      const aggregator = new Aggregator(smallPlan, createJsonDecoder(smallPlan), ports);
      const read = await ports.source.readAfter(SHARD, after, 10_000);
      if (read.outcome !== 'records') throw new Error('the stream was trimmed');
      await aggregator.deliver(SHARD, read.records, () => 60_000);
      const item = await ports.heads.readHead(sliceIdOf(SHARD));
      if (item === null) throw new Error('no HEAD');
      return parseHead(item).digest.count;
    } finally {
      ports.close();
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.stores.stream.close();
    this.stores.database.close();
  }
}

export function pathsOf(path: string) {
  return {
    streamPath: join(path, 'stream.db'),
    checkpointPath: join(path, 'checkpoint.db'),
    objectsPath: join(path, 'objects'),
  };
}

export function namesIn(path: string): string[] {
  return readdirSync(path).sort();
}
