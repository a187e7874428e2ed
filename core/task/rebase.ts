/**
 * How an owner's memory comes to HEAD: it follows the deltas, or restores; it goes back to the newest sound epoch where HEAD's
 * own is damaged, and over to its own plan where that is the active one.
 *
 *   HEAD read ─ another plan? ─ held │ rollback, something lost since: rewind │ switch: restore, new views begin here
 *             └ same plan ─ same epoch: keep all │ newer: apply deltas │ none: restore ─ damaged? rewind to a sound epoch ─ none? go on
 *                                                                                        without the parts that are lost
 *
 * Invariants: a memory that is reached stands at exactly the HEAD that it was reached for; nothing damaged is ever used; what
 * HEAD says is changed under the revision that was read only.
 */
import { assert } from '../assert.ts';
import { beginSlice, planIsLost, recordBirth } from '../checkpoint/beginning.ts';
import { soundEpochs } from '../checkpoint/fallback.ts';
import { type Head, type PreviousPlan, parseHead } from '../checkpoint/head.ts';
import { loadWithoutLost } from '../checkpoint/lost-parts.ts';
import { sameBlob } from '../checkpoint/names.ts';
import { advance, agreesWith, type Checkpoint, load, restore } from '../checkpoint/restore.ts';
import { type RewindTarget, rewind } from '../checkpoint/rewind.ts';
import { firstHead, leaving } from '../checkpoint/transitions.ts';
import type { RecordDecoder } from '../decode/record-decoder.ts';
import type { Plan } from '../definition/plan.ts';
import { CorruptStateFault, HeldFault } from '../faults.ts';
import { comparePositions, type Position } from '../position.ts';
import { RecentChanges } from '../state/recent-changes.ts';
import { type OwnerMemory, type OwnerPorts, quarantinedBy, rememberedAt } from './owner-memory.ts';
import { decidePlan, type PlanDecision } from './plan-change.ts';
import type { SliceIdentity } from './replay-log.ts';
import { hasLostNothing, type Standing } from './rollback-loss.ts';

export type Reached =
  | {
      readonly outcome: 'reached';
      readonly memory: OwnerMemory;
      /** It was built from the stores. */
      readonly restored: boolean;
      /** HEAD went back to this epoch on the way. */
      readonly rewoundTo: number | null;
    }
  /** HEAD moved meanwhile: read it again. */
  | { readonly outcome: 'lost' };

export class Rebase {
  readonly #identity: SliceIdentity;
  readonly #plan: Plan;
  readonly #decoder: RecordDecoder;
  readonly #ports: OwnerPorts;
  /** The slice's birth record is durable. */
  #isBorn = false;

  constructor(identity: SliceIdentity, plan: Plan, decoder: RecordDecoder, ports: OwnerPorts) {
    this.#identity = identity;
    this.#plan = plan;
    this.#decoder = decoder;
    this.#ports = ports;
  }

  /** HEAD as it is now; a new slice gets its first. Throws `LostStateFault` where a slice that is not new has none. */
  async readHead(): Promise<Head> {
    return (await this.lookAtHead()).head;
  }

