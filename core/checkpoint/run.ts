/**
 * A run: closed entries, sorted by (view, key, window) and immutable, in blocks that are read one by one.
 *
 *   block … block · index in an envelope of its own (magic, version, checksum)
 *
 * The index names the views, and for each block where it is, its checksum, and its first key, so that a key's history is
 * one range of blocks. Where the index begins is part of the reference to the run: it is the first thing that is read.
 */
import { assert } from '../assert.ts';
import { ByteReader, compareBytes } from '../bytes.ts';
import { crc32c } from '../crc32c.ts';
import { CorruptStateFault } from '../faults.ts';
import type { ClosedEntry } from '../state/closed-entries.ts';
import { storedLayout } from '../state/column-layout.ts';
import type { StoredView } from '../state/view-life.ts';
import type { RunReference } from './manifest.ts';
import {
  decodeRunIndex,
  isStoredAs,
  type LivingView,
  type RunBlock,
  type RunIndex,
} from './run-index.ts';

/** Bytes [from, to) of a run; `again`: those that came before were not what was written, perhaps on the way only. */
export type ReadRunRange = (from: number, to: number, again: boolean) => Promise<Uint8Array>;

/** Reads entries of one run, a block at a time; keeps the index, once it has read it. */
export class RunReader {
  readonly #sliceId: string;
  readonly #run: RunReference;
  readonly #read: ReadRunRange;
  #index: RunIndex | null = null;
  /** The block that was read last: keys are often asked for in order. */
  #last: { readonly block: RunBlock; readonly entries: ClosedEntry[] } | null = null;

  constructor(sliceId: string, run: RunReference, read: ReadRunRange) {
    this.#sliceId = sliceId;
    this.#run = run;
    this.#read = read;
  }

  /** The entries of `view` whose keys lie in [from, to); null bounds are open. In order. */
  async entries(
    view: LivingView,
    from: Uint8Array | null = null,
    to: Uint8Array | null = null,
  ): Promise<ClosedEntry[]> {
    const found: ClosedEntry[] = [];
    for await (const entries of this.scan(view, from, to)) {
      for (const entry of entries) found.push(entry);
    }
    return found;
  }

  /** As `entries`, but a block at a time: a caller that has seen enough reads no further. */
  async *scan(
    living: LivingView,
    from: Uint8Array | null = null,
    to: Uint8Array | null = null,
  ): AsyncGenerator<ClosedEntry[]> {
    const { views, blocksOf } = await this.#readIndex();
    const wanted = views.findIndex((stored) => isStoredAs(stored, living));
    const mine = blocksOf[wanted] ?? [];
    const rewrite = rewriterOf(views[wanted], living);
    for (let index = from === null ? 0 : firstBlockOf(mine, from); index < mine.length; index++) {
      const block = mine[index] as RunBlock;
      if (to !== null && compareBytes(block.firstKey, to) >= 0) return;
      const entries = await this.#readBlock(block);
      const within = entries.filter(
        ({ key }) =>
          (from === null || compareBytes(key, from) >= 0) &&
          (to === null || compareBytes(key, to) < 0),
      );
      yield rewrite(within);
    }
  }

