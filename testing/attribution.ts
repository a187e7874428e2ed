/**
 * Why records of one run are missing or count twice: each record's fate in its shard, held against what a person means by
 * the pipeline.
 */
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import { windowSpan } from '../core/definition/kinds/window-kinds.ts';
import type { Plan, ViewPlan } from '../core/definition/plan.ts';
import { RecordCheck } from '../core/state/record-check.ts';
import { type RecordFate, recountShard, type ShardRecount } from '../simulation/recount.ts';
import { LocalCalendar, windowAt } from '../simulation/recount-time.ts';
import type { ArrivedRecord, ShardLog } from './arrivals.ts';
import type { FindingKind, Observation } from './findings.ts';

export interface Attribution {
  readonly recounts: readonly ShardRecount[];
  readonly observations: readonly Observation[];
}

export function attribute(plan: Plan, logs: readonly ShardLog[], seed: number): Attribution {
  const tally = new Tally(seed);
  const judge = new FateJudge(plan, tally);
  const recounts = logs.map(({ shardId, records }) =>
    recountShard(plan, records, [], { observe: (fate) => judge.judge(fate, shardId) }),
  );
  observeHeldOpen(plan, logs, recounts, tally);
  return { recounts, observations: tally.observations() };
}

interface Sighting {
  readonly kind: FindingKind;
  readonly view: string | null;
  readonly detail?: string;
  readonly records?: number;
  readonly neededMs?: number | null;
  readonly index: number | null;
  /** What is wrong with this record, in the product's words; asked of the first. */
  readonly example?: () => string | null;
}

/** Adds up what is seen of each kind: a record once, however often producers sent it. */
class Tally {
  readonly #seed: number;
  readonly #byKind = new Map<string, Observation>();
  readonly #seen = new Map<string, Set<number>>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  add(sighting: Sighting): void {
    const { kind, view, detail = '', records = 1, neededMs = null, index, example } = sighting;
    const key = JSON.stringify([kind, view, detail]);
    const known = this.#byKind.get(key);
    const isCopy = index !== null && this.#isSeen(key, index);
    const number = index === null ? null : index + 1;
    const isFirst = known === undefined || (number ?? 0) < (known.firstRecord ?? 0);
    this.#byKind.set(key, {
      kind,
      view,
      detail,
      seed: this.#seed,
      records: (known?.records ?? 0) + (isCopy ? 0 : records),
      copies: (known?.copies ?? 0) + (isCopy ? 1 : 0),
      neededMs: neededMs === null ? null : Math.max(known?.neededMs ?? 0, neededMs),
      firstRecord: isFirst ? number : known.firstRecord,
      example: isFirst ? (example?.() ?? null) : known.example,
    });
  }

  #isSeen(key: string, index: number): boolean {
    const seen = this.#seen.get(key) ?? new Set();
    this.#seen.set(key, seen);
    const isSeen = seen.has(index);
    seen.add(index);
    return isSeen;
  }

  observations(): Observation[] {
    return [...this.#byKind.values()];
  }
}

interface FoldedId {
  readonly shardId: string;
  /** What `dedupe.within` is counted from. */
  readonly keptFromMs: number;
}

class FateJudge {
  readonly #plan: Plan;
  readonly #tally: Tally;
  readonly #calendar: LocalCalendar;
  readonly #check: RecordCheck;
  readonly #foldedIds = new Map<string, FoldedId>();
  readonly #foldedRecords = new Set<number>();

  constructor(plan: Plan, tally: Tally) {
    this.#plan = plan;
    this.#tally = tally;
    this.#calendar = new LocalCalendar(plan.zone);
    this.#check = new RecordCheck(plan, createJsonDecoder(plan));
  }

