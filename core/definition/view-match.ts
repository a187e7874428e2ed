/**
 * Which view of one plan goes on with the state of which view of another: those that mean the same and have an aggregate in
 * common. Pairs are compared over both plans at once, the best first: the same name, then the most aggregates in common,
 * then the same `late`, then the fewest aggregates that only one of them has. Where several former views suit a view
 * equally well, none is taken: their states can differ, and numbers of another view would not show it.
 */
import type { ColumnPlan, LatePolicy } from './plan.ts';

export interface MatchedView {
  readonly name: string;
  readonly hash: string;
  readonly late: LatePolicy;
  readonly columns: readonly Pick<ColumnPlan, 'kind' | 'fieldText'>[];
}

/** A view that goes on with no state. */
export const NO_MATCH = -1;

export interface ViewMatches {
  /** By index of `after`: the index in `before`, or `NO_MATCH`. No view of `before` is taken twice. */
  readonly from: readonly number[];
  /** By index of `after`: the views of `before` between which nothing decides. Such a view has no match. */
  readonly undecided: ReadonlyMap<number, readonly number[]>;
}

interface Pair {
  readonly before: number;
  readonly after: number;
  readonly rank: readonly number[];
}

export function matchViews(
  before: readonly MatchedView[],
  after: readonly MatchedView[],
): ViewMatches {
  const from = after.map(() => NO_MATCH);
  const undecided = new Map<number, readonly number[]>();
  let pairs = pairsOf(before, after);
  while (pairs[0] !== undefined) {
    const { rank } = pairs[0];
    const best = pairs.filter((pair) => compareRanks(pair.rank, rank) === 0);
    const decided = best.find(({ after }) => candidatesOf(after, best).length === 1);
    if (decided !== undefined) {
      from[decided.after] = decided.before;
      pairs = pairs.filter((pair) => {
        return pair.after !== decided.after && pair.before !== decided.before;
      });
      continue;
    }
    for (const pair of best) undecided.set(pair.after, candidatesOf(pair.after, best));
    pairs = pairs.filter((pair) => !undecided.has(pair.after));
  }
  return { from, undecided };
}

/** What a column is known by within its view. */
export function columnId({ kind, fieldText }: Pick<ColumnPlan, 'kind' | 'fieldText'>): string {
  return `${kind} ${fieldText}`;
}

function candidatesOf(view: number, pairs: readonly Pair[]): number[] {
  return pairs.filter(({ after }) => after === view).map(({ before }) => before);
}

/** Best first; equal ones in the order of `after`, then of `before`. */
function pairsOf(before: readonly MatchedView[], after: readonly MatchedView[]): Pair[] {
  const pairs: Pair[] = [];
  for (const [index, view] of after.entries()) {
    for (const [candidate, former] of before.entries()) {
      const shared = sharedColumns(former, view);
      if (shared === 0) continue;
      const alone = former.columns.length + view.columns.length - 2 * shared;
      const isSameName = former.name === view.name ? 1 : 0;
      const isSameLate = former.late === view.late ? 1 : 0;
      const rank = [isSameName, shared, isSameLate, -alone];
      pairs.push({ before: candidate, after: index, rank });
    }
  }
  return pairs.sort((a, b) => compareRanks(b.rank, a.rank));
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at < 0 ? 0 : (a[at] as number) - (b[at] as number);
}

/** Columns that both have; none where the views mean different things. */
function sharedColumns(a: MatchedView, b: MatchedView): number {
  if (a.hash !== b.hash) return 0;
  const ids = new Set(a.columns.map(columnId));
  return b.columns.filter((column) => ids.has(columnId(column))).length;
}
