/**
 * A manifest: what a slice's history up to one epoch is stored in. Open and closing entries are in parts, each of one view and
 * one range of keys; drained ones and late partials are in runs. It travels in the base and in that epoch's delta, so that a memory that follows the
 * deltas never needs the base.
 *
 *   parts   what their range held at the epochs that they stand for; the deltas after those hold the rest
 *   ids     those of records of some epochs that a producer may send again; the deltas after those hold the rest
 *   runs    exactly the entries before each view's drained bound, and the late partials up to `runsEpoch`; the deltas after it
 *           hold the rest of these
 *   lost    what parts held that could not be read any more: rows of these ranges are missing, or lack what was folded before
 *
 * Invariants: the parts of a view follow each other without a gap, the first from the view's drained bound on, the last without
 * an end. No part, and no delta that is read beside it, says anything of what lies before the bound. The parts of the ids follow
 * each other epoch by epoch, from the first epoch of these ids on.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { CorruptStateFault } from '../faults.ts';
import type { EntryBound } from '../state/entry-bound.ts';
import { decodeStoredView, encodeStoredView, type StoredView } from '../state/view-life.ts';
import {
  type BlobReference,
  decodeReference,
  decodeReferences,
  encodeReference,
  encodeReferences,
  sameBlob,
} from './names.ts';

export interface RunReference extends BlobReference {
  /** 0 for a run that a compaction wrote, +1 for each time that runs were merged. */
  readonly level: number;
  readonly entryCount: number;
  /** Where in the blob the index begins. */
  readonly indexOffset: number;
}

/** A blob that an older manifest lists, and no newer one: a run that was merged, a pack whose parts were all written anew. */
export interface ReplacedBlob {
  readonly blob: BlobReference;
  /** Of the first base that does not list it. */
  readonly epoch: number;
}

/** Where bytes lie in a base, which is the pack of all parts that were written with it. */
export interface PackedBytes {
  readonly pack: BlobReference;
  readonly offset: number;
  readonly byteLength: number;
  /** CRC-32C. */
  readonly checksum: number;
}

/** The entries of one view in one range of windows and keys, as they were at one epoch. */
export interface PartReference {
  /** Index of the layout by which its entries are written: says which view they are of, in which of its lives. */
  readonly layout: number;
  /**
   * Where its range begins; null: anywhere. It ends where the view's next part begins. The bytes may hold entries before it,
   * which another part stands for, or a run. That of the view's first part is its drained bound: null where nothing is drained.
   */
  readonly from: EntryBound | null;
  /** The epoch that it stands for: deltas after it apply to its range. */
  readonly epoch: number;
  readonly entryCount: number;
  /** Null: the range had no entries. */
  readonly bytes: PackedBytes | null;
}

/** Dedupe ids that came with the epochs after `after`, up to `until`: those that had not expired when they were written. */
export interface IdsPart {
  readonly after: number;
  readonly until: number;
  readonly entryCount: number;
  /** The latest time from which one of them is counted: once that has expired, all have. */
  readonly newestMs: number;
  readonly bytes: PackedBytes;
}

/** The dedupe ids of all epochs after `after`, up to `until`: what has expired may be missing. */
export interface KeptIds {
  /** Where today's ids begin: those of epochs before are of another field, or there are none. */
  readonly after: number;
  readonly until: number;
  /** In the order of the epochs. None: no id is kept of these epochs. */
  readonly parts: readonly IdsPart[];
}

/** Rows of a view, in parts and runs, that are missing, or lack what was folded before: their part was lost (ADR 0032). */
export interface LostRows {
  /** Null: without a bound. The end is exclusive. */
  readonly from: EntryBound | null;
  readonly to: EntryBound | null;
  /** Of the base that the part lay in. */
  readonly epoch: number;
}

export interface LostRange extends LostRows {
  /** Index of a layout: says which view it is of, in which of its lives. */
  readonly layout: number;
}

