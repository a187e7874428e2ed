/**
 * Snapshots of a pipeline: one epoch of each slice. The newest is read from warm images; one that a `next` pins, too where
 * a warm image is still there, and otherwise from the store, which keeps it for longer than a `next` is good for.
 *
 * A question for a few rows takes overlays, and seeks into parts for the rest; only what goes through most of a slice has its
 * image made whole.
 *
 * Warm images move with the next call, or go: a snapshot is used up before that.
 */
import { type BlobStores, MissingBlob } from '../checkpoint/blobs.ts';
import { findEpoch } from '../checkpoint/epoch-lookup.ts';
import { type Head, parseHead } from '../checkpoint/head.ts';
import type { BlobName, BlobReference } from '../checkpoint/names.ts';
import { completeOverlay, loadOverlay } from '../checkpoint/overlay.ts';
import { PartCache } from '../checkpoint/part-cache.ts';
import { type Checkpoint, emptyCheckpoint } from '../checkpoint/restore.ts';
import type { Plan } from '../definition/plan.ts';
import { CorruptStateFault } from '../faults.ts';
import type { CheckpointStore } from '../ports.ts';
import {
  NOTHING_FOLDED,
  type SliceFacts,
  type SlicesStanding,
  shardIdOf,
  sliceIdOf,
  standingOf,
} from '../slice/topology.ts';
import { type IdleShardPorts, IdleShards } from './idle-shards.ts';
import { ReaderMemory } from './reader-memory.ts';
import { RowIndexes } from './row-indexes.ts';
import type { SlicePart } from './row-sources.ts';
import { decideSeek, seekFacts } from './seek-decision.ts';
import { SliceReader, type SliceSnapshot } from './slice-reader.ts';
import {
  fingerprintOf,
  inTokenOrder,
  nonceByte,
  type PinnedSlice,
  type SnapshotToken,
} from './snapshot-token.ts';
import type { ViewRequest } from './view-request.ts';

export interface SnapshotPart extends SlicePart {
  readonly pinned: PinnedSlice;
  readonly shardId: string;
}

export interface Snapshot extends SlicesStanding {
  /** In the order of tokens. */
  readonly parts: readonly SnapshotPart[];
  /** The stream said which shards it has; if not, one may have records that no slice stands for. */
  readonly isListed: boolean;
  /** Why it did not, or what one that waits holds; null if it gave no reason, and where a `next` pins the snapshot. */
  readonly streamFault: string | null;
  /** Grows whenever a slice completes an epoch. */
  readonly revision: number;
  /** See `fingerprintOf`. */
  readonly fingerprint: string;
}

export interface SnapshotPorts extends IdleShardPorts {
  readonly heads: CheckpointStore;
  readonly blobs: BlobStores;
}

/** How it is decided whether a question seeks in a slice's parts: a simulation has small states, and always does, or never. */
export type Seeking = 'by-bytes' | 'always' | 'never';

/** What a reader has beside the ports. */
export interface SnapshotMeans {
  readonly idleShards: IdleShards;
  readonly memory: ReaderMemory;
  readonly parts: PartCache;
  readonly seeking: Seeking;
}

/** Slices of a `next` that are loaded at once. */
const LOADED_AT_ONCE = 8;

export class Snapshots {
  readonly #plan: Plan;
  readonly #ports: SnapshotPorts;
  readonly #readers = new Map<string, SliceReader>();
  /** Images that were loaded for a `next`. They never move. */
  readonly #pinned = new Map<string, PinnedImage>();
  readonly #idleShards: IdleShards;
  readonly #memory: ReaderMemory;
  readonly #parts: PartCache;
  readonly #seeking: Seeking;

  constructor(plan: Plan, ports: SnapshotPorts, means: Partial<SnapshotMeans> = {}) {
    this.#plan = plan;
    this.#ports = ports;
    this.#idleShards = means.idleShards ?? new IdleShards(ports);
    this.#parts = means.parts ?? new PartCache(ports.blobs);
    this.#memory = means.memory ?? new ReaderMemory(new RowIndexes(), this.#parts);
    this.#seeking = means.seeking ?? 'by-bytes';
  }