  /**
   * All entries of `view` in order, a block at a time; blocks that lie together are read together, up to `aheadBytes`: for who
   * goes through all of them, with so much of them in memory.
   */
  async *scanAhead(living: LivingView, aheadBytes: number): AsyncGenerator<ClosedEntry[]> {
    const { views, blocksOf } = await this.#readIndex();
    const wanted = views.findIndex((stored) => isStoredAs(stored, living));
    const rewrite = rewriterOf(views[wanted], living);
    for (const together of adjoining(blocksOf[wanted] ?? [], aheadBytes)) {
      const [first, last] = [together[0] as RunBlock, together.at(-1) as RunBlock];
      const bytes = await this.#read(first.offset, last.offset + last.byteLength, false);
      for (const block of together) {
        const from = block.offset - first.offset;
        const own = bytes.subarray(from, from + block.byteLength);
        yield rewrite(await this.#soundBlock(block, own));
      }
    }
  }

  /** How many entries the run has of these views: its other views may be of another plan, or of another life. */
  async countOf(living: readonly LivingView[]): Promise<number> {
    const { views, blocks } = await this.#readIndex();
    const areWanted = views.map((stored) => living.some((each) => isStoredAs(stored, each)));
    let [all, wanted] = [0, 0];
    for (const { view, entryCount } of blocks) {
      all += entryCount;
      if (areWanted[view]) wanted += entryCount;
    }
    assert(all === this.#run.entryCount, 'a-run-has-what-its-manifest-says', () => this.#name());
    return wanted;
  }

  async #readIndex(): Promise<RunIndex> {
    if (this.#index !== null) return this.#index;
    const { indexOffset, byteLength } = this.#run;
    this.#index = await this.#readSound(indexOffset, byteLength, (bytes) =>
      decodeRunIndex(bytes, `the index of ${this.#name()}`),
    );
    return this.#index;
  }

  /** What `open` makes of the bytes; where it finds them damaged, they are read a second time. */
  async #readSound<T>(from: number, to: number, open: (bytes: Uint8Array) => T): Promise<T> {
    const bytes = await this.#read(from, to, false);
    try {
      return open(bytes);
    } catch (fault) {
      if (!(fault instanceof CorruptStateFault)) throw fault;
    }
    return open(await this.#read(from, to, true));
  }

  async #readBlock(block: RunBlock): Promise<ClosedEntry[]> {
    if (this.#last?.block === block) return this.#last.entries;
    const { offset, byteLength } = block;
    const open = (bytes: Uint8Array) => this.#openBlock(block, bytes);
    const entries = await this.#readSound(offset, offset + byteLength, open);
    this.#last = { block, entries };
    return entries;
  }

  async #soundBlock(block: RunBlock, bytes: Uint8Array): Promise<ClosedEntry[]> {
    try {
      return this.#openBlock(block, bytes);
    } catch (fault) {
      if (!(fault instanceof CorruptStateFault)) throw fault;
    }
    const { offset, byteLength } = block;
    return this.#openBlock(block, await this.#read(offset, offset + byteLength, true));
  }

  #openBlock(block: RunBlock, bytes: Uint8Array): ClosedEntry[] {
    if (crc32c(bytes) !== block.checksum) {
      throw new CorruptStateFault(
        `${this.#name()} has a block at ${block.offset} with a wrong checksum`,
      );
    }
    const reader = new ByteReader(bytes);
    const entries: ClosedEntry[] = [];
    while (reader.remaining > 0) {
      const key = reader.bytes();
      const windowStartMs = reader.signedVarint();
      entries.push({ windowStartMs, key, accumulators: reader.bytes() });
    }
    assert(entries.length === block.entryCount, 'a-block-has-what-its-index-says', () =>
      this.#name(),
    );
    return entries;
  }

  #name(): string {
    return `run ${this.#run.epoch} (${this.#run.nonce}) of ${this.#sliceId}`;
  }
}

/** From entries as a run has them to entries as the view has them. */
function rewriterOf(
  stored: StoredView | undefined,
  { view, life }: LivingView,
): (entries: ClosedEntry[]) => ClosedEntry[] {
  const layout = stored === undefined ? null : storedLayout(stored, view, life);
  if (layout === null || layout.columns === null) return (entries) => entries;
  return (entries) =>
    entries.map((entry) => ({ ...entry, accumulators: layout.own(entry.accumulators) }));
}

/** Blocks of one view, those together that have up to `bytesMax`: they lie one behind the other. */
function* adjoining(blocks: readonly RunBlock[], bytesMax: number): Generator<readonly RunBlock[]> {
  for (let from = 0; from < blocks.length; ) {
    let to = from;
    let bytes = 0;
    do bytes += (blocks[to++] as RunBlock).byteLength;
    while (to < blocks.length && bytes + (blocks[to] as RunBlock).byteLength <= bytesMax);
    yield blocks.slice(from, to);
    from = to;
  }
}

/** The block that the first key at or after `from` may be in, out of those of one view: entries of one key can span blocks. */
function firstBlockOf(blocks: readonly RunBlock[], from: Uint8Array): number {
  let [low, high] = [0, blocks.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const next = blocks[middle + 1] as RunBlock;
    if (compareBytes(next.firstKey, from) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