export interface Manifest {
  readonly layouts: readonly StoredView[];
  /** Those of one view in order. */
  readonly parts: readonly PartReference[];
  readonly ids: KeptIds;
  readonly runs: readonly RunReference[];
  readonly runsEpoch: number;
  readonly replaced: readonly ReplacedBlob[];
  readonly lost: readonly LostRange[];
}

/** Of a slice that has no base. */
export const EMPTY_MANIFEST: Manifest = {
  layouts: [],
  parts: [],
  ids: { after: 0, until: 0, parts: [] },
  runs: [],
  runsEpoch: 0,
  replaced: [],
  lost: [],
};

/** The deltas after this epoch are needed beside what the manifest lists. */
export function chainSince({
  parts,
  ids,
  runsEpoch,
}: Pick<Manifest, 'parts' | 'ids' | 'runsEpoch'>): number {
  return parts.reduce((least, { epoch }) => Math.min(least, epoch), Math.min(ids.until, runsEpoch));
}

/** Parts and ids, as far as they say where their bytes are. */
interface Pieces {
  readonly parts: readonly Pick<PartReference, 'bytes'>[];
  readonly ids: { readonly parts: readonly Pick<IdsPart, 'bytes'>[] };
}

/** Bytes of all parts, ids included. */
export function partBytesOf({ parts, ids }: Pieces): number {
  return [...parts, ...ids.parts].reduce((sum, { bytes }) => sum + (bytes?.byteLength ?? 0), 0);
}

/** The packs that parts lie in, each once. */
export function packsOf({ parts, ids }: Pieces): BlobReference[] {
  const packs = new Map<string, BlobReference>();
  for (const { bytes } of [...parts, ...ids.parts]) {
    if (bytes !== null) packs.set(`${bytes.pack.epoch}-${bytes.pack.nonce}`, bytes.pack);
  }
  return [...packs.values()];
}

/**
 * `self`: the base that the manifest is written into, which cannot name its own checksum; null where it is written elsewhere.
 */
export function encodeManifest(
  manifest: Manifest,
  writer: ByteWriter,
  isSelf: (pack: BlobReference) => boolean = () => false,
): void {
  writer.varint(manifest.layouts.length);
  for (const layout of manifest.layouts) encodeStoredView(layout, writer);
  const packs = packsOf(manifest).filter((pack) => !isSelf(pack));
  encodeReferences(packs, writer);
  const codeOf = (pack: BlobReference) =>
    isSelf(pack) ? SELF : FIRST_PACK + packs.findIndex((each) => sameBlob(each, pack));
  writer.varint(manifest.parts.length);
  for (const part of manifest.parts) {
    writer.varint(part.layout);
    encodeBound(part.from, writer);
    encodeContent(part, codeOf, writer);
  }
  encodeIds(manifest.ids, codeOf, writer);
  writer.varint(manifest.runs.length);
  for (const run of manifest.runs) {
    encodeReference(run, writer);
    writer.varint(run.level);
    writer.varint(run.entryCount);
    writer.varint(run.indexOffset);
  }
  writer.varint(manifest.runsEpoch);
  writer.varint(manifest.replaced.length);
  for (const { blob, epoch } of manifest.replaced) {
    encodeReference(blob, writer);
    writer.varint(epoch);
  }
  writer.varint(manifest.lost.length);
  for (const { layout, from, to, epoch } of manifest.lost) {
    writer.varint(layout);
    encodeBound(from, writer);
    encodeBound(to, writer);
    writer.varint(epoch);
  }
}

