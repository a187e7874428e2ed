/**
 * A reader's warm image of one slice: it follows HEAD by deltas, or begins anew as an overlay, which `complete` makes whole. The
 * image is at exactly one epoch, and moves with the next call: callers use it before that.
 */
import { type BlobStores, MissingBlob } from '../checkpoint/blobs.ts';
import { type Head, parseHead } from '../checkpoint/head.ts';
import type { Manifest } from '../checkpoint/manifest.ts';
import type { BlobReference } from '../checkpoint/names.ts';
import { completeOverlay, restoreOverlay } from '../checkpoint/overlay.ts';
import { advance, type Checkpoint, finish } from '../checkpoint/restore.ts';
import type { Plan } from '../definition/plan.ts';
import { CorruptStateFault, TransientFault } from '../faults.ts';
import type { CheckpointStore } from '../ports.ts';

export interface SliceSnapshot {
  readonly head: Head;
  readonly checkpoint: Checkpoint;
}

/** A HEAD that is read again may have moved on again; twice in a row that hardly ever happens. */
const ATTEMPTS_MAX = 5;

export class SliceReader {
  readonly #plan: Plan;
  readonly #heads: CheckpointStore;
  readonly #blobs: BlobStores;
  #snapshot: SliceSnapshot | null = null;
  /** Lists parts that cannot be read: the image stays an overlay until there is another one. */
  #damaged: Manifest | null = null;

  constructor(plan: Plan, heads: CheckpointStore, blobs: BlobStores) {
    this.#plan = plan;
    this.#heads = heads;
    this.#blobs = blobs;
  }

  /**
   * The slice at `head`, or at a newer one if retention was faster. Not to be called while another call runs. Throws
   * `TransientFault`, or `CorruptStateFault` when what HEAD names is not there or not what was written.
   */
  async follow(head: Head): Promise<SliceSnapshot> {
    let wanted = head;
    for (let attempt = 1; ; attempt++) {
      const known = this.#snapshot;
      // An advance that breaks off leaves an image between two epochs.
      this.#snapshot = null;
      try {
        this.#snapshot = { head: wanted, checkpoint: await this.#reach(wanted, known) };
        return this.#snapshot;
      } catch (fault) {
        const mayHaveMoved = fault instanceof MissingBlob;
        const mayBeTheImage = fault instanceof CorruptStateFault && known !== null;
        if (attempt === ATTEMPTS_MAX || !(mayHaveMoved || mayBeTheImage)) throw fault;
        const newest = await this.#readHead(wanted.sliceId);
        // Built from scratch, and HEAD still says the same: it is gone for good.
        if (known === null && newest.revision === wanted.revision) throw fault;
        wanted = newest;
      }
    }
  }

  /**
   * The same with a whole image. Where parts cannot be read it stays an overlay: what is asked of it then says which rows are
   * missing.
   */
  async complete(head: Head): Promise<SliceSnapshot> {
    let followed = await this.follow(head);
    for (let attempt = 1; ; attempt++) {
      const { head: reached, checkpoint } = followed;
      if (!checkpoint.image.isOverlay || this.#damaged === checkpoint.manifest) return followed;
      try {
        const whole = await completeOverlay(reached.sliceId, checkpoint, this.#blobs);
        this.#snapshot = null;
        this.#snapshot = { head: reached, checkpoint: finish(reached, whole) };
        return this.#snapshot;
      } catch (fault) {
        // What does not add up with all of its parts is no damage of one.
        if (this.#snapshot === null || !(fault instanceof CorruptStateFault)) throw fault;
        const mayHaveMoved = fault instanceof MissingBlob && attempt < ATTEMPTS_MAX;
        const newest = mayHaveMoved ? await this.#readHead(reached.sliceId) : reached;
        if (newest.revision === reached.revision) {
          this.#damaged = checkpoint.manifest;
          return followed;
        }
        followed = await this.follow(newest);
      }
    }
  }

  /** The warm image, if it is at this epoch. */
  at(epoch: number): { readonly checkpoint: Checkpoint; readonly delta: BlobReference } | null {
    const delta = this.#snapshot?.head.delta ?? null;
    if (this.#snapshot === null || delta?.epoch !== epoch) return null;
    return { checkpoint: this.#snapshot.checkpoint, delta };
  }

  #reach(head: Head, known: SliceSnapshot | null): Promise<Checkpoint> {
    if (known === null) return restoreOverlay(this.#plan, head, this.#blobs);
    return advance(known.checkpoint, known.head.delta, head, this.#blobs, restoreOverlay);
  }

  async #readHead(sliceId: string): Promise<Head> {
    const item = await this.#heads.readHead(sliceId);
    if (item === null) throw new TransientFault(`HEAD of ${sliceId} went while it was read`);
    return parseHead(item);
  }
}