  /** The same, with what stands beside it. */
  async lookAtHead(): Promise<{ readonly head: Head; readonly hold: string | null }> {
    const { sliceId, shardId } = this.#identity;
    const item = await this.#ports.heads.readHead(sliceId);
    const head = item === null ? await this.#begin() : parseHead(item);
    if (head.epoch === 0 && !this.#isBorn) await recordBirth(head, this.#ports.blobs.objects);
    this.#isBorn = true;
    assert(head.sliceId === sliceId && head.shardId === shardId, 'head-is-of-this-slice');
    return { head, hold: item?.hold ?? null };
  }

  /**
   * A memory at `head`, out of `memory` where that is of use: it is not to be used again. Throws `HeldFault` where another
   * plan is active, `CorruptStateFault` where no epoch can be read and replayed.
   */
  async reach(head: Head, memory: OwnerMemory | null): Promise<Reached> {
    const plan = await this.#decidePlan(head);
    if (plan.kind === 'rollback') {
      const rolledBack = await this.#rollBack(head, plan);
      if (rolledBack !== null) return rolledBack;
    }
    if (memory !== null && memory.switchTo === null && isSameEpoch(memory.head, head)) {
      memory.head = head;
      return { outcome: 'reached', memory, restored: false, rewoundTo: null };
    }
    const switchTo = plan.kind === 'same' ? null : plan.ordinal;
    try {
      return await this.#follow(head, memory, switchTo);
    } catch (fault) {
      if (!(fault instanceof CorruptStateFault)) throw fault;
      return this.#afterDamage(head, switchTo, fault);
    }
  }

  #remember(head: Head, checkpoint: Checkpoint): OwnerMemory {
    return rememberedAt(head, checkpoint, this.#decoder);
  }

  async #begin(): Promise<Head> {
    const { heads, blobs, nonces, plans, shards } = this.#ports;
    const { sliceId, shardId } = this.#identity;
    const active = await plans.active();
    if (active === null) throw planIsLost(`slice ${sliceId} has no HEAD`);
    const planHash = this.#plan.hash;
    if (active.hash !== planHash) throw this.#held(active.hash);
    return beginSlice(sliceId, { heads, objects: blobs.objects }, async () => {
      const range = await shards.hashRange(shardId);
      const streamId = await shards.streamId();
      const planned = { planOrdinal: active.ordinal, planHash };
      return firstHead({ ...this.#identity, range, streamId, ...planned, nonce: nonces.nonce() });
    });
  }

  async #decidePlan(head: Head): Promise<Exclude<PlanDecision, { kind: 'held' }>> {
    if (head.planHash === this.#plan.hash) return { kind: 'same' };
    const { plans, clock, knobs } = this.#ports;
    const active = await plans.active();
    if (active === null) throw planIsLost(`slice ${head.sliceId} was written by another plan`);
    const nowMs = clock.nowMs();
    const decision = decidePlan(head, this.#plan.hash, active, nowMs, knobs.rollbackGraceMs);
    if (decision.kind === 'held') throw this.#held(decision.active);
    return decision;
  }

  async #follow(head: Head, memory: OwnerMemory | null, switchTo: number | null): Promise<Reached> {
    const { blobs } = this.#ports;
    let checkpoint: Checkpoint;
    let restored = true;
    if (memory === null || switchTo !== null) {
      checkpoint = await restore(this.#plan, head, blobs);
    } else {
      memory.state.undo();
      checkpoint = await advance(memory.checkpoint, memory.head.delta, head, blobs);
      restored = checkpoint.image !== memory.checkpoint.image;
    }
    if (switchTo !== null) this.#adoptPlan(head, checkpoint);
    const next = this.#remember(head, checkpoint);
    next.followsSource = (memory?.followsSource ?? false) && !restored;
    next.switchTo = switchTo;
    return { outcome: 'reached', memory: next, restored, rewoundTo: null };
  }

  /** What HEAD names cannot be read. Once more, as the bytes may only have come badly; then the newest epoch that can. */
  async #afterDamage(
    head: Head,
    switchTo: number | null,
    damage: CorruptStateFault,
  ): Promise<Reached> {
    const now = await this.readHead();
    if (now.revision !== head.revision) return { outcome: 'lost' };
    try {
      return await this.#follow(head, null, switchTo);
    } catch (fault) {
      if (!(fault instanceof CorruptStateFault)) throw fault;
    }
    return this.#fallBack(head, switchTo, damage);
  }

  async #fallBack(
    head: Head,
    switchTo: number | null,
    damage: CorruptStateFault,
  ): Promise<Reached> {
    for await (const sound of soundEpochs(this.#plan, head, this.#ports.blobs)) {
      const { checkpoint, base, epoch } = sound;
      if (epoch === head.epoch && !agreesWith(head, checkpoint)) continue;
      if (!(await this.#isReplayable(checkpoint.image.progress.position, head))) continue;
      if (epoch === head.epoch) {
        const { quarantined } = checkpoint;
        await this.#ports.quarantine.put(quarantined.map((record) => quarantinedBy(head, record)));
      }
      const planOrdinal = switchTo ?? head.planOrdinal;
      const previous = switchTo === null ? head.previous : null;
      return this.#rewind(head, { checkpoint, base, planOrdinal, previous }, epoch);
    }
    // A slow owner may find that what it needs was collected after others went on.
    if ((await this.readHead()).revision !== head.revision) return { outcome: 'lost' };
    const without = await this.#withoutLost(head, switchTo);
    if (without !== null) return without;
    throw new CorruptStateFault(
      `${damage.message}; and no older epoch of ${head.sliceId} can be read whole and replayed from the stream`,
      {
        hint: 'put back what is missing from a copy, or start with an empty data folder',
        cause: damage,
      },
    );
  }

  /** HEAD's epoch without the parts that are lost for good; null where more than these is damaged. */
  async #withoutLost(head: Head, switchTo: number | null): Promise<Reached | null> {
    try {
      const without = await loadWithoutLost(this.#plan, head, this.#ports.blobs);
      if (without === null) return null;
      const { checkpoint, partCount } = without;
      if (switchTo !== null) this.#adoptPlan(head, checkpoint);
      const memory = this.#remember(head, checkpoint);
      memory.switchTo = switchTo;
      memory.lostParts = partCount;
      return { outcome: 'reached', memory, restored: true, rewoundTo: null };
    } catch (fault) {
      if (fault instanceof CorruptStateFault) return null;
      throw fault;
    }
  }

  #adoptPlan(head: Head, { image, parts }: Checkpoint): void {
    image.adoptPlan(head.epoch + 1);
    parts.follow(image, head.epoch + 1);
  }

  /** Where HEAD stands, as this plan reads it; null if it cannot be read. */
  async #standingOf(head: Head): Promise<Standing | null> {
    try {
      const { image } = await restore(this.#plan, head, this.#ports.blobs);
      const { lives, dedupe, progress } = image;
      return { lives, dedupe, progress };
    } catch (fault) {
      if (fault instanceof CorruptStateFault) return null;
      throw fault;
    }
  }

  /**
   * Null if the slice goes over as to any other plan: nothing was lost since this one was left, or where it was left cannot
   * be read or replayed any more.
   */
  async #rollBack(
    head: Head,
    { to, ordinal }: Extract<PlanDecision, { kind: 'rollback' }>,
  ): Promise<Reached | null> {
    if (!(await this.#isReplayable(to.cursor, head))) return null;
    const now = await this.#standingOf(head);
    // Twice, as the bytes may only have come badly: what is not gone on from now is lost.
    const checkpoint = (await this.#loadWhole(head, to)) ?? (await this.#loadWhole(head, to));
    if (checkpoint === null) return null;
    if (now !== null && hasLostNothing(this.#plan, checkpoint.image, now)) return null;
    const previous = leaving(head, this.#ports.clock.nowMs());
    const target = { checkpoint, base: to.base, planOrdinal: ordinal, previous };
    return this.#rewind(head, target, to.delta.epoch);
  }

  async #loadWhole(head: Head, to: PreviousPlan): Promise<Checkpoint | null> {
    try {
      return await load(this.#plan, { ...to, sliceId: head.sliceId }, this.#ports.blobs);
    } catch (fault) {
      if (fault instanceof CorruptStateFault) return null;
      throw fault;
    }
  }

  async #rewind(head: Head, target: RewindTarget, epoch: number): Promise<Reached> {
    const rewound = await rewind(head, target, this.#ports);
    if (rewound.outcome === 'refused') return { outcome: 'lost' };
    const since = { recent: new RecentChanges(), chain: rewound.chain, quarantined: [] };
    const checkpoint = { ...target.checkpoint, ...since };
    const memory = this.#remember(rewound.head, checkpoint);
    return { outcome: 'reached', memory, restored: true, rewoundTo: epoch };
  }

  async #isReplayable(from: Position, head: Head): Promise<boolean> {
    if (comparePositions(from, head.delivered) >= 0) return true;
    const answer = await this.#ports.source.readAfter(this.#identity.shardId, from, 1);
    return answer.outcome === 'records';
  }

  #held(active: string): HeldFault {
    return new HeldFault(
      `slice ${this.#identity.sliceId} runs by plan ${active.slice(0, 8)}, this code carries ${this.#plan.hash.slice(0, 8)}`,
      {
        hint: 'another pipeline file was activated since: run with that one, or activate this one',
      },
    );
  }
}

/** True if a memory of `mine`, with what it has not committed, is still right under `current`. */
function isSameEpoch(mine: Head, current: Head): boolean {
  const sameDelta =
    mine.delta === null
      ? current.delta === null
      : current.delta !== null && sameBlob(mine.delta, current.delta);
  return sameDelta && mine.timeline === current.timeline && mine.epoch === current.epoch;
}
