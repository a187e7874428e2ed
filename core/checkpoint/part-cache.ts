/**
 * Parts that a reader sought in lately, each with its index. Parts are immutable, so nothing here is ever out of date; what
 * cannot be read is not kept, and asked for again with the next question.
 *
 * Neighbours in one pack that are wanted together come by one read.
 */
import { CorruptStateFault } from '../faults.ts';
import { PART_CACHE_BYTES_MAX, PART_READ_BYTES_MAX } from '../limits.ts';
import { PartIndex } from '../state/part-index.ts';
import { type BlobStores, readBlobRange } from './blobs.ts';
import { blobKey } from './names.ts';
import type { StoredPart } from './overlay.ts';
import { isSound, readPart } from './part-reader.ts';

export interface WantedPart {
  readonly sliceId: string;
  readonly part: StoredPart;
}

/** The part, or why it cannot be read. */
export type FoundPart = PartIndex | CorruptStateFault;

/** Reads that are under way at once. */
const READ_AT_ONCE = 16;

export class PartCache {
  readonly #blobs: BlobStores;
  readonly #bytesMax: number;
  /** By pack and offset, the least recently used first. */
  readonly #parts = new Map<string, PartIndex>();
  /** By slice: bytes of parts that were read since `forgetReads`. */
  readonly #readBytes = new Map<string, number>();
  #heapBytes = 0;

  constructor(blobs: BlobStores, bytesMax = PART_CACHE_BYTES_MAX) {
    this.#blobs = blobs;
    this.#bytesMax = bytesMax;
  }

  get heapBytes(): number {
    return this.#heapBytes;
  }

  has(wanted: WantedPart): boolean {
    return this.#parts.has(keyOf(wanted));
  }

  readBytes(sliceId: string): number {
    return this.#readBytes.get(sliceId) ?? 0;
  }

  forgetReads(sliceId: string): void {
    this.#readBytes.delete(sliceId);
  }

  /** Each of the wanted parts. Throws what is not the fault of stored bytes. */
  async find(wanted: readonly WantedPart[]): Promise<Map<StoredPart, FoundPart>> {
    const found = new Map<StoredPart, FoundPart>();
    const missing: WantedPart[] = [];
    for (const each of wanted) {
      const key = keyOf(each);
      const known = this.#parts.get(key);
      if (known === undefined) {
        missing.push(each);
        continue;
      }
      this.#parts.delete(key);
      this.#parts.set(key, known);
      found.set(each.part, known);
    }
    const groups = neighbours(missing);
    for (let at = 0; at < groups.length; at += READ_AT_ONCE) {
      const some = groups.slice(at, at + READ_AT_ONCE);
      for (const read of await Promise.all(some.map((group) => this.#readGroup(group)))) {
        for (const [part, outcome] of read) found.set(part, outcome);
      }
    }
    this.#evict();
    return found;
  }

  async #readGroup(group: readonly WantedPart[]): Promise<(readonly [StoredPart, FoundPart])[]> {
    const together = group.length > 1 ? await this.#readTogether(group) : null;
    return Promise.all(
      group.map(async (wanted, index) => {
        const { sliceId, part } = wanted;
        try {
          const bytes = together?.[index] ?? (await readPart(sliceId, part.bytes, this.#blobs));
          const entries = new PartIndex(bytes, part.entryCount);
          this.#keep(wanted, entries);
          return [part, entries] as const;
        } catch (fault) {
          if (fault instanceof CorruptStateFault) return [part, fault] as const;
          throw fault;
        }
      }),
    );
  }

  /** The bytes of neighbours; null for those that are to be read by themselves. */
  async #readTogether(group: readonly WantedPart[]): Promise<(Uint8Array | null)[] | null> {
    const parts = group.map(({ part }) => part.bytes);
    const [first, last] = [parts[0], parts.at(-1)];
    if (first === undefined || last === undefined) return null;
    const { sliceId } = group[0] as WantedPart;
    const to = last.offset + last.byteLength;
    try {
      const all = await readBlobRange(this.#blobs, sliceId, first.pack, first.offset, to);
      return parts.map((part) => {
        const start = part.offset - first.offset;
        const bytes = all.slice(start, start + part.byteLength);
        return isSound(bytes, part) ? bytes : null;
      });
    } catch (fault) {
      // A pack that is cut off may have some of them.
      if (fault instanceof CorruptStateFault) return null;
      throw fault;
    }
  }

  #keep(wanted: WantedPart, entries: PartIndex): void {
    const { sliceId } = wanted;
    this.#readBytes.set(sliceId, this.readBytes(sliceId) + entries.bytes.length);
    const key = keyOf(wanted);
    this.#heapBytes += entries.heapBytes - (this.#parts.get(key)?.heapBytes ?? 0);
    this.#parts.set(key, entries);
  }

  #evict(): void {
    for (const [key, { heapBytes }] of this.#parts) {
      if (this.#heapBytes <= this.#bytesMax) return;
      this.#parts.delete(key);
      this.#heapBytes -= heapBytes;
    }
  }
}

function keyOf({ sliceId, part: { bytes } }: WantedPart): string {
  return `${blobKey(sliceId, bytes.pack)}:${bytes.offset}`;
}

/** Parts that follow each other in one pack, together. */
function neighbours(wanted: readonly WantedPart[]): WantedPart[][] {
  const byPack = Map.groupBy(wanted, ({ sliceId, part }) => blobKey(sliceId, part.bytes.pack));
  const groups: WantedPart[][] = [];
  for (const parts of byPack.values()) {
    parts.sort((a, b) => a.part.bytes.offset - b.part.bytes.offset);
    let endOffset = -1;
    let byteLength = 0;
    for (const each of parts) {
      const { offset, byteLength: length } = each.part.bytes;
      byteLength += length;
      if (offset === endOffset && byteLength <= PART_READ_BYTES_MAX) groups.at(-1)?.push(each);
      else {
        groups.push([each]);
        byteLength = length;
      }
      endOffset = offset + length;
    }
  }
  return groups;
}
