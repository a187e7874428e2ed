/**
 * Where each epoch comes from: which records had been redriven, or quarantined unread, when it was completed. A slice that goes back
 * to an older epoch goes on from what that one had.
 */
import { type BlobStores, storeOf } from '../core/checkpoint/blobs.ts';
import { type Delta, decodeDelta } from '../core/checkpoint/delta.ts';
import type { Head } from '../core/checkpoint/head.ts';
import { type BlobReference, blobKey } from '../core/checkpoint/names.ts';
import { applyDelta } from '../core/checkpoint/restore.ts';
import type { Plan } from '../core/definition/plan.ts';
import type { Inbox } from '../core/ports.ts';
import type { Position } from '../core/position.ts';
import type { ClosedEntry } from '../core/state/closed-entries.ts';
import { ledgerStanding } from '../core/state/ledger-standing.ts';
import { isLedgerKeyOf, type LedgerRecord } from '../core/state/quarantine-ledger.ts';
import { SliceImage } from '../core/state/slice-image.ts';
import type { QuarantineEntry } from '../core/state/state-change.ts';
import type { Harm } from './harmful-record.ts';
import { type PlanSpan, type Redriven, recordId } from './recount.ts';
import type { KeptBase } from './retention-check.ts';

export interface EpochFacts {
  readonly redriven: readonly Redriven[];
  /** The plans that it ran by, the first from the beginning. */
  readonly plans: readonly PlanSpan[];
  /** By record: the reason for which it was quarantined unread. */
  readonly condemned: ReadonlyMap<string, string>;
  /** The same text: the same facts. */
  readonly text: string;
}

const NONE: EpochFacts = { redriven: [], plans: [], condemned: new Map(), text: '' };
/** What the core itself decides about a record; no rule about records gives these reasons. */
const UNREAD = new Set(['kills-its-environment', 'fold-failed']);

export class Lineage {
  /** By hash. */
  readonly #plans: ReadonlyMap<string, Plan>;
  readonly #blobs: BlobStores;
  readonly #inbox: Inbox;
  readonly #mayRefuse: () => boolean;
  readonly #harmOf: (shardId: string, position: Position) => Harm | null;
  /** By the nonce of the epoch's delta. */
  readonly #facts = new Map<string, EpochFacts>();
  readonly #bases = new Map<string, readonly KeptBase[]>();
  readonly #byNumber = new Map<string, EpochFacts>();

  /**
   * `mayRefuse`: whether a slice's owner may have found a run that it could not read, and refused for it. `harmOf`: whether
   * a record harms the environment that folds it; so would one that asks for it back.
   */
  constructor(
    plans: ReadonlyMap<string, Plan>,
    blobs: BlobStores,
    inbox: Inbox,
    mayRefuse: () => boolean,
    harmOf: (shardId: string, position: Position) => Harm | null,
  ) {
    this.#mayRefuse = mayRefuse;
    this.#harmOf = harmOf;
    this.#plans = plans;
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

  /** The bases that the epoch goes on from, its own too, the oldest first: none below its floor. */
  basesOf({ delta }: Head): readonly KeptBase[] {
    return this.#bases.get(delta?.nonce ?? '') ?? [];
  }

  at(sliceId: string, timeline: number, epoch: number): EpochFacts {
    return this.#byNumber.get(`${sliceId} ${timeline} ${epoch}`) ?? NONE;
  }

  async #factsOf(head: Head, reference: BlobReference): Promise<EpochFacts> {
    const bytes = await storeOf(this.#blobs, reference.place).read(
      blobKey(head.sliceId, reference),
    );
    if (bytes === null) throw new Error(`HEAD names ${reference.nonce}, which was never written`);
    const delta = decodeDelta(bytes, head.sliceId, reference);
    const predecessor = delta.predecessors.at(-1)?.nonce ?? '';
    this.#learnBases(head, delta, this.#bases.get(predecessor) ?? []);
    const before = this.#facts.get(predecessor) ?? NONE;
    const plan = this.#plans.get(delta.planHash);
    if (plan === undefined) throw new Error(`plan ${delta.planHash} was never active`);
    const image = new SliceImage(plan);
    const condemned = condemnedBy(applyDelta(image, delta));
    const redriven = await this.#redrivenBy(delta, head, image);
    const isChange = before.plans.at(-1)?.plan !== plan;
    if (redriven.length === 0 && condemned.size === 0 && !isChange) return before;
    const span = {
      plan,
      afterCount: before.plans.length === 0 ? 0 : head.recordCount,
      redrivenBefore: before.redriven.length,
    };
    const all = {
      redriven: [...before.redriven, ...redriven],
      plans: isChange ? [...before.plans, span] : before.plans,
      condemned: new Map([...before.condemned, ...condemned]),
    };
    const spans = all.plans.map((each) => [each.plan.hash, each.afterCount, each.redrivenBefore]);
    const text = JSON.stringify([all.redriven, spans, [...all.condemned]]);
    return { ...all, text };
  }

