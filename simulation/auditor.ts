/**
 * The auditor: knows every HEAD that was ever written, and holds what a restore of it gives against a plain recount of
 * exactly the log's prefix up to its cursor. It sees the stores as they are, past all faults, and takes no virtual time.
 */
import { type Head, parseHead } from '../core/checkpoint/head.ts';
import { restore } from '../core/checkpoint/restore.ts';
import { RunCache } from '../core/checkpoint/run-cache.ts';
import type { Plan, ViewPlan } from '../core/definition/plan.ts';
import { columnId, matchViews } from '../core/definition/view-match.ts';
import type { HeadItem } from '../core/ports.ts';
import { comparePositions, countUpTo, type Position, START } from '../core/position.ts';
import { parseViewRequest } from '../core/query/view-request.ts';
import { readRows } from '../core/query/view-rows.ts';
import type { SharedPorts } from './faulty-ports.ts';
import { harmOf } from './harmful-record.ts';
import { type EpochFacts, Lineage } from './lineage.ts';
import {
  differenceOf,
  type LoggedRecord,
  mergeRecounts,
  type RecountRow,
  recountShard,
  rowId,
  type ShardRecount,
} from './recount.ts';
import { DigestRecount, type RecountedDigest } from './recount-digest.ts';
import { brokenRetention } from './retention-check.ts';
import { recordsUpTo, type SimShard, type SimStream } from './sim-stream.ts';

/** Every record that each shard ever took. */
export type ShardLogs = Pick<SimStream, 'shard' | 'shards'>;

/** A finding: `kind` names the broken promise. */
export type Report = (kind: string, detail: string) => void;

export interface EpochNumber extends Pick<Head, 'sliceId' | 'shardId' | 'timeline' | 'epoch'> {
  readonly cursor: Position;
}

const ROWS_MAX = '10000';

export class Auditor {
  /** By hash: every plan that may be active. */
  readonly #plans: ReadonlyMap<string, Plan>;
  readonly #stream: ShardLogs;
  /** With blobs as they were written. */
  readonly #stores: SharedPorts;
  /** Infinity: HEADs are known, and nothing else. */
  readonly #auditEvery: number;
  readonly #report: Report;
  readonly #mayForgetPlan: (before: Head) => boolean;
  readonly #onAnswerWhileHeld: (head: Head) => void;
  readonly #savesAlways: boolean;
  readonly #heads = new Map<string, Head>();
  readonly #lineage: Lineage;
  /** By slice: the last write of HEAD, and which process fenced the generation that is. */
  readonly #lastWrites = new Map<string, { readonly before: Head | null; readonly head: Head }>();
  readonly #owners = new Map<string, string>();
  /** By slice, the generation that an event names: whichever environment gets it is an owner of that. */
  readonly #handedOn = new Map<string, number>();
  readonly #recounts = new Map<string, ShardRecount>();
  #digests = new DigestRecount();
  #written = 0;
  #audited = 0;

  constructor(
    plans: readonly Plan[],
    stream: ShardLogs,
    stores: SharedPorts,
    auditEvery: number,
    report: Report,
    mayRefuse: () => boolean,
    mayForgetPlan: (before: Head) => boolean,
    onAnswerWhileHeld: (head: Head) => void,
    savesAlways: boolean,
  ) {
    this.#savesAlways = savesAlways;
    this.#onAnswerWhileHeld = onAnswerWhileHeld;
    this.#plans = new Map(plans.map((plan) => [plan.hash, plan]));
    this.#stream = stream;
    this.#stores = stores;
    this.#auditEvery = auditEvery;
    this.#report = report;
    this.#mayForgetPlan = mayForgetPlan;
    const harm = (shardId: string, position: Position) => {
      const { log } = stream.shard(shardId);
      return harmOf(log[countUpTo(log, position) - 1]?.data ?? new Uint8Array());
    };
    this.#lineage = new Lineage(this.#plans, stores.blobs, stores.inbox, mayRefuse, harm);
  }

