/**
 * A reader's warm image of one slice: it follows HEAD by deltas, or restores. A snapshot is exactly one epoch; the image
 * moves with the next `refresh`, so whoever uses one does so before that.
 */

import type { BlobStores } from '../checkpoint/blobs.ts';
import { MissingBlob } from '../checkpoint/blobs.ts';
import { type Head, parseHead } from '../checkpoint/head.ts';
import { sameBlob } from '../checkpoint/names.ts';
import { advance, type Checkpoint, restore } from '../checkpoint/restore.ts';
import type { Plan } from '../definition/plan.ts';
import { TransientFault } from '../faults.ts';
import type { CheckpointStore } from '../ports.ts';

export interface SliceSnapshot {
  readonly head: Head;
  readonly checkpoint: Checkpoint;
}

/** A HEAD that is read again may name blobs that were there; twice in a row that hardly ever fails. */
const ATTEMPTS_MAX = 5;

export class SliceReader {
  readonly #plan: Plan;
  readonly #sliceId: string;
  readonly #heads: CheckpointStore;
  readonly #blobs: BlobStores;
  #snapshot: SliceSnapshot | null = null;

  constructor(plan: Plan, sliceId: string, heads: CheckpointStore, blobs: BlobStores) {
    this.#plan = plan;
    this.#sliceId = sliceId;
    this.#heads = heads;
    this.#blobs = blobs;
  }

  /** The newest epoch, or null if the slice has no HEAD. Not to be called while another call runs. */
  async refresh(): Promise<SliceSnapshot | null> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const item = await this.#heads.readHead(this.#sliceId);
      if (item === null) return null;
      const head = parseHead(item);
      try {
        this.#snapshot = await this.#follow(head);
        return this.#snapshot;
      } catch (fault) {
        // An advance that broke off leaves an image between two epochs.
        this.#snapshot = null;
        if (!(fault instanceof MissingBlob)) throw fault;
      }
    }
    throw new TransientFault(
      `slice ${this.#sliceId} moved on ${ATTEMPTS_MAX} times while it was read`,
    );
  }

  async #follow(head: Head): Promise<SliceSnapshot> {
    const known = this.#snapshot;
    if (known === null) return { head, checkpoint: await restore(this.#plan, head, this.#blobs) };
    const isSame =
      head.delta === null || (known.head.delta !== null && sameBlob(known.head.delta, head.delta));
    if (isSame) return { head, checkpoint: known.checkpoint };
    const checkpoint = await advance(known.checkpoint, known.head.delta, head, this.#blobs);
    return { head, checkpoint };
  }
}