  #learnBases(head: Head, delta: Delta, before: readonly KeptBase[]): void {
    const { nonce, manifest, predecessors } = delta;
    const { base, cursor, collectBelow } = head;
    const own =
      base === null || manifest === null || head.delta === null
        ? []
        : [{ base, manifest, cursor, deltas: [...predecessors, head.delta] }];
    const kept = before.filter((each) => each.base.epoch >= collectBelow);
    this.#bases.set(nonce, [...kept, ...own]);
  }

  async #redrivenBy(delta: Delta, head: Head, image: SliceImage): Promise<Redriven[]> {
    const ledger = image.late.at(-1) as ClosedEntry[];
    const redriven: Redriven[] = [];
    const requests = await this.#inbox.list(head.sliceId, null, 10_000);
    for (const id of delta.requestsDone) {
      if (requests.every((each) => each.id !== id)) {
        throw new Error(`request ${id} is done and was never made`);
      }
    }
    for (const { id, records } of requests) {
      const isDone = delta.requestsDone.includes(id);
      const harms = records.map((record) => this.#harmOf(head.shardId, positionOfId(record)));
      // A request that kills is given up as a whole. One that is worked off in rounds is done with the last of them only.
      const mayRefuse = !isDone || this.#mayRefuse() || harms.includes('kills');
      for (const [index, record] of records.entries()) {
        const position = positionOfId(record);
        if (isDone && harms[index] !== null) continue;
        if (mayRefuse && !cameBack({ shardId: head.shardId, ...position }, ledger)) continue;
        redriven.push({ afterCount: head.recordCount, ...position });
      }
    }
    // One request may have been refused what the next one got, so then only the ledger knows in which order they came.
    const places = redriven.map((each) => recordId(each));
    const isRepeated = new Set(places).size < places.length;
    return isRepeated ? byLedger(redriven, head.shardId, ledger) : redriven;
  }
}

/** In the order in which their marks came to the ledger. */
function byLedger(
  redriven: readonly Redriven[],
  shardId: string,
  ledger: readonly ClosedEntry[],
): Redriven[] {
  const placeOf = (record: Redriven) =>
    ledger.findIndex((entry) => cameBack({ shardId, ...record }, [entry]));
  return redriven
    .map((record) => ({ record, place: placeOf(record) }))
    .sort((a, b) => a.place - b.place)
    .map(({ record }) => record);
}

/** True if these entries of the ledger mark the record as come back. */
function cameBack(record: LedgerRecord, ledger: readonly ClosedEntry[]): boolean {
  return ledgerStanding(ledger.filter(({ key }) => isLedgerKeyOf(record, key))).cameBack;
}

function condemnedBy(quarantined: readonly QuarantineEntry[]): Map<string, string> {
  const unread = quarantined.filter(({ reason }) => UNREAD.has(reason));
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
