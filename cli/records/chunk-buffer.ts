/**
 * Bytes that are still to be read, over the borders of the chunks in which they come.
 */
import type { Chunks } from './byte-source.ts';

export class ChunkBuffer {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #bytes: Buffer = Buffer.alloc(0);
  #isAtEnd = false;

  constructor(chunks: Chunks) {
    this.#iterator = chunks[Symbol.asyncIterator]();
  }

  /** What has come and was not dropped. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Adds the next chunk to `bytes`; false if there is none. */
  async more(): Promise<boolean> {
    if (this.#isAtEnd) return false;
    const next = await this.#iterator.next();
    this.#isAtEnd = next.done === true;
    if (next.done) return false;
    this.#bytes = Buffer.concat([this.#bytes, next.value]);
    return true;
  }

  /** Takes the first `count` of `bytes` away. */
  drop(count: number): void {
    this.#bytes = this.#bytes.subarray(count);
  }

  /** All that is left, as it comes. */
  async *rest(): AsyncGenerator<Uint8Array> {
    const held = this.#bytes;
    this.#bytes = Buffer.alloc(0);
    if (held.length > 0) yield held;
    while (!this.#isAtEnd) {
      const next = await this.#iterator.next();
      if (next.done) return;
      yield next.value;
    }
  }

  /** Ends the reading of what is left. */
  async close(): Promise<void> {
    await this.#iterator.return?.();
  }
}
