/**
 * Encoding a run from entries as they come: blocks leave as soon as they are full, and the index follows at the end. What is
 * held is one block, and of each block that has left what the index says of it.
 *
 * Invariant: entries come in order of (view, key, window). Partials of the same key and window follow each other, and become one entry.
 */
import { assert } from '../assert.ts';
import { ByteWriter } from '../bytes.ts';
import { crc32c } from '../crc32c.ts';
import { RUN_BLOCK_BYTES } from '../limits.ts';
import { type ClosedEntry, compareClosedEntries, mergePartials } from '../state/closed-entries.ts';
import { encodeRunIndex, type LivingView, type RunBlock } from './run-index.ts';

export interface RunEnding {
  /** What was not taken yet, and the index. */
  readonly bytes: Uint8Array;
  readonly indexOffset: number;
  readonly entryCount: number;
}

export class RunEncoder {
  readonly #views: readonly LivingView[];
  readonly #blockBytes: number;
  readonly #blocks: RunBlock[] = [];
  /** Blocks that are full and were not taken. */
  readonly #ready: ByteWriter;
  readonly #block: ByteWriter;
  #blockEntries = 0;
  #firstKey: Uint8Array = NO_KEY;
  /** Where the block that is being filled begins in the run. */
  #offset = 0;
  #entryCount = 0;
  #view = 0;
  /** Partials of the entry that came last. */
  #partials: ClosedEntry[] = [];

  /** `blockBytes`: about how many one block has. */
  constructor(views: readonly LivingView[], blockBytes: number = RUN_BLOCK_BYTES) {
    this.#views = views;
    this.#blockBytes = blockBytes;
    this.#ready = new ByteWriter(blockBytes);
    this.#block = new ByteWriter(blockBytes);
  }

  /** `view`: index of the entry's view. */
  add(view: number, entry: ClosedEntry): void {
    const before = this.#partials[0];
    if (before !== undefined) {
      const order = view - this.#view || compareClosedEntries(entry, before);
      assert(order >= 0, 'a-run-takes-entries-in-order');
      if (order === 0) {
        this.#partials.push(entry);
        return;
      }
      this.#flushEntry();
      if (view !== this.#view) this.#flushBlock();
    }
    this.#view = view;
    this.#partials[0] = entry;
  }

  /** Bytes of the run that `take` would give. */
  get readyBytes(): number {
    return this.#ready.length;
  }

  /** What follows in the run after what was taken before: whole blocks, maybe none. */
  take(): Uint8Array {
    const bytes = this.#ready.finish();
    this.#ready.clear();
    return bytes;
  }

  /** Ends the run. */
  finish(): RunEnding {
    if (this.#partials.length > 0) this.#flushEntry();
    this.#flushBlock();
    this.#ready.raw(encodeRunIndex(this.#views, this.#blocks));
    return { bytes: this.take(), indexOffset: this.#offset, entryCount: this.#entryCount };
  }

  #flushEntry(): void {
    const partials = this.#partials;
    const first = partials[0] as ClosedEntry;
    const { view } = this.#views[this.#view] as LivingView;
    const { key, windowStartMs, accumulators } =
      partials.length === 1 ? first : mergePartials(view, partials);
    partials.length = 0;
    const block = this.#block;
    // A copy: an entry may be a part of something large.
    if (this.#blockEntries === 0) this.#firstKey = key.slice();
    block.bytes(key);
    block.signedVarint(windowStartMs);
    block.bytes(accumulators);
    this.#blockEntries++;
    this.#entryCount++;
    if (block.length >= this.#blockBytes) this.#flushBlock();
  }

  #flushBlock(): void {
    if (this.#blockEntries === 0) return;
    const bytes = this.#block.peek();
    this.#blocks.push({
      view: this.#view,
      offset: this.#offset,
      byteLength: bytes.length,
      entryCount: this.#blockEntries,
      checksum: crc32c(bytes),
      firstKey: this.#firstKey,
    });
    this.#ready.raw(bytes);
    this.#offset += bytes.length;
    this.#block.clear();
    this.#blockEntries = 0;
  }
}

const NO_KEY = new Uint8Array();