  /** HEADs that were restored and compared. */
  get auditedCount(): number {
    return this.#audited;
  }

  /** The HEAD of a shard's slice as it stands in the store. */
  head(shardId: string): Head | null {
    return this.#heads.get(shardId) ?? null;
  }

  /** How far each shard's slice is, for a person. */
  standing(): string {
    const texts = this.#stream.shards.map(({ id, log }) => {
      const head = this.head(id);
      return `${id} has ${head?.recordCount ?? 0} of ${log.length} records at epoch ${head?.epoch ?? 0}`;
    });
    return texts.join('; ');
  }

  /** To be told of each HEAD that the store has taken. */
  written(item: HeadItem): void {
    const head = parseHead(item);
    const before = this.#heads.get(head.shardId);
    this.#heads.set(head.shardId, head);
    this.#lastWrites.set(head.sliceId, { before: before ?? null, head });
    if (before !== undefined) this.#checkSuccession(before, head);
    if (this.#savesAlways && head.status === 'OPEN') this.#checkSaved(head);
    this.#written++;
    if (this.#auditEvery === Number.POSITIVE_INFINITY) return;
    void this.#follow(head, this.#written % this.#auditEvery === 0);
  }

  /** To be told that a recovery goes on by events that name its generation. */
  handedOn(sliceId: string, generation: number): void {
    this.#handedOn.set(sliceId, generation);
  }

  /** To be told who made the last write of a slice's HEAD; true if it completed an epoch. */
  writtenBy(sliceId: string, actor: string): boolean {
    const { before, head } = this.#lastWrites.get(sliceId) ?? {};
    if (before === undefined || before === null || head === undefined) return false;
    const isEpoch = head.epoch > before.epoch && head.timeline === before.timeline;
    const isTaken = head.generation > before.generation || head.planHash !== before.planHash;
    const isOwner =
      this.#owners.get(sliceId) === actor || this.#handedOn.get(sliceId) === before.generation;
    if (isTaken) this.#owners.set(sliceId, actor);
    else if (isEpoch && before.status === 'RECOVERING' && !isOwner) {
      this.#report('recovered by another than its owner', `${sliceId} by ${actor}`);
    }
    return isEpoch;
  }

  async #follow(head: Head, audits: boolean): Promise<void> {
    await this.learn(head);
    if (audits) await this.audit(head);
  }

  /** Where the epoch of a HEAD comes from, while what it names is there. */
  async learn(head: Head): Promise<void> {
    try {
      await this.#lineage.learn(head);
    } catch (fault) {
      this.#report('unreadable state', `${head.sliceId} epoch ${head.epoch}: ${stackOf(fault)}`);
    }
  }

  /** The stores or the stream are others from now on: HEADs may be older, and logs shorter. */
  forget(): void {
    this.#heads.clear();
    this.#lastWrites.clear();
    this.#recounts.clear();
    this.#digests = new DigestRecount();
  }

  /** The mapping was told that all up to `last` is done. */
  answered(shard: SimShard, last: Position): void {
    const head = this.head(shard.id);
    if (head !== null && comparePositions(last, head.delivered) <= 0) return;
    this.#report('answered before it was durable', `${shard.id} up to ${last.sequenceNumber}`);
  }

  /** Records that its epoch quarantined unread, with the reason. */
  condemnedAt(head: Head): ReadonlyMap<string, string> {
    return this.#lineage.of(head).condemned;
  }

  /** What a HEAD's epoch must hold. */
  recountAt(head: Head): ShardRecount {
    return this.#recount(head.shardId, head.cursor, this.#lineage.of(head));
  }

  /** Of what a slice at `cursor` has folded. */
  digestAt(shardId: string, cursor: Position): RecountedDigest {
    const shard = this.#stream.shard(shardId);
    return this.#digests.at(shardId, shard.log, recordsUpTo(shard, cursor));
  }

  /** As `recountAt`, of an epoch that only its number is known of. */
  recountOfEpoch(epoch: EpochNumber): ShardRecount {
    const { sliceId, shardId, timeline, cursor } = epoch;
    return this.#recount(shardId, cursor, this.#lineage.at(sliceId, timeline, epoch.epoch));
  }

  #recount(shardId: string, cursor: Position, facts: EpochFacts): ShardRecount {
    const shard = this.#stream.shard(shardId);
    const count = recordsUpTo(shard, cursor);
    const key = `${shardId} ${count} ${facts.text}`;
    let recount = this.#recounts.get(key);
    if (recount === undefined) {
      const records: readonly LoggedRecord[] = shard.log.slice(0, count);
      const { redriven, condemned, plans } = facts;
      const [first, ...laterPlans] = plans;
      const plan = first?.plan ?? ([...this.#plans.values()][0] as Plan);
      recount = recountShard(plan, records, redriven, { condemned, laterPlans });
      this.#recounts.set(key, recount);
    }
    return recount;
  }

  /** Restores `head` and compares all of it. */
  async audit(head: Head): Promise<void> {
    this.#audited++;
    const where = `${head.sliceId} epoch ${head.epoch}`;
    try {
      const difference = await this.#differenceAt(head);
      if (difference !== null) this.#report('wrong state', `${where}: ${difference}`);
      const broken = await brokenRetention(head, this.#lineage.basesOf(head), this.#stores.blobs);
      if (broken !== null) this.#report('what HEAD must keep is not kept', `${where}: ${broken}`);
    } catch (fault) {
      this.#report('unreadable state', `${where}: ${stackOf(fault)}`);
    }
  }

  /** Where nothing may wait unsaved, HEAD answers for nothing that its epoch does not hold. */
  #checkSaved({ sliceId, cursor, delivered }: Head): void {
    if (comparePositions(cursor, delivered) === 0) return;
    this.#report('answered without a checkpoint', `${sliceId} up to ${delivered.sequenceNumber}`);
  }

  #checkSuccession(before: Head, head: Head): void {
    const { sliceId } = head;
    if (isAnswerOnly(before, head) && before.status === 'RECOVERING') {
      this.#onAnswerWhileHeld(head);
    }
    if (comparePositions(head.delivered, before.delivered) < 0) {
      this.#report('delivered went back', sliceId);
    }
    if (head.revision !== before.revision + 1) this.#report('a revision was skipped', sliceId);
    if (head.epoch !== before.epoch && head.epoch !== before.epoch + 1) {
      this.#report('an epoch was skipped or used twice', sliceId);
    }
    const isRollback =
      head.planHash !== before.planHash && before.previous?.planHash === head.planHash;
    const losesState = isRollback && this.#losesState(before.planHash, head.planHash);
    if (losesState && head.timeline === before.timeline && !this.#mayForgetPlan(before)) {
      this.#report('a rollback lost what came since', sliceId);
    }
    if (before.status === 'RECOVERING' && head.status === 'OPEN') {
      const reached = comparePositions(head.cursor, before.delivered) >= 0;
      if (!reached) this.#report('opened before it had caught up', sliceId);
    }
    const isSameTimeline = head.timeline === before.timeline;
    const isBehind = comparePositions(head.cursor, head.delivered) < 0;
    if (!isSameTimeline && isBehind && head.status !== 'RECOVERING') {
      this.#report('went back and is open', sliceId);
    }
    if (isSameTimeline && comparePositions(head.cursor, before.cursor) < 0) {
      this.#report('cursor went back', sliceId);
    }
  }

  /** Whether some of what the second plan keeps did not go on under the first. */
  #losesState(between: string, back: string): boolean {
    const [left, wanted] = [this.#plans.get(between) as Plan, this.#plans.get(back) as Plan];
    const matches = matchViews(left.views, wanted.views).from;
    return wanted.views.some(({ columns }, index) => {
      const ids = left.views[matches[index] as number]?.columns.map(columnId) ?? [];
      return columns.some((column) => !ids.includes(columnId(column)));
    });
  }

  async #differenceAt(head: Head): Promise<string | null> {
    const shard = this.#stream.shard(head.shardId);
    const count = recordsUpTo(shard, head.cursor);
    const at = shard.log[count - 1] ?? START;
    if (comparePositions(at, head.cursor) !== 0) return 'the cursor is no record of the shard';
    const recount = this.recountAt(head);
    const [found, sum] = [
      digestText(head.digest.value()),
      digestText(this.digestAt(head.shardId, at)),
    ];
    if (found !== sum) return `digest ${found}, expected ${sum}`;
    if (head.recordCount !== count) return `${head.recordCount} records, expected ${count}`;
    if (head.watermarkMs !== recount.watermarkMs) {
      return `watermark ${head.watermarkMs}, expected ${recount.watermarkMs}`;
    }
    const counts = countsText(head.counts);
    const expectedCounts = countsText(recount.counts);
    if (counts !== expectedCounts) return `${counts}, expected ${expectedCounts}`;
    for (const name of ['partlyQuarantined', 'partlyDropped', 'pastDedupe'] as const) {
      if (head[name] !== recount[name]) {
        return `${name} is ${head[name]}, expected ${recount[name]}`;
      }
    }
    const plan = this.#plans.get(head.planHash) as Plan;
    const checkpoint = await restore(plan, head, this.#stores.blobs);
    const { highMs } = checkpoint.image.progress;
    if (highMs !== recount.highMs) return `high mark ${highMs}, expected ${recount.highMs}`;
    const expected = mergeRecounts(plan, [recount]);
    for (const view of plan.views) {
      const found = await this.#rowsOf(view, head, checkpoint);
      const difference = differenceOfView(view, expected.get(view.name), found);
      if (difference !== null) return `view ${view.name}: ${difference}`;
    }
    return null;
  }

  async #rowsOf(
    view: ViewPlan,
    head: Head,
    checkpoint: Awaited<ReturnType<typeof restore>>,
  ): Promise<FoundRows> {
    const { plan } = checkpoint.image;
    const request = parseViewRequest(plan, view.name, [['limit', ROWS_MAX]]);
    if (!request.ok) throw new Error(request.problem.detail);
    const pinned = { sliceId: head.sliceId };
    const runs = new RunCache(this.#stores.blobs);
    const reading = { runs, isLost: () => false };
    const page = await readRows(request.value, [{ pinned, checkpoint }], reading);
    const names = view.aggregates.map(({ name }) => name);
    return new Map(
      page.rows.map(({ values, results, position }) => {
        const startMs = view.window.kind === 'all' ? null : position.windowStartMs;
        const entries = results.map(({ value }, index) => [names[index], value]);
        return [rowId(values, startMs), { values: Object.fromEntries(entries) }];
      }),
    );
  }
}

