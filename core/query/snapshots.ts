/**
 * Snapshots of a pipeline: one epoch of each slice. The newest is read from warm images; one that a `next` pins, too where
 * a warm image is still there, and otherwise from the store, which keeps it for longer than a `next` is good for.
 *
 * Warm images move with the next call: a snapshot is used up before that.
 */
import { type BlobStores, MissingBlob } from '../checkpoint/blobs.ts';
import { parseHead } from '../checkpoint/head.ts';
import { blobKey } from '../checkpoint/names.ts';
import { type Checkpoint, load } from '../checkpoint/restore.ts';
import type { Plan } from '../definition/plan.ts';
import { ReplayGapFault } from '../faults.ts';
import { PINNED_IMAGES_BYTES_MAX } from '../limits.ts';
import type { CheckpointStore, RecordSource } from '../ports.ts';
import { START } from '../position.ts';
import { SliceReader, type SliceSnapshot } from './slice-reader.ts';
import type { PinnedSlice } from './snapshot-token.ts';
import { watermarkOf } from './status.ts';
import type { SlicePart } from './view-rows.ts';

export interface SnapshotPart extends SlicePart {
  readonly shardId: string;
}

export interface Snapshot {
  readonly parts: readonly SnapshotPart[];
  /** The lowest of the live slices that had a record; null if none had, or if records of a slice that had none wait. */
  readonly watermarkMs: number | null;
  /** Slices that never had a record: they hold no window open. */
  readonly exempt: readonly string[];
  /** Grows whenever a slice completes an epoch. */
  readonly revision: number;
  /** No slice is being recovered or opened, nor waits with all of its records unread. */
  readonly isOpen: boolean;
}

export class Snapshots {
  readonly #plan: Plan;
  readonly #heads: CheckpointStore;
  readonly #blobs: BlobStores;
  readonly #source: RecordSource;
  readonly #readers = new Map<string, SliceReader>();
  /** Images that were loaded for a `next`, the least recently used first. They never move. */
  readonly #pinned = new Map<string, Checkpoint>();

  constructor(plan: Plan, heads: CheckpointStore, blobs: BlobStores, source: RecordSource) {
    this.#plan = plan;
    this.#heads = heads;
    this.#blobs = blobs;
    this.#source = source;
  }

  /** Every slice as its HEAD says. */
  async newestSlices(): Promise<SliceSnapshot[]> {
    const heads = (await this.#heads.listHeads()).map(parseHead);
    return Promise.all(heads.map((head) => this.#reader(head.sliceId).follow(head)));
  }

  async newest(): Promise<Snapshot> {
    const slices = await this.newestSlices();
    const parts = slices.map(async ({ head, checkpoint }) => {
      const { sliceId, shardId, status, base, delta } = head;
      const waits =
        checkpoint.image.progress.digest.count === 0 && (await this.#hasRecords(shardId));
      return { shardId, pinned: { sliceId, status, waits, base, delta }, checkpoint };
    });
    return snapshotOf(await Promise.all(parts));
  }

  async #hasRecords(shardId: string): Promise<boolean> {
    try {
      const first = await this.#source.readAfter(shardId, START, 1);
      return first.outcome === 'trimmed' || first.records.length > 0;
    } catch (fault) {
      // The shard closed without a record so long ago that the stream no longer has it.
      if (fault instanceof ReplayGapFault) return false;
      throw fault;
    }
  }

  /** What a token names; null if it is not there, or no longer. */
  async pinned(slices: readonly PinnedSlice[]): Promise<Snapshot | null> {
    const heads = (await this.#heads.listHeads()).map(parseHead);
    const shardOf = new Map(heads.map(({ sliceId, shardId }) => [sliceId, shardId]));
    const parts: SnapshotPart[] = [];
    for (const pinned of slices) {
      const shardId = shardOf.get(pinned.sliceId);
      const checkpoint = shardId === undefined ? null : await this.#pinnedImage(pinned);
      if (shardId === undefined || checkpoint === null) return null;
      parts.push({ shardId, pinned, checkpoint });
    }
    this.#evict(slices.length);
    return snapshotOf(parts);
  }

  async #pinnedImage(pinned: PinnedSlice): Promise<Checkpoint | null> {
    const { sliceId, delta } = pinned;
    const warm = this.#reader(sliceId).at(delta);
    if (warm !== null || delta === null) return warm ?? this.#load(pinned);
    const key = blobKey(sliceId, delta);
    const checkpoint = this.#pinned.get(key) ?? (await this.#load(pinned));
    this.#pinned.delete(key);
    if (checkpoint !== null) this.#pinned.set(key, checkpoint);
    return checkpoint;
  }

  async #load(pinned: PinnedSlice): Promise<Checkpoint | null> {
    try {
      return await load(this.#plan, pinned, this.#blobs);
    } catch (fault) {
      if (fault instanceof MissingBlob) return null;
      throw fault;
    }
  }

  /** The `inUse` newest stay, however large they are. */
  #evict(inUse: number): void {
    const images = [...this.#pinned].reverse();
    let heapBytes = 0;
    for (const [index, [key, { image }]] of images.entries()) {
      heapBytes += image.heapBytes();
      if (index >= inUse && heapBytes > PINNED_IMAGES_BYTES_MAX) this.#pinned.delete(key);
    }
  }

  #reader(sliceId: string): SliceReader {
    let reader = this.#readers.get(sliceId);
    if (reader === undefined) {
      reader = new SliceReader(this.#plan, this.#heads, this.#blobs);
      this.#readers.set(sliceId, reader);
    }
    return reader;
  }
}

function snapshotOf(parts: readonly SnapshotPart[]): Snapshot {
  const standings = parts.map(({ pinned, checkpoint }) => ({
    status: pinned.status,
    watermarkMs: checkpoint.image.progress.watermarkMs,
  }));
  const idle = parts.filter(({ checkpoint }) => checkpoint.image.progress.digest.count === 0);
  return {
    parts,
    watermarkMs: idle.some(({ pinned }) => pinned.waits) ? null : watermarkOf(standings),
    exempt: idle.map(({ pinned }) => pinned.sliceId),
    revision: parts.reduce((sum, { pinned }) => sum + (pinned.delta?.epoch ?? 0), 0),
    isOpen:
      standings.every(({ status }) => status === 'OPEN' || status === 'SEALED') &&
      !idle.some(({ pinned }) => pinned.waits),
  };
}
