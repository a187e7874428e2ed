/**
 * Immutable blobs in memory. What is stored shares no byte with what was passed in or given out.
 */
import { assert } from '../../core/assert.ts';
import { joinBytes } from '../../core/bytes.ts';
import {
  type BlobUpload,
  type Clock,
  type Creation,
  isBlobKey,
  type ObjectStore,
  type StoredObject,
} from '../../core/ports.ts';
import { bySortKey, copyBytes } from './stored-copy.ts';

interface Blob {
  readonly bytes: Uint8Array;
  readonly createdMs: number;
}

export class MemoryBlobStore implements ObjectStore {
  readonly #clock: Clock;
  readonly #blobs = new Map<string, Blob>();

  /** `clock` says when a blob was created. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async create(key: string, bytes: Uint8Array): Promise<Creation> {
    assert(isBlobKey(key), 'blob-key-is-portable', () => JSON.stringify(key));
    if (this.#blobs.has(key)) return 'exists';
    this.#blobs.set(key, { bytes: copyBytes(bytes), createdMs: this.#clock.nowMs() });
    return 'created';
  }

  async upload(key: string): Promise<BlobUpload> {
    assert(isBlobKey(key), 'blob-key-is-portable', () => JSON.stringify(key));
    const pieces: Uint8Array[] = [];
    return {
      write: async (piece) => {
        pieces.push(copyBytes(piece));
      },
      complete: () => this.create(key, joinBytes(pieces)),
      abandon: async () => {
        pieces.length = 0;
      },
    };
  }

  async read(key: string): Promise<Uint8Array | null> {
    const blob = this.#blobs.get(key);
    return blob === undefined ? null : copyBytes(blob.bytes);
  }

  async readRange(key: string, from: number, to: number): Promise<Uint8Array | null> {
    assert(
      from >= 0 && from <= to,
      'a-range-does-not-end-before-it-begins',
      () => `${from}..${to}`,
    );
    const blob = this.#blobs.get(key);
    return blob === undefined ? null : blob.bytes.slice(from, to);
  }

  async list(prefix: string, after: string | null, limit: number): Promise<StoredObject[]> {
    assert(limit > 0, 'list-limit-is-positive');
    return [...this.#blobs]
      .filter(([key]) => key.startsWith(prefix) && (after === null || key > after))
      .map(([key, { bytes, createdMs }]) => ({ key, byteLength: bytes.length, createdMs }))
      .sort(bySortKey(({ key }) => key))
      .slice(0, limit);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#blobs.delete(key);
  }
}
