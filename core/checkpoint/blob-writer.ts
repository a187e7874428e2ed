/**
 * Writing one blob from bytes as they come. What its reference says of the bytes is known at the end.
 */
import { type BlobStores, writeBlob } from './blobs.ts';
import type { BlobName, BlobReference } from './names.ts';

export class BlobWriter {
  readonly #stores: BlobStores;
  readonly #sliceId: string;
  readonly #name: BlobName;
  readonly #chunks: Uint8Array[] = [];

  constructor(stores: BlobStores, sliceId: string, name: BlobName) {
    this.#stores = stores;
    this.#sliceId = sliceId;
    this.#name = name;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#chunks.push(bytes);
  }

  /** Makes the blob durable and returns its reference. */
  finish(): Promise<BlobReference> {
    return writeBlob(this.#stores, this.#sliceId, this.#name, joined(this.#chunks));
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
