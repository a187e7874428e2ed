/**
 * Which view of one plan goes on with the state of which view of another: those that mean the same and have an aggregate in
 * common. A name that stays decides first; then a view may have another name. Both sides are taken in their order, so that
 * whoever matches the same two lists comes to the same pairs.
 */
import type { ColumnPlan } from './plan.ts';

interface MatchedView {
  readonly name: string;
  readonly hash: string;
  readonly columns: readonly Pick<ColumnPlan, 'kind' | 'fieldText'>[];
}

/** By index of `after`: the index in `before`, or −1. No view of `before` is taken twice. */
export function matchViews(
  before: readonly MatchedView[],
  after: readonly MatchedView[],
): readonly number[] {
  const matches = after.map((view) =>
    before.findIndex((each) => each.name === view.name && sharedColumns(each, view) > 0),
  );
  const taken = new Set(matches);
  for (const [index, view] of after.entries()) {
    if (matches[index] !== -1) continue;
    let best = -1;
    let bestShared = 0;
    for (const [candidate, each] of before.entries()) {
      const shared = taken.has(candidate) ? 0 : sharedColumns(each, view);
      if (shared > bestShared) [best, bestShared] = [candidate, shared];
    }
    matches[index] = best;
    taken.add(best);
  }
  return matches;
}

/** What a column is known by within its view. */
export function columnId({ kind, fieldText }: Pick<ColumnPlan, 'kind' | 'fieldText'>): string {
  return `${kind} ${fieldText}`;
}

/** Columns that both have; none where the views mean different things. */
function sharedColumns(a: MatchedView, b: MatchedView): number {
  if (a.hash !== b.hash) return 0;
  const ids = new Set(a.columns.map(columnId));
  return b.columns.filter((column) => ids.has(columnId(column))).length;
}
