/**
 * Writing one object from bytes as they come: at once where they are few, in pieces otherwise. What its reference says of the
 * bytes is known at the end. One piece is in memory.
 */
import { assert } from '../assert.ts';
import { joinBytes } from '../bytes.ts';
import { crc32c } from '../crc32c.ts';
import type { Knobs } from '../knobs.ts';
import type { BlobUpload } from '../ports.ts';
import { type BlobStores, writeBlob } from './blobs.ts';
import { type BlobName, type BlobReference, blobKey } from './names.ts';

export class BlobWriter {
  readonly #stores: BlobStores;
  readonly #sliceId: string;
  readonly #name: BlobName;
  readonly #pieceBytes: number;
  /** Not written yet. */
  #chunks: Uint8Array[] = [];
  #chunkBytes = 0;
  #upload: BlobUpload | null = null;
  #byteLength = 0;
  #checksum = 0;

  constructor(
    stores: BlobStores,
    sliceId: string,
    name: BlobName,
    { uploadPieceBytes }: Pick<Knobs, 'uploadPieceBytes'>,
  ) {
    this.#stores = stores;
    this.#sliceId = sliceId;
    this.#name = name;
    this.#pieceBytes = uploadPieceBytes;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    this.#chunks.push(bytes);
    this.#chunkBytes += bytes.length;
    if (this.#chunkBytes >= this.#pieceBytes) await this.#writePiece();
  }

  /** Makes the blob durable and returns its reference. */
  async finish(): Promise<BlobReference> {
    const upload = this.#upload;
    if (upload === null) {
      return writeBlob(this.#stores, this.#sliceId, this.#name, joinBytes(this.#chunks));
    }
    if (this.#chunkBytes > 0) await this.#writePiece();
    const reference: BlobReference = {
      ...this.#name,
      place: 'object',
      byteLength: this.#byteLength,
      checksum: this.#checksum,
    };
    if ((await upload.complete()) === 'exists') await this.#assertOurs(reference);
    return reference;
  }

  /** Nothing will be of it. */
  async abandon(): Promise<void> {
    this.#chunks = [];
    await this.#upload?.abandon();
  }

  async #writePiece(): Promise<void> {
    const piece = joinBytes(this.#chunks);
    this.#chunks = [];
    this.#chunkBytes = 0;
    this.#byteLength += piece.length;
    this.#checksum = crc32c(piece, this.#checksum);
    const key = blobKey(this.#sliceId, this.#name);
    this.#upload ??= await this.#stores.objects.upload(key);
    await this.#upload.write(piece);
  }

  /** A nonce is used once: what is there is our own completion, whose answer was lost. */
  async #assertOurs({ byteLength, checksum }: BlobReference): Promise<void> {
    const key = blobKey(this.#sliceId, this.#name);
    const { objects } = this.#stores;
    let found = 0;
    for (let from = 0; from < byteLength; from += this.#pieceBytes) {
      const to = Math.min(byteLength, from + this.#pieceBytes);
      found = crc32c((await objects.readRange(key, from, to)) ?? NOTHING, found);
    }
    const more = await objects.readRange(key, byteLength, byteLength + 1);
    const isOurs = found === checksum && more?.length === 0;
    assert(isOurs, 'a-name-is-used-once', () => key);
  }
}

const NOTHING = new Uint8Array();
