/**
 * Where each epoch comes from: which records had been redriven, or put aside unread, when it was completed. A slice that goes back
 * to an older epoch goes on from what that one had.
 */
import { type Delta, decodeDelta } from '../core/checkpoint/delta.ts';
import type { Head } from '../core/checkpoint/head.ts';
import { type BlobReference, blobKey } from '../core/checkpoint/names.ts';
import { applyDelta } from '../core/checkpoint/restore.ts';
import type { Plan } from '../core/definition/plan.ts';
import type { BlobStore, Inbox } from '../core/ports.ts';
import { SliceImage } from '../core/state/slice-image.ts';
import { type Redriven, recordId } from './recount.ts';

export interface EpochFacts {
  readonly redriven: readonly Redriven[];
  /** By record: the reason for which it was put aside unread. */
  readonly condemned: ReadonlyMap<string, string>;
  /** The same text: the same facts. */
  readonly text: string;
}

const NONE: EpochFacts = { redriven: [], condemned: new Map(), text: '' };
/** What the core itself decides about a record; no rule about records gives these reasons. */
const UNREAD = 'kills-its-environment';

export interface SoundStores {
  readonly items: BlobStore;
  readonly objects: BlobStore;
}

export class Lineage {
  readonly #plan: Plan;
  readonly #blobs: SoundStores;
  readonly #inbox: Inbox;
  /** By the nonce of the epoch's delta. */
  readonly #facts = new Map<string, EpochFacts>();
  readonly #byNumber = new Map<string, EpochFacts>();

  constructor(plan: Plan, blobs: SoundStores, inbox: Inbox) {
    this.#plan = plan;
    this.#blobs = blobs;
    this.#inbox = inbox;
  }

  /** To be told of each HEAD in turn. */
  async learn(head: Head): Promise<void> {
    const { delta } = head;
    if (delta === null || this.#facts.has(delta.nonce)) return;
    const facts = await this.#factsOf(head, delta);
    this.#facts.set(delta.nonce, facts);
    this.#byNumber.set(`${head.sliceId} ${head.timeline} ${head.epoch}`, facts);
  }

  of(head: Head): EpochFacts {
    return head.delta === null ? NONE : (this.#facts.get(head.delta.nonce) ?? NONE);
  }

  at(sliceId: string, timeline: number, epoch: number): EpochFacts {
    return this.#byNumber.get(`${sliceId} ${timeline} ${epoch}`) ?? NONE;
  }

  async #factsOf(head: Head, reference: BlobReference): Promise<EpochFacts> {
    const store = reference.place === 'item' ? this.#blobs.items : this.#blobs.objects;
    const bytes = await store.read(blobKey(head.sliceId, reference));
    if (bytes === null) throw new Error(`HEAD names ${reference.nonce}, which was never written`);
    const delta = decodeDelta(bytes, head.sliceId, reference);
    const before = this.#facts.get(delta.predecessors.at(-1)?.nonce ?? '') ?? NONE;
    const redriven = await this.#redrivenBy(delta, head);
    const condemned = condemnedBy(delta, this.#plan);
    if (redriven.length === 0 && condemned.size === 0) return before;
    const all = {
      redriven: [...before.redriven, ...redriven],
      condemned: new Map([...before.condemned, ...condemned]),
    };
    return { ...all, text: JSON.stringify([all.redriven, [...all.condemned.keys()]]) };
  }

  async #redrivenBy(delta: Delta, head: Head): Promise<Redriven[]> {
    const redriven: Redriven[] = [];
    for (const id of delta.requestsDone) {
      const requests = await this.#inbox.list(head.sliceId, null, 10_000);
      const request = requests.find((each) => each.id === id);
      if (request === undefined) throw new Error(`request ${id} is done and was never made`);
      for (const record of request.records) {
        redriven.push({ afterCount: head.digest.count, ...positionOfId(record) });
      }
    }
    return redriven;
  }
}

function condemnedBy(delta: Delta, plan: Plan): Map<string, string> {
  const quarantined = applyDelta(new SliceImage(plan), delta);
  const unread = quarantined.filter(({ reason }) => reason === UNREAD);
  return new Map(unread.map((record) => [recordId(record), record.reason]));
}

/** The position that the id of a quarantined record ends with. */
export function positionOfId(quarantineId: string): {
  sequenceNumber: string;
  subSequence: number;
} {
  const [sequence, sub] = (quarantineId.split('/')[2] as string).split('.');
  return { sequenceNumber: String(BigInt(sequence as string)), subSequence: Number(sub) };
}