  /** Every slice as its HEAD says, but for what is in parts. */
  async newestSlices(): Promise<SliceSnapshot[]> {
    return this.#settled(await this.#follow(await this.#readHeads()));
  }

  /** For a question; without one, whole. */
  async newest(request: ViewRequest | null = null): Promise<Snapshot> {
    const heads = await this.#readHeads();
    // After the HEADs: a shard that came meanwhile has no slice here, and is asked whether it has records.
    const listing = await this.#idleShards.list();
    const followed = await this.#follow(heads);
    const slices = this.#settled(
      await Promise.all(followed.map((slice) => this.#completed(slice, request))),
    );
    const folded = slices.map(({ head, checkpoint }) => {
      return { shardId: head.shardId, recordCount: checkpoint.image.progress.recordCount };
    });
    // Now, not a moment ago: a record that a producer was answered for meanwhile may be of a window that was called closed.
    const { waits: waiting, unopened, fault } = await this.#idleShards.judge(folded, listing, 0);
    const opened = slices.map(({ head, checkpoint }): LoadedPart => {
      const { sliceId, shardId, status, delta } = head;
      const waits = waiting.has(shardId);
      const epoch = delta?.epoch ?? 0;
      const pinned = { sliceId, status, waits, epoch, nonceByte: nonceByte(delta) };
      return { shardId, pinned, checkpoint, delta };
    });
    const others = unopened.map((shardId) => {
      const pinned = { sliceId: sliceIdOf(shardId), waits: waiting.has(shardId) };
      return this.#unopened({ ...NO_EPOCH, ...pinned }, shardId);
    });
    return snapshotOf([...opened, ...others], listing.shardIds !== null, fault);
  }

  #follow(heads: readonly Head[]): Promise<SliceSnapshot[]> {
    return Promise.all(heads.map((head) => this.#reader(head.sliceId).follow(head)));
  }

  /** With a whole image, unless the question seeks in it. */
  async #completed(slice: SliceSnapshot, request: ViewRequest | null): Promise<SliceSnapshot> {
    const { head, checkpoint } = slice;
    const { sliceId } = head;
    if (!checkpoint.image.isOverlay) return slice;
    if (request !== null && this.#seeks(request, sliceId, checkpoint)) return slice;
    const completed = await this.#reader(sliceId).complete(head);
    if (!completed.checkpoint.image.isOverlay) this.#parts.forgetReads(sliceId);
    return completed;
  }

  #seeks(request: ViewRequest, sliceId: string, checkpoint: Checkpoint): boolean {
    if (this.#seeking !== 'by-bytes') return this.#seeking === 'always';
    return decideSeek(seekFacts(request, sliceId, checkpoint, this.#parts));
  }

  #settled(slices: SliceSnapshot[]): SliceSnapshot[] {
    for (const { head, checkpoint } of slices) this.#useWarm(head.sliceId, checkpoint);
    this.#memory.settle(slices.length);
    return slices;
  }

  #useWarm(sliceId: string, checkpoint: Checkpoint): void {
    this.#memory.use(sliceId, checkpoint, () => this.#readers.delete(sliceId));
  }

  async #readHeads(): Promise<Head[]> {
    return (await this.#ports.heads.listHeads()).map(parseHead);
  }

  /** A shard that no slice stands for yet. */
  #unopened(pinned: PinnedSlice, shardId: string): LoadedPart {
    return { shardId, pinned, checkpoint: emptyCheckpoint(this.#plan), delta: null };
  }

  /** What a token names; null if it is not there, or no longer. `isOrdered`: all rows are wanted, for each page. */
  async pinned(
    { slices, fingerprint, isListed }: SnapshotToken,
    isOrdered = false,
  ): Promise<Snapshot | null> {
    const heads = new Map((await this.#readHeads()).map((head) => [head.sliceId, head]));
    const parts: LoadedPart[] = [];
    for (let at = 0; at < slices.length; at += LOADED_AT_ONCE) {
      const some = slices.slice(at, at + LOADED_AT_ONCE);
      for (const part of await Promise.all(
        some.map((each) => this.#pinnedPart(each, heads, isOrdered)),
      )) {
        if (part === null) return null;
        parts.push(part);
      }
    }
    this.#memory.settle(slices.length);
    const snapshot = snapshotOf(parts, isListed, null);
    return snapshot.fingerprint === fingerprint ? snapshot : null;
  }

  async #pinnedPart(
    pinned: PinnedSlice,
    heads: ReadonlyMap<string, Head>,
    isOrdered: boolean,
  ): Promise<LoadedPart | null> {
    const { sliceId, epoch } = pinned;
    const head = heads.get(sliceId);
    const shardId = head?.shardId ?? shardIdOf(sliceId);
    if (epoch === 0) return this.#unopened(pinned, shardId);
    if (head === undefined) return null;
    const isMeant = (delta: Pick<BlobName, 'nonce'>) => nonceByte(delta) === pinned.nonceByte;
    const warm = this.#reader(sliceId).at(epoch);
    if (warm !== null && isMeant(warm.delta)) {
      this.#useWarm(sliceId, warm.checkpoint);
      return { shardId, pinned, ...warm };
    }
    const key = `${sliceId}@${epoch}-${pinned.nonceByte}`;
    const overlay = this.#pinned.get(key) ?? (await this.#load(head, epoch, isMeant));
    if (overlay === null) return null;
    const isWanted = this.#seeking === 'never' || (isOrdered && this.#seeking === 'by-bytes');
    const image = isWanted ? await this.#completedPinned(sliceId, overlay) : overlay;
    this.#pinned.set(key, image);
    this.#memory.use(key, image.checkpoint, () => this.#pinned.delete(key));
    return { shardId, pinned, ...image };
  }

  async #load(
    head: Head,
    epoch: number,
    isMeant: (name: BlobName) => boolean,
  ): Promise<PinnedImage | null> {
    const { blobs } = this.#ports;
    try {
      const found = await findEpoch(head, epoch, isMeant, blobs);
      if (found === null || found.delta === null) return null;
      return { delta: found.delta, checkpoint: await loadOverlay(this.#plan, found, blobs) };
    } catch (fault) {
      if (fault instanceof MissingBlob) return null;
      throw fault;
    }
  }

  /** An overlay where parts cannot be read: the rows say which are missing. */
  async #completedPinned(sliceId: string, overlay: PinnedImage): Promise<PinnedImage> {
    const { checkpoint } = overlay;
    if (!checkpoint.image.isOverlay) return overlay;
    try {
      const whole = await completeOverlay(sliceId, checkpoint, this.#ports.blobs);
      return { ...overlay, checkpoint: whole };
    } catch (fault) {
      if (fault instanceof CorruptStateFault) return overlay;
      throw fault;
    }
  }

  #reader(sliceId: string): SliceReader {
    let reader = this.#readers.get(sliceId);
    if (reader === undefined) {
      reader = new SliceReader(this.#plan, this.#ports.heads, this.#ports.blobs);
      this.#readers.set(sliceId, reader);
    }
    return reader;
  }
}

/** An image at one epoch, with the name of its delta. */
interface PinnedImage {
  readonly checkpoint: Checkpoint;
  readonly delta: BlobReference;
}

const NO_EPOCH = { status: NOTHING_FOLDED.status, epoch: 0, nonceByte: 0 } as const;

interface LoadedPart extends SnapshotPart {
  readonly delta: BlobReference | null;
}

function snapshotOf(
  loaded: readonly LoadedPart[],
  isListed: boolean,
  streamFault: string | null,
): Snapshot {
  const parts = inTokenOrder(loaded.map((part) => ({ ...part, sliceId: part.pinned.sliceId })));
  const facts = parts.map(({ sliceId, pinned: { status, waits }, checkpoint }): SliceFacts => {
    const { watermarkMs, recordCount } = checkpoint.image.progress;
    return { sliceId, status, waits, watermarkMs, recordCount };
  });
  return {
    ...standingOf(facts, isListed),
    parts,
    isListed,
    streamFault,
    revision: parts.reduce((sum, { pinned }) => sum + pinned.epoch, 0),
    fingerprint: fingerprintOf(parts),
  };
}
