/**
 * The oracle: what folding exactly these records of one shard must give, by plain and slow code. It is a second
 * implementation of the product's rules and shares no code with the fold, its state, its decoder or its aggregates.
 *
 * Rows keep every value that was added to them; what the aggregates say of those is computed when it is asked for.
 */
import type { Plan, ViewPlan } from '../core/definition/plan.ts';
import type { RecordCounts } from '../core/state/counters.ts';
import {
  isHeartbeat,
  type JudgedRecord,
  type LoggedRecord,
  RecordJudge,
  recordId,
  selects,
} from './recount-record.ts';
import { emptyViews, groupKeyOf, type RecountRow, type Rows, rowOf } from './recount-row.ts';
import { calendarOf, type LocalCalendar, type WindowSpan, windowAt } from './recount-time.ts';
import { newViews, type RecountView, type RecountViews, viewsUnder } from './recount-views.ts';

export { differenceOf } from './recount-difference.ts';
export { type JudgedRecord, type LoggedRecord, recordId } from './recount-record.ts';
export { type RecountRow, rowId } from './recount-row.ts';

/** A quarantined record that was brought back, once so many of the shard's records had been folded. */
export interface Redriven {
  readonly afterCount: number;
  readonly sequenceNumber: string;
  readonly subSequence: number;
}

export type RecordClass = keyof RecordCounts;

export interface ShardRecount {
  /** −Infinity before the first record. */
  readonly watermarkMs: number;
  /** The latest time of a record that was sound and no duplicate, since times are read as they are; −Infinity before the first. */
  readonly newestMs: number;
  /** The same without redriven ones. */
  readonly highMs: number;
  readonly counts: RecordCounts;
  /** Records that wait in the quarantine for some views while others have folded them. */
  readonly partlyQuarantined: number;
  /** Records that some views have folded and others dropped as late. */
  readonly partlyDropped: number;
  /** Records that were folded and whose ids would not have been known any more. */
  readonly pastDedupe: number;
  /** Every record that was ever quarantined, by `recordId`: why. Redriven ones stay listed. */
  readonly quarantined: Map<string, string>;
  /** What became of records that were brought back, by `recordId`; one that is still bad is `quarantined`. */
  readonly redriven: Map<string, RecordClass>;
  readonly views: ReadonlyMap<string, ReadonlyMap<string, RecountRow>>;
  /** The views as another plan sees them, which the shard has not gone over to: those that it would begin are left out. */
  seenBy(plan: Plan): RecountViews;
}

/** What became of one record at its turn. */
export interface RecordFate {
  readonly record: LoggedRecord;
  readonly outcome: RecordClass;
  /** Why it was quarantined or refused, otherwise null. */
  readonly reason: string | null;
  /** Null where the record could not be read, and of a heartbeat. */
  readonly judged: JudgedRecord | null;
  /** Views that select it and for which it came too late. */
  readonly lateFor: readonly ViewPlan[];
  /** Before the record. */
  readonly watermarkMs: number;
  readonly newestMs: number;
}

/** From here on the shard's slice ran by another plan. */
export interface PlanSpan {
  readonly plan: Plan;
  readonly afterCount: number;
  /** Redrives that were done before. */
  readonly redrivenBefore: number;
}

export interface RecountOptions {
  readonly laterPlans?: readonly PlanSpan[];
  /** Quarantined unread, by `recordId`, with a reason. */
  readonly condemned?: ReadonlyMap<string, string>;
  readonly observe?: (fate: RecordFate) => void;
}

/** What folding exactly these records of one shard, in this order, must give. */
export function recountShard(
  plan: Plan,
  records: readonly LoggedRecord[],
  redriven: readonly Redriven[] = [],
  { condemned, observe, laterPlans = [] }: RecountOptions = {},
): ShardRecount {
  const recount = new Recount(plan);
  const inOrder = [...redriven].sort((a, b) => a.afterCount - b.afterCount);
  let plans = 0;
  let requests = 0;
  /** Changes of plan and redrives that were done once so many records were folded, in their order. */
  const interrupt = (count: number) => {
    for (;;) {
      const span = laterPlans[plans];
      const request = inOrder[requests];
      if (span !== undefined && span.afterCount <= count && span.redrivenBefore <= requests) {
        recount.adopt(span.plan);
        plans++;
      } else if (request !== undefined && request.afterCount <= count) {
        recount.redrive(request, records);
        requests++;
      } else return;
    }
  };
  for (const [index, record] of records.entries()) {
    interrupt(index);
    const fate = recount.fold(record, condemned?.get(recordId(record)));
    observe?.(fate);
  }
  interrupt(Number.POSITIVE_INFINITY);
  return recount;
}

