/**
 * A manifest: the runs that together hold exactly the closed entries of a slice's history up to one base. It travels in
 * the base and in that epoch's delta, so that a memory that follows the deltas never needs the base.
 */
import type { ByteReader, ByteWriter } from '../bytes.ts';
import { type BlobReference, decodeReference, encodeReference } from './names.ts';

export interface RunReference extends BlobReference {
  /** 0 for a run that a compaction wrote, +1 for each time that runs were merged. */
  readonly level: number;
  readonly entryCount: number;
  /** Where in the blob the index begins. */
  readonly indexOffset: number;
}

/** A run that a merge replaced: older bases still list it. */
export interface AbsorbedRun {
  readonly run: BlobReference;
  /** Of the first base that does not list it. */
  readonly epoch: number;
}

export interface Manifest {
  readonly runs: readonly RunReference[];
  readonly absorbed: readonly AbsorbedRun[];
}

export const EMPTY_MANIFEST: Manifest = { runs: [], absorbed: [] };

export function encodeManifest(manifest: Manifest, writer: ByteWriter): void {
  writer.varint(manifest.runs.length);
  for (const run of manifest.runs) {
    encodeReference(run, writer);
    writer.varint(run.level);
    writer.varint(run.entryCount);
    writer.varint(run.indexOffset);
  }
  writer.varint(manifest.absorbed.length);
  for (const { run, epoch } of manifest.absorbed) {
    encodeReference(run, writer);
    writer.varint(epoch);
  }
}

export function decodeManifest(reader: ByteReader): Manifest {
  const runs = Array.from({ length: reader.varint() }, () => ({
    ...decodeReference(reader),
    level: reader.varint(),
    entryCount: reader.varint(),
    indexOffset: reader.varint(),
  }));
  const absorbed = Array.from({ length: reader.varint() }, () => ({
    run: decodeReference(reader),
    epoch: reader.varint(),
  }));
  return { runs, absorbed };
}
