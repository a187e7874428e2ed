/** Streams in folders of their own, with a clock that tests set. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  LocalStream,
  type LocalStreamOptions,
  type StreamEntry,
} from '../../../adapters/local/stream/local-stream.ts';

export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

export class TestClock {
  ms = NOW_MS;

  nowMs(): number {
    return this.ms;
  }
}

/** The path of a file that is not there yet; its folder goes when the test ends. */
export function streamPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-stream-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'data', 'stream.db');
}

export function openStream(options: Partial<LocalStreamOptions> = {}): LocalStream {
  const stream = LocalStream.open({
    path: options.path ?? streamPath(),
    name: 'flights',
    clock: new TestClock(),
    ...options,
  });
  onTestFinished(() => {
    try {
      stream.close();
    } catch {
      // The test has closed it.
    }
  });
  return stream;
}

export function entry(partitionKey: string, data: string | Uint8Array = partitionKey): StreamEntry {
  return { partitionKey, explicitHashKey: null, data: Buffer.from(data) };
}

export const SHARD_0 = 'shardId-000000000000';
export const SHARD_1 = 'shardId-000000000001';
