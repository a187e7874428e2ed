/**
 * Blocks of runs that were read lately, and the readers that know where they are. Runs are immutable, so nothing here is
 * ever out of date; what came damaged is replaced by what comes when it is read again.
 */
import { RUN_CACHE_BYTES_MAX } from '../limits.ts';
import { type BlobStores, readBlobRange } from './blobs.ts';
import type { RunReference } from './manifest.ts';
import { blobKey } from './names.ts';
import { RunReader } from './run.ts';

const READERS_MAX = 256;

export class RunCache {
  readonly #blobs: BlobStores;
  readonly #bytesMax: number;
  /** Each by its blob's key, the least recently used first. */
  readonly #readers = new Map<string, RunReader>();
  readonly #blocks = new Map<string, Uint8Array>();
  #blockBytes = 0;

  constructor(blobs: BlobStores, bytesMax = RUN_CACHE_BYTES_MAX) {
    this.#blobs = blobs;
    this.#bytesMax = bytesMax;
  }

  reader(sliceId: string, run: RunReference): RunReader {
    const key = blobKey(sliceId, run);
    const reader =
      this.#readers.get(key) ??
      new RunReader(sliceId, run, (from, to, again) => this.#read(sliceId, run, from, to, again));
    this.#readers.delete(key);
    this.#readers.set(key, reader);
    for (const oldest of this.#readers.keys()) {
      if (this.#readers.size <= READERS_MAX) break;
      this.#readers.delete(oldest);
    }
    return reader;
  }

  async #read(
    sliceId: string,
    run: RunReference,
    from: number,
    to: number,
    again: boolean,
  ): Promise<Uint8Array> {
    const key = `${blobKey(sliceId, run)}:${from}-${to}`;
    let bytes = again ? undefined : this.#blocks.get(key);
    bytes ??= await readBlobRange(this.#blobs, sliceId, run, from, to);
    if (!this.#blocks.delete(key)) this.#blockBytes += bytes.length;
    this.#blocks.set(key, bytes);
    this.#evict();
    return bytes;
  }

  #evict(): void {
    for (const [key, bytes] of this.#blocks) {
      if (this.#blockBytes <= this.#bytesMax) return;
      this.#blocks.delete(key);
      this.#blockBytes -= bytes.length;
    }
  }
}