/** `self`: the reference to the base that is being read; null where the manifest is read elsewhere. */
export function decodeManifest(reader: ByteReader, self: BlobReference | null = null): Manifest {
  const layouts = Array.from({ length: reader.varint() }, () => decodeStoredView(reader));
  const packs = decodeReferences(reader);
  const packOf = (code: number): BlobReference => {
    const pack = code === SELF ? self : packs[code - FIRST_PACK];
    if (pack === null || pack === undefined) {
      throw new CorruptStateFault(`a part lies in pack ${code}, and there are ${packs.length}`);
    }
    return pack;
  };
  const layoutOf = () => {
    const layout = reader.varint();
    if (layout < layouts.length) return layout;
    throw new CorruptStateFault(`a part is written by layout ${layout} of ${layouts.length}`);
  };
  const parts = Array.from({ length: reader.varint() }, () => {
    return { layout: layoutOf(), from: decodeBound(reader), ...decodeContent(reader, packOf) };
  });
  const ids = decodeIds(reader, packOf);
  const runs = Array.from({ length: reader.varint() }, () => ({
    ...decodeReference(reader),
    level: reader.varint(),
    entryCount: reader.varint(),
    indexOffset: reader.varint(),
  }));
  const runsEpoch = reader.varint();
  const replaced = Array.from({ length: reader.varint() }, () => ({
    blob: decodeReference(reader),
    epoch: reader.varint(),
  }));
  const lost = Array.from({ length: reader.varint() }, () => ({
    layout: layoutOf(),
    from: decodeBound(reader),
    to: decodeBound(reader),
    epoch: reader.varint(),
  }));
  return { layouts, parts, ids, runs, runsEpoch, replaced, lost };
}

type Content = Pick<PartReference, 'epoch' | 'entryCount' | 'bytes'>;

/** Where a part's bytes are: nowhere, in the base itself, or in one of the packs that are listed. */
const NOWHERE = 0;
const SELF = 1;
const FIRST_PACK = 2;

function encodeContent(
  { epoch, entryCount, bytes }: Content,
  codeOf: (pack: BlobReference) => number,
  writer: ByteWriter,
): void {
  writer.varint(epoch);
  writer.varint(entryCount);
  if (bytes === null) writer.varint(NOWHERE);
  else encodePacked(bytes, codeOf, writer);
}

function decodeContent(reader: ByteReader, packOf: (code: number) => BlobReference): Content {
  const [epoch, entryCount, code] = [reader.varint(), reader.varint(), reader.varint()];
  const bytes = code === NOWHERE ? null : decodePacked(reader, packOf(code));
  return { epoch, entryCount, bytes };
}

function encodePacked(
  { pack, offset, byteLength, checksum }: PackedBytes,
  codeOf: (pack: BlobReference) => number,
  writer: ByteWriter,
): void {
  writer.varint(codeOf(pack));
  writer.varint(offset);
  writer.varint(byteLength);
  writer.u32(checksum);
}

function decodePacked(reader: ByteReader, pack: BlobReference): PackedBytes {
  const [offset, byteLength] = [reader.varint(), reader.varint()];
  return { pack, offset, byteLength, checksum: reader.u32() };
}

function encodeIds(
  { after, until, parts }: KeptIds,
  codeOf: (pack: BlobReference) => number,
  writer: ByteWriter,
): void {
  writer.varint(after);
  writer.varint(until);
  writer.varint(parts.length);
  for (const part of parts) {
    writer.varint(part.after);
    writer.varint(part.until);
    writer.varint(part.entryCount);
    writer.f64(part.newestMs);
    encodePacked(part.bytes, codeOf, writer);
  }
}

function decodeIds(reader: ByteReader, packOf: (code: number) => BlobReference): KeptIds {
  const [after, until] = [reader.varint(), reader.varint()];
  const parts = Array.from({ length: reader.varint() }, () => ({
    after: reader.varint(),
    until: reader.varint(),
    entryCount: reader.varint(),
    newestMs: reader.f64(),
    bytes: decodePacked(reader, packOf(reader.varint())),
  }));
  return { after, until, parts };
}

function encodeBound(bound: EntryBound | null, writer: ByteWriter): void {
  writer.u8(bound === null ? 0 : 1);
  if (bound === null) return;
  writer.signedVarint(bound.windowStartMs);
  writer.bytes(bound.key);
}

function decodeBound(reader: ByteReader): EntryBound | null {
  if (!reader.flag()) return null;
  return { windowStartMs: reader.signedVarint(), key: reader.bytes().slice() };
}