  judge(fate: RecordFate, shardId: string): void {
    const { index } = fate.record as ArrivedRecord;
    const view = null;
    if (fate.outcome === 'folded') this.#judgeFolded(fate, shardId);
    // A copy that comes late is one too many anyway.
    const isCounted = this.#foldedRecords.has(index) && fate.outcome !== 'folded';
    for (const late of isCounted ? [] : fate.lateFor) this.#judgeLate(fate, late);
    if (fate.outcome !== 'quarantined' || fate.reason === null || fate.reason === 'late') return;
    const { aheadMs, arrivalMs } = fate.record as ArrivedRecord;
    const common = { view, index, example: () => this.#check.judge(fate.record)?.detail ?? null };
    if (fate.reason === 'too-far-in-the-future') {
      this.#tally.add({ kind: 'too-far-ahead', neededMs: aheadMs, ...common });
    } else if (fate.reason === 'too-far-in-the-past') {
      const neededMs = (this.#plan.earliestMs ?? 0) - (arrivalMs + aheadMs);
      this.#tally.add({ kind: 'too-far-back', neededMs, ...common });
    } else this.#tally.add({ kind: 'unreadable', detail: fate.reason, ...common });
  }

  #judgeLate({ judged, watermarkMs, record }: RecordFate, view: ViewPlan): void {
    if (judged === null || view.late === 'update') return;
    const { endMs } = windowAt(view.window, this.#calendar, judged.timeMs);
    const neededMs = this.#plan.latenessMs + watermarkMs - endMs + 1;
    const kind = view.late === 'drop' ? 'late-dropped' : 'late-aside';
    const { index } = record as ArrivedRecord;
    this.#tally.add({ kind, view: view.name, neededMs, index });
  }

  #judgeFolded({ judged, record, watermarkMs }: RecordFate, shardId: string): void {
    const { index } = record as ArrivedRecord;
    if (judged === null) return;
    const { id, timeMs } = judged;
    const keptFromMs = Math.max(timeMs, watermarkMs);
    if (id === null) {
      if (this.#foldedRecords.has(index)) {
        this.#tally.add({ kind: 'counted-twice-without-dedupe', view: null, index });
      }
    } else {
      const known = this.#foldedIds.get(id);
      if (known?.shardId === shardId) {
        const neededMs = watermarkMs - known.keptFromMs + 1;
        this.#tally.add({ kind: 'counted-twice', view: null, neededMs, index });
      } else if (known !== undefined) {
        this.#tally.add({ kind: 'counted-twice-across-shards', view: null, index });
      }
      this.#foldedIds.set(id, { shardId, keptFromMs });
    }
    this.#foldedRecords.add(index);
  }
}

/** Windows that all shards but silent ones have passed. */
function observeHeldOpen(
  plan: Plan,
  logs: readonly ShardLog[],
  recounts: readonly ShardRecount[],
  tally: Tally,
): void {
  const calendar = new LocalCalendar(plan.zone);
  const alive = recounts.flatMap(({ watermarkMs }, index) => {
    const last = logs[index]?.records.at(-1);
    return last === undefined
      ? []
      : [{ watermarkMs, lastMs: last.arrivalMs, shardId: logs[index]?.shardId ?? '' }];
  });
  const slowest = alive.reduce(
    (a, b) => (b.watermarkMs < a.watermarkMs ? b : a),
    alive[0] ?? NOBODY,
  );
  const passedMs = Math.max(...alive.map(({ watermarkMs }) => watermarkMs), slowest.watermarkMs);
  const silentMs = Math.max(...alive.map(({ lastMs }) => lastMs), slowest.lastMs) - slowest.lastMs;
  for (const view of plan.views) {
    const span = windowSpan(view.window);
    if (span === null || silentMs <= span.lengthMs) continue;
    const held = new Map<number, number>();
    for (const { views } of recounts) {
      for (const { windowStartMs, recordCount } of views.get(view.name)?.values() ?? []) {
        const { endMs } = windowAt(view.window, calendar, windowStartMs as number);
        if (endMs > passedMs || endMs <= slowest.watermarkMs) continue;
        held.set(endMs, (held.get(endMs) ?? 0) + recordCount);
      }
    }
    // The newest windows of any stream are open.
    if (held.size < HELD_WINDOWS_MIN) continue;
    const records = [...held.values()].reduce((a, b) => a + b, 0);
    const detail = slowest.shardId;
    tally.add({
      kind: 'held-open',
      view: view.name,
      detail,
      records,
      neededMs: silentMs,
      index: null,
    });
  }
}

const HELD_WINDOWS_MIN = 2;
const NOBODY = { watermarkMs: Number.NEGATIVE_INFINITY, lastMs: 0, shardId: '' };
