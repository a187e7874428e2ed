/**
 * The pack of a base while it is written: the bytes of parts, one behind the other; and what decides which parts are written.
 */
import { ByteWriter } from '../bytes.ts';
import { crc32c } from '../crc32c.ts';
import { PACK_OFFSET } from './base.ts';
import type { PackedBytes } from './manifest.ts';
import type { BlobReference } from './names.ts';

/** Something that may be written anew. */
export interface RewriteTask {
  readonly isTouched: boolean;
  /** All that it holds is about to be drained. */
  readonly isClosing: boolean;
  readonly epoch: number;
  readonly bytes: PackedBytes | null;
  readonly run: () => void;
}

export interface WriteLimits {
  readonly epoch: number;
  readonly budget: number;
  readonly partBytesMax: number;
}

export class PackWriter {
  readonly #pack: BlobReference;
  readonly #writer: ByteWriter;

  /** `byteLength`: of all that will be written, about. */
  constructor(pack: BlobReference, byteLength: number) {
    this.#pack = pack;
    this.#writer = new ByteWriter(byteLength);
  }

  get byteLength(): number {
    return this.#writer.length;
  }

  write(write: (writer: ByteWriter) => void): PackedBytes {
    const start = this.#writer.length;
    write(this.#writer);
    const checksum = crc32c(this.#writer.peek().subarray(start));
    const byteLength = this.#writer.length - start;
    return { pack: this.#pack, offset: PACK_OFFSET + start, byteLength, checksum };
  }

  finish(): Uint8Array {
    return this.#writer.take();
  }
}
