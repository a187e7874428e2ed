/**
 * A run: closed entries, sorted by (view, key, window) and immutable, in blocks that are read one by one.
 *
 *   block … block · index in an envelope of its own (magic, version, checksum)
 *
 * The index names the views, and for each block where it is, its checksum, and its first key, so that a key's history is
 * one range of blocks. Where the index begins is part of the reference to the run: it is the first thing that is read.
 */
import { assert } from '../assert.ts';
import { ByteReader, ByteWriter, compareBytes } from '../bytes.ts';
import { crc32c } from '../crc32c.ts';
import type { ViewPlan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';
import { RUN_BLOCK_BYTES } from '../limits.ts';
import type { ClosedEntry } from '../state/closed-entries.ts';
import { mergeClosedEntries } from '../state/closed-entries.ts';
import { storedLayout } from '../state/column-layout.ts';
import {
  decodeStoredView,
  encodeStoredView,
  isSameLife,
  type StoredView,
  storedView,
  type ViewLife,
} from '../state/view-life.ts';
import { openEnvelope, sealEnvelope } from './envelope.ts';
import type { RunReference } from './manifest.ts';

/** A view in one of its lives: what was stored of another is none of it. */
interface LivingView {
  readonly view: ViewPlan;
  readonly life: ViewLife;
}

/** Entries of one view, by any order; those of the same key and window are merged when the run is written. */
export interface RunView extends LivingView {
  readonly entries: readonly ClosedEntry[];
}

export interface EncodedRun {
  readonly bytes: Uint8Array;
  readonly indexOffset: number;
  readonly entryCount: number;
}

interface Block {
  readonly view: number;
  readonly offset: number;
  readonly byteLength: number;
  readonly checksum: number;
  readonly firstKey: Uint8Array;
}

interface RunIndex {
  readonly views: readonly StoredView[];
  readonly blocks: readonly Block[];
  /** The same by index of the view. */
  readonly blocksOf: readonly (readonly Block[])[];
}

/** `blockBytes`: about how many one block has. */
export function encodeRun(
  views: readonly RunView[],
  blockBytes: number = RUN_BLOCK_BYTES,
): EncodedRun {
  const writer = new ByteWriter(blockBytes);
  const blocks: Block[] = [];
  let entryCount = 0;
  for (const [index, { view, entries }] of views.entries()) {
    const merged = mergeClosedEntries(view, entries);
    entryCount += merged.length;
    writeBlocks(index, merged, blockBytes, writer, blocks);
  }
  const indexOffset = writer.length;
  writer.raw(sealEnvelope('TMRN', (index) => writeIndex(views, blocks, index)));
  return { bytes: writer.finish(), indexOffset, entryCount };
}

/** Bytes [from, to) of a run; `again`: those that came before were not what was written, perhaps on the way only. */
export type ReadRunRange = (from: number, to: number, again: boolean) => Promise<Uint8Array>;

/** Reads entries of one run, a block at a time; keeps the index, once it has read it. */
export class RunReader {
  readonly #sliceId: string;
  readonly #run: RunReference;
  readonly #read: ReadRunRange;
  #index: RunIndex | null = null;
  /** The block that was read last: keys are often asked for in order. */
  #last: { readonly block: Block; readonly entries: ClosedEntry[] } | null = null;

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
    const wanted = views.findIndex((stored) => isOf(stored, living));
    const mine = blocksOf[wanted] ?? [];
    const rewrite = rewriterOf(views[wanted], living);
    for (let index = from === null ? 0 : firstBlockOf(mine, from); index < mine.length; index++) {
      const block = mine[index] as Block;
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

  /** Every block of the run, with which of the views it is of (−1: none) and its entries as that one has them. */
  async *blocks(living: readonly LivingView[]): AsyncGenerator<RunBlock> {
    const { views, blocks } = await this.#readIndex();
    const targets = views.map((stored) => living.findIndex((each) => isOf(stored, each)));
    for (const block of blocks) {
      const view = targets[block.view] as number;
      const entries = await this.#readBlock(block);
      const target = living[view];
      const own = target === undefined ? [] : rewriterOf(views[block.view], target)(entries);
      yield { view, entryCount: entries.length, entries: own };
    }
  }

  async #readIndex(): Promise<RunIndex> {
    if (this.#index !== null) return this.#index;
    const { indexOffset, byteLength } = this.#run;
    this.#index = await this.#readSound(indexOffset, byteLength, (bytes) =>
      parseIndex(openEnvelope('TMRN', bytes, `the index of ${this.#name()}`)),
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

  async #readBlock(block: Block): Promise<ClosedEntry[]> {
    if (this.#last?.block === block) return this.#last.entries;
    const { offset, byteLength } = block;
    const open = (bytes: Uint8Array) => this.#openBlock(block, bytes);
    const entries = await this.#readSound(offset, offset + byteLength, open);
    this.#last = { block, entries };
    return entries;
  }

  #openBlock(block: Block, bytes: Uint8Array): ClosedEntry[] {
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
    return entries;
  }

  #name(): string {
    return `run ${this.#run.epoch} (${this.#run.nonce}) of ${this.#sliceId}`;
  }
}

interface RunBlock {
  readonly view: number;
  /** Of the block, of all views. */
  readonly entryCount: number;
  readonly entries: readonly ClosedEntry[];
}

function isOf(stored: StoredView, { view, life }: LivingView): boolean {
  return stored.hash === view.hash && isSameLife(stored, life);
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

/** The block that the first key at or after `from` may be in, out of those of one view: entries of one key can span blocks. */
function firstBlockOf(blocks: readonly Block[], from: Uint8Array): number {
  let [low, high] = [0, blocks.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const next = blocks[middle + 1] as Block;
    if (compareBytes(next.firstKey, from) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function writeBlocks(
  view: number,
  entries: readonly ClosedEntry[],
  blockBytes: number,
  writer: ByteWriter,
  blocks: Block[],
): void {
  let at = 0;
  while (at < entries.length) {
    const offset = writer.length;
    const firstKey = (entries[at] as ClosedEntry).key;
    while (at < entries.length && writer.length - offset < blockBytes) {
      const entry = entries[at++] as ClosedEntry;
      writer.bytes(entry.key);
      writer.signedVarint(entry.windowStartMs);
      writer.bytes(entry.accumulators);
    }
    const checksum = crc32c(writer.peek().subarray(offset));
    blocks.push({ view, offset, byteLength: writer.length - offset, checksum, firstKey });
  }
}

function writeIndex(views: readonly RunView[], blocks: readonly Block[], writer: ByteWriter): void {
  writer.varint(views.length);
  for (const { view, life } of views) encodeStoredView(storedView(view, life), writer);
  writer.varint(blocks.length);
  for (const block of blocks) {
    writer.varint(block.view);
    writer.varint(block.offset);
    writer.varint(block.byteLength);
    writer.u32(block.checksum);
    writer.bytes(block.firstKey);
  }
}

function parseIndex(reader: ByteReader): RunIndex {
  const views = Array.from({ length: reader.varint() }, () => decodeStoredView(reader));
  const blocks = Array.from({ length: reader.varint() }, () => ({
    view: reader.varint(),
    offset: reader.varint(),
    byteLength: reader.varint(),
    checksum: reader.u32(),
    firstKey: reader.bytes(),
  }));
  reader.end();
  for (const { view } of blocks) assert(view < views.length, 'a-block-belongs-to-a-view');
  const blocksOf = views.map((_, index) => blocks.filter(({ view }) => view === index));
  return { views, blocks, blocksOf };
}
