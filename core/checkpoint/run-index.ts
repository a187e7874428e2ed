/**
 * The index of a run: which views it holds, and where each block is. It is an envelope of its own behind the blocks.
 */
import { assert } from '../assert.ts';
import type { ByteReader, ByteWriter } from '../bytes.ts';
import type { ViewPlan } from '../definition/plan.ts';
import {
  decodeStoredView,
  encodeStoredView,
  isSameLife,
  type StoredView,
  storedView,
  type ViewLife,
} from '../state/view-life.ts';
import { openEnvelope, sealEnvelope } from './envelope.ts';

/** A view in one of its lives: what was stored of another is none of it. */
export interface LivingView {
  readonly view: ViewPlan;
  readonly life: ViewLife;
}

export interface RunBlock {
  /** Index of the view, in the order of the index. */
  readonly view: number;
  readonly offset: number;
  readonly byteLength: number;
  readonly entryCount: number;
  readonly checksum: number;
  readonly firstKey: Uint8Array;
}

export interface RunIndex {
  readonly views: readonly StoredView[];
  readonly blocks: readonly RunBlock[];
  /** The same by index of the view. */
  readonly blocksOf: readonly (readonly RunBlock[])[];
}

export function encodeRunIndex(
  views: readonly LivingView[],
  blocks: readonly RunBlock[],
): Uint8Array {
  return sealEnvelope('TMRN', (writer) => {
    writer.varint(views.length);
    for (const { view, life } of views) encodeStoredView(storedView(view, life), writer);
    writer.varint(blocks.length);
    for (const block of blocks) encodeBlock(block, writer);
  });
}

/** `what` names the index in the fault that a person reads. */
export function decodeRunIndex(bytes: Uint8Array, what: string): RunIndex {
  const reader = openEnvelope('TMRN', bytes, what);
  const views = Array.from({ length: reader.varint() }, () => decodeStoredView(reader));
  const blocks = Array.from({ length: reader.varint() }, () => decodeBlock(reader));
  reader.end();
  for (const { view } of blocks) assert(view < views.length, 'a-block-belongs-to-a-view');
  const blocksOf = views.map((_, index) => blocks.filter(({ view }) => view === index));
  return { views, blocks, blocksOf };
}

/** True if the index's view is this one, in this life. */
export function isStoredAs(stored: StoredView, { view, life }: LivingView): boolean {
  return stored.hash === view.hash && isSameLife(stored, life);
}

function encodeBlock(block: RunBlock, writer: ByteWriter): void {
  writer.varint(block.view);
  writer.varint(block.offset);
  writer.varint(block.byteLength);
  writer.varint(block.entryCount);
  writer.u32(block.checksum);
  writer.bytes(block.firstKey);
}

function decodeBlock(reader: ByteReader): RunBlock {
  return {
    view: reader.varint(),
    offset: reader.varint(),
    byteLength: reader.varint(),
    entryCount: reader.varint(),
    checksum: reader.u32(),
    firstKey: reader.bytes(),
  };
}
