/**
 * What a reader keeps from question to question, over all slices: warm images, images of a `next`, their indexes, and parts.
 * Bounded in bytes: the least recently used goes. What the present question reads stays, however large.
 */
import type { PartCache } from '../checkpoint/part-cache.ts';
import type { Checkpoint } from '../checkpoint/restore.ts';
import { READER_BYTES_MAX } from '../limits.ts';
import type { RowIndexes } from './row-indexes.ts';

interface Kept {
  readonly checkpoint: Checkpoint;
  readonly imageBytes: number;
  readonly drop: () => void;
}

export class ReaderMemory {
  readonly #indexes: Pick<RowIndexes, 'heapBytes'>;
  readonly #parts: Pick<PartCache, 'heapBytes'>;
  readonly #bytesMax: number;
  /** By name, the least recently used first. */
  readonly #kept = new Map<string, Kept>();

  constructor(
    indexes: Pick<RowIndexes, 'heapBytes'>,
    parts: Pick<PartCache, 'heapBytes'>,
    bytesMax = READER_BYTES_MAX,
  ) {
    this.#indexes = indexes;
    this.#parts = parts;
    this.#bytesMax = bytesMax;
  }

  /** Notes that a checkpoint is used, in place of what had its name before. `drop` is called once it has to go. */
  use(name: string, checkpoint: Checkpoint, drop: () => void): void {
    const known = this.#kept.get(name);
    const isSame = known?.checkpoint === checkpoint;
    const imageBytes = isSame ? known.imageBytes : checkpoint.image.heapBytes();
    this.#kept.delete(name);
    this.#kept.set(name, { checkpoint, imageBytes, drop });
  }

  /** Drops what is too much, but for what was used last, under so many names. */
  settle(inUse: number): void {
    // It has a bound of its own.
    let bytes = this.#parts.heapBytes;
    for (const [index, [name, kept]] of [...this.#kept].reverse().entries()) {
      bytes += kept.imageBytes + this.#indexes.heapBytes(kept.checkpoint.image);
      if (index < inUse || bytes <= this.#bytesMax) continue;
      this.#kept.delete(name);
      kept.drop();
    }
  }
}