function digestText({ count, sum }: RecountedDigest): string {
  return `${sum} of ${count} records`;
}

/** `head` answers for more than `before` did, and nothing else. */
function isAnswerOnly(before: Head, head: Head): boolean {
  const isSame = head.epoch === before.epoch && head.generation === before.generation;
  return isSame && comparePositions(head.delivered, before.delivered) > 0;
}

export type FoundRows = ReadonlyMap<string, { readonly values: Record<string, unknown> }>;

/** What differs between a view's rows and what they must be; null if nothing. */
export function differenceOfView(
  view: ViewPlan,
  expected: ReadonlyMap<string, RecountRow> | undefined,
  found: FoundRows,
): string | null {
  for (const [id, row] of expected ?? []) {
    const difference = differenceOf(view, row, found.get(id));
    if (difference !== null) return `row ${id}: ${difference}`;
  }
  for (const [id, row] of found) {
    if (expected?.has(id)) continue;
    return `row ${id}: ${differenceOf(view, undefined, row) ?? 'unexpected'}`;
  }
  return null;
}

function countsText(counts: object): string {
  const classes = Object.entries(counts as Record<string, number>).filter(([, count]) => count > 0);
  return (
    classes
      .map(([name, count]) => `${count} ${name}`)
      .sort()
      .join(', ') || 'nothing'
  );
}

export function stackOf(fault: unknown): string {
  return fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
}
