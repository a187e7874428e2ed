/**
 * The oracle's views of one shard, and what a change of plan makes of them: a view that stands for the same entries and still
 * has an aggregate goes on with that one's values; all else begins empty.
 */
import type { AggregatePlan, Plan, ViewPlan } from '../core/definition/plan.ts';
import { RecountRow, type Rows, rowId } from './recount-row.ts';

export interface RecountView {
  readonly view: ViewPlan;
  readonly rows: Rows;
  /** The same for as long as the view goes on, whatever its name is. */
  readonly life: object;
  /** By aggregate: windows that begin before it may lack records. −Infinity: none do. */
  readonly wholeFromMs: readonly number[];
}

/** By name. */
export type RecountViews = ReadonlyMap<string, RecountView>;

export function newViews(plan: Plan): RecountViews {
  return new Map(plan.views.map((view) => [view.name, newView(view, Number.NEGATIVE_INFINITY)]));
}

/** `before` under another plan; what begins has records from `fromMs` on. Views that begin are left out where it is null. */
export function viewsUnder(plan: Plan, before: RecountViews, fromMs: number | null): RecountViews {
  const former = formerViews(plan, before);
  const views = new Map<string, RecountView>();
  for (const view of plan.views) {
    const from = former.get(view.name);
    if (from !== undefined) views.set(view.name, carried(view, from, fromMs));
    else if (fromMs !== null) views.set(view.name, newView(view, fromMs));
  }
  return views;
}

function newView(view: ViewPlan, fromMs: number): RecountView {
  return { view, rows: new Map(), life: {}, wholeFromMs: view.aggregates.map(() => fromMs) };
}

function carried(view: ViewPlan, from: RecountView, fromMs: number | null): RecountView {
  const places = view.aggregates.map((aggregate) => {
    return from.view.aggregates.findIndex((each) => isSame(from.view, each, view, aggregate));
  });
  const rows: Rows = new Map();
  for (const row of from.rows.values()) {
    const added = places.map((place) => [...(row.added[place] ?? [])]);
    const moved = new RecountRow(view, row.key, row.windowStartMs, added, row.recordCount);
    rows.set(rowId(row.key, row.windowStartMs), moved);
  }
  const begins = fromMs ?? Number.POSITIVE_INFINITY;
  const wholeFromMs = places.map((place) => from.wholeFromMs[place] ?? begins);
  return { view, rows, life: from.life, wholeFromMs };
}

/** By name of the new view: the old one that it goes on with. */
function formerViews(plan: Plan, before: RecountViews): Map<string, RecountView> {
  const former = new Map<string, RecountView>();
  const free = new Set(before.values());
  const take = (view: ViewPlan, from: RecountView) => {
    former.set(view.name, from);
    free.delete(from);
  };
  for (const view of plan.views) {
    const from = before.get(view.name);
    if (from !== undefined && inCommon(from.view, view) > 0) take(view, from);
  }
  const wanting = new Set(plan.views.filter(({ name }) => !former.has(name)));
  for (let left = true; left; ) {
    const pairs = [...wanting].flatMap((view) =>
      [...free]
        .filter((from) => inCommon(from.view, view) > 0)
        .map((from) => ({ view, from, suits: suitability(from.view, view) })),
    );
    const most = Math.max(...pairs.map(({ suits }) => suits));
    const best = pairs.filter(({ suits }) => suits === most);
    const clear = best.find(({ view }) => best.filter((each) => each.view === view).length === 1);
    left = pairs.length > 0;
    if (clear !== undefined) {
      take(clear.view, clear.from);
      wanting.delete(clear.view);
      // Of several that suit equally well none is taken for it.
    } else for (const { view } of best) wanting.delete(view);
  }
  return former;
}

/** More in common, then the same fate of late records, then less that only one of them keeps. Under 100 aggregates. */
function suitability(a: ViewPlan, b: ViewPlan): number {
  const common = inCommon(a, b);
  const alone = a.columns.length + b.columns.length - 2 * common;
  return common * 1_000 + (a.late === b.late ? 500 : 0) - alone;
}

/** Different things that both keep; 0 where an entry of one is none of the other. */
function inCommon(a: ViewPlan, b: ViewPlan): number {
  if (a.hash !== b.hash) return 0;
  const kept = b.aggregates.filter((mine) => a.aggregates.some((each) => isSame(a, each, b, mine)));
  return new Set(kept.map(({ column }) => column)).size;
}

function isSame(a: ViewPlan, mine: AggregatePlan, b: ViewPlan, other: AggregatePlan): boolean {
  const [x, y] = [a.columns[mine.column], b.columns[other.column]];
  return mine.kind === other.kind && x?.fieldText === y?.fieldText;
}