/** The rows of a whole pipeline: what the shards hold of a group together. */
export function mergeRecounts(
  plan: Plan,
  shards: readonly ShardRecount[],
): ReadonlyMap<string, ReadonlyMap<string, RecountRow>> {
  const merged = emptyViews(plan);
  for (const shard of shards) {
    for (const [name, { rows }] of shard.seenBy(plan)) {
      for (const row of rows.values()) {
        const { view, key, windowStartMs } = row;
        rowOf(merged.get(name) as Rows, view, key, windowStartMs).addAll(row);
      }
    }
  }
  return merged;
}

/** What the fold of one record says of it. */
type Outcome = Pick<RecordFate, 'outcome'> & Partial<RecordFate>;

class Recount implements ShardRecount {
  #plan: Plan;
  #judge: RecordJudge;
  #calendar: LocalCalendar;
  /** By id: the time from which `dedupe.within` is counted. */
  readonly #idCountedFromMs = new Map<string, number>();
  /** Views that put a record aside as late, by `recordId`; the id of one that folded elsewhere is its own. */
  readonly #aside = new Map<string, { readonly views: RecountView[]; readonly folded: boolean }>();
  /** Until when heartbeats show that no record came; −Infinity before they do. */
  #silentUntilMs = Number.NEGATIVE_INFINITY;
  /** The stamp of the heartbeat that may bear out the next one. */
  #witnesses: number[] = [];
  watermarkMs = Number.NEGATIVE_INFINITY;
  newestMs = Number.NEGATIVE_INFINITY;
  highMs = Number.NEGATIVE_INFINITY;
  readonly counts: RecordCounts = {
    folded: 0,
    duplicates: 0,
    late: 0,
    quarantined: 0,
    unmatched: 0,
    heartbeats: 0,
  };
  partlyQuarantined = 0;
  partlyDropped = 0;
  pastDedupe = 0;
  readonly quarantined = new Map<string, string>();
  readonly redriven = new Map<string, RecordClass>();
  #views: RecountViews;
  #newestArrivalMs = Number.NEGATIVE_INFINITY;
  /** The newest arrival of what was folded while times were read otherwise. */
  #otherArrivalMs = Number.NEGATIVE_INFINITY;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#calendar = calendarOf(plan.zone);
    this.#judge = new RecordJudge(plan, this.#calendar);
    this.#views = newViews(plan);
  }

  get views(): ReadonlyMap<string, Rows> {
    return new Map([...this.#views].map(([name, { rows }]) => [name, rows]));
  }

  seenBy(plan: Plan): RecountViews {
    return plan.hash === this.#plan.hash ? this.#views : viewsUnder(plan, this.#views, null);
  }

  /** What means the same goes on, all else begins here; every policy holds from here on. */
  adopt(plan: Plan): void {
    if (timesOf(plan) !== timesOf(this.#plan)) {
      this.#otherArrivalMs = this.#newestArrivalMs;
      this.newestMs = Number.NEGATIVE_INFINITY;
      this.highMs = Number.NEGATIVE_INFINITY;
    }
    this.#views = viewsUnder(plan, this.#views, this.#beginsMs(plan));
    const [before, after] = [this.#plan.dedupe, plan.dedupe];
    const isSameId =
      before !== null && after !== null && before.path.join('\0') === after.path.join('\0');
    if (!isSameId) this.#idCountedFromMs.clear();
    else if (before.withinMs !== after.withinMs) {
      for (const [id, ms] of this.#idCountedFromMs) {
        if (ms + before.withinMs <= this.watermarkMs) this.#idCountedFromMs.delete(id);
      }
    }
    this.#plan = plan;
    this.#calendar = calendarOf(plan.zone);
    this.#judge = new RecordJudge(plan, this.#calendar);
  }

  fold(record: LoggedRecord, condemned?: string): RecordFate {
    const { watermarkMs, newestMs } = this;
    const fate = this.#foldAny(record, condemned);
    this.counts[fate.outcome]++;
    this.#newestArrivalMs = Math.max(this.#newestArrivalMs, record.arrivalMs);
    return { reason: null, judged: null, lateFor: [], ...fate, record, watermarkMs, newestMs };
  }

  /** What begins under a plan lacks no record of this time or later. */
  #beginsMs({ time, skewMs }: Plan): number {
    const others = this.#otherArrivalMs;
    if (others === Number.NEGATIVE_INFINITY) return this.newestMs + 1;
    if (time !== null && skewMs === null) return Number.POSITIVE_INFINITY;
    return Math.max(this.newestMs, others + (skewMs ?? 0)) + 1;
  }

  #foldAny(logged: LoggedRecord, condemned: string | undefined): Outcome {
    const { idleMs, latenessMs } = this.#plan;
    if (condemned === undefined && isHeartbeat(logged)) {
      if (idleMs !== null) this.#beat(logged.arrivalMs, idleMs);
      this.watermarkMs = Math.max(
        this.watermarkMs,
        this.#silentUntilMs - latenessMs - (idleMs ?? Number.POSITIVE_INFINITY),
      );
      return { outcome: 'heartbeats' };
    }
    // A record that arrived before the last heartbeat's stamp gives that stamp the lie.
    this.#witnesses = this.#witnesses.map((stamp) => Math.min(stamp, logged.arrivalMs));
    const id = recordId(logged);
    const judged = condemned ?? this.#judge.judge(logged);
    if (typeof judged !== 'string') {
      return this.#isKnown(judged)
        ? { outcome: 'duplicates', judged }
        : this.#foldSound(id, judged);
    }
    this.quarantined.set(id, judged);
    return { outcome: 'quarantined', reason: judged };
  }

  /**
   * A heartbeat that is no later than the idle bound after what counts, counts. A later one waits for a witness: a heartbeat
   * before it, by a quarter of the bound (15 s at most), whose stamp nothing since has denied; that stamp counts then.
   */
  #beat(stamp: number, idleMs: number): void {
    const [witness] = this.#witnesses;
    const isNear = stamp - this.#silentUntilMs <= idleMs;
    const isWitnessed = witness !== undefined && stamp - witness >= Math.min(idleMs / 4, 15_000);
    if (isNear) this.#silentUntilMs = Math.max(this.#silentUntilMs, stamp);
    else if (isWitnessed) this.#silentUntilMs = Math.max(this.#silentUntilMs, witness);
    const staysWitness = !isNear && !isWitnessed && witness !== undefined;
    this.#witnesses = [staysWitness ? Math.min(witness, stamp) : stamp];
  }

  #foldSound(id: string, record: JudgedRecord): Outcome {
    const selecting = this.#plan.views.filter((view) => selects(view, record));
    const lateFor = selecting.filter(
      (view) => this.#windowOf(view, record).endMs <= this.watermarkMs,
    );
    const taking = selecting.filter((view) => view.late === 'update' || !lateFor.includes(view));
    const aside = lateFor.filter((view) => view.late === 'side');
    for (const view of taking) this.#put(view, record);
    if (taking.length > 0) {
      if (lateFor.some(({ late }) => late === 'drop')) this.partlyDropped++;
      const { dedupe } = this.#plan;
      const isPast = dedupe !== null && record.timeMs + dedupe.withinMs <= this.watermarkMs;
      if (isPast && record.id !== null) this.pastDedupe++;
      this.#keepId(record);
    }
    if (aside.length > 0) {
      this.quarantined.set(id, 'late');
      const views = aside.map(({ name }) => this.#views.get(name) as RecountView);
      this.#aside.set(id, { views, folded: taking.length > 0 });
      if (taking.length > 0) this.partlyQuarantined++;
    }
    this.newestMs = Math.max(this.newestMs, record.timeMs);
    this.highMs = Math.max(this.highMs, record.timeMs);
    this.watermarkMs = Math.max(this.watermarkMs, record.timeMs - this.#plan.latenessMs);
    const reason = aside.length > 0 ? 'late' : null;
    if (taking.length > 0) return { outcome: 'folded', reason, judged: record, lateFor };
    if (selecting.length === 0) return { outcome: 'unmatched', judged: record };
    return { outcome: aside.length > 0 ? 'quarantined' : 'late', reason, judged: record, lateFor };
  }

  /** A record comes back once; it folds although its windows have closed, and moves no watermark. */
  redrive(wanted: Redriven, records: readonly LoggedRecord[]): void {
    const id = recordId(wanted);
    const before = this.redriven.get(id);
    if (!this.quarantined.has(id) || (before !== undefined && before !== 'quarantined')) return;
    const logged = records.find((record) => recordId(record) === id);
    const judged = logged === undefined ? 'not-json' : this.#judge.judge(logged);
    if (typeof judged === 'string') {
      this.redriven.set(id, 'quarantined');
      return;
    }
    const aside = this.#aside.get(id);
    const isPartly = aside?.folded === true;
    const outcome =
      !isPartly && this.#isKnown(judged) ? 'duplicates' : this.#bringBack(judged, aside?.views);
    this.redriven.set(id, outcome);
    // What is brought back counts for where later views are whole up to a day after it arrived.
    const boundedMs = Math.min(judged.timeMs, (logged?.arrivalMs ?? 0) + 24 * 3_600_000);
    if (outcome !== 'duplicates') this.newestMs = Math.max(this.newestMs, boundedMs);
    if (isPartly) {
      this.partlyQuarantined--;
      return;
    }
    this.counts.quarantined--;
    this.counts[outcome]++;
  }

  #bringBack(record: JudgedRecord, aside: readonly RecountView[] | undefined): RecordClass {
    const taking = this.#plan.views.filter(
      (view) => selects(view, record) && (aside === undefined || this.#takesUp(view, aside)),
    );
    for (const view of taking) this.#put(view, record);
    if (taking.length === 0) return 'unmatched';
    this.#keepId(record);
    return 'folded';
  }

  /** The view that put a record aside, by whatever name; where that is gone, the one of its name. */
  #takesUp({ name }: ViewPlan, aside: readonly RecountView[]): boolean {
    const alive = [...this.#views.values()].map(({ life }) => life);
    const mine = this.#views.get(name)?.life;
    return aside.some(({ life, view }) =>
      alive.includes(life) ? life === mine : view.name === name,
    );
  }

  #put(view: ViewPlan, record: JudgedRecord): void {
    const startMs = view.window.kind === 'all' ? null : this.#windowOf(view, record).startMs;
    const { rows } = this.#views.get(view.name) as RecountView;
    rowOf(rows, view, groupKeyOf(view, record), startMs).add(record);
  }

  #windowOf(view: ViewPlan, record: JudgedRecord): WindowSpan {
    return windowAt(view.window, this.#calendar, record.timeMs);
  }

  #isKnown({ id, timeMs }: JudgedRecord): boolean {
    if (id === null) return false;
    const withinMs = this.#plan.dedupe?.withinMs ?? 0;
    const endMs = (this.#idCountedFromMs.get(id) ?? Number.NEGATIVE_INFINITY) + withinMs;
    return endMs > this.watermarkMs && endMs > timeMs;
  }

  #keepId({ id, timeMs }: JudgedRecord): void {
    const { dedupe } = this.#plan;
    if (id === null || dedupe === null) return;
    const fromMs = Math.max(timeMs, this.watermarkMs);
    const known = this.#idCountedFromMs.get(id) ?? Number.NEGATIVE_INFINITY;
    this.#idCountedFromMs.set(id, Math.max(known, fromMs));
  }
}

/** How a plan reads a record's time, as text. */
function timesOf({ time, zone }: Plan): string {
  return time === null ? 'arrival' : JSON.stringify([time.path, time.unitMs, zone]);
}
