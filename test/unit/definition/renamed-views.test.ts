/** Which view goes on with whose state, and what is said of it before. */
import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { PipelineJson } from '../../../core/definition/pipeline-json.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import { planToJson } from '../../../core/definition/plan-json.ts';
import { describeFate, describePolicies, viewFates } from '../../../core/definition/view-fate.ts';
import { matchViews } from '../../../core/definition/view-match.ts';
import { smallPlan } from '../../world/small-log.ts';

const small = planToJson(smallPlan);
const { updated, dropped } = small.views as Required<PipelineJson['views']>;

function planOf(views: object): Plan {
  const parsed = parsePlan(JSON.parse(JSON.stringify({ ...small, views })));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

/** By name of the new view: that of the former one. */
function namesOf(before: Plan, after: Plan): Record<string, string | undefined> {
  const { from } = matchViews(before.views, after.views);
  return Object.fromEntries(
    after.views.map(({ name }, index) => [name, before.views[from[index] as number]?.name]),
  );
}

const count = { records: { count: '*' } };
const both = { ...count, total: { sum: 'amount' } };
const all = { ...both, least: { min: 'amount' } };
const keyed = (aggregates: object, late = 'update') => ({ ...updated, late, aggregates });
const two = planOf({ updated, dropped });

describe('views of one meaning', () => {
  it.each<[string, object, object, object]>([
    [
      'are told apart by what becomes of late records',
      { updated, dropped },
      { a_loose: updated, b_strict: dropped },
      { a_loose: 'updated', b_strict: 'dropped' },
    ],
    [
      'are so in the other order of names too',
      { updated, dropped },
      { b_loose: updated, a_strict: dropped },
      { b_loose: 'updated', a_strict: 'dropped' },
    ],
    ['are so where one of them goes', { updated, dropped }, { x: updated }, { x: 'updated' }],
    [
      'keep their names first, whatever else changed',
      { updated, dropped },
      { updated: dropped, dropped: updated },
      { updated: 'updated', dropped: 'dropped' },
    ],
    [
      'go to the view with most in common, not to the first',
      { v: keyed(both) },
      { n: keyed(count), w: keyed(both) },
      { n: undefined, w: 'v' },
    ],
    [
      'are told apart by what only one of them has, last',
      { v: keyed(both), w: keyed(all) },
      { x: keyed(both) },
      { x: 'v' },
    ],
    [
      'that nothing tells apart go to no other name',
      { v: keyed(both), w: keyed(both) },
      { x: keyed(both), y: keyed(count) },
      { x: undefined, y: undefined },
    ],
    [
      'that nothing else tells apart keep what a name says',
      { v: keyed(both), w: keyed(both) },
      { v: keyed(both), x: keyed(both) },
      { v: 'v', x: 'w' },
    ],
    [
      'with other policies for both are told apart by nothing',
      { updated, dropped },
      { x: { ...updated, late: 'side' }, y: { ...dropped, late: 'side' } },
      { x: undefined, y: undefined },
    ],
  ])('%s', (_, before, after, expected) => {
    expect(namesOf(planOf(before), planOf(after))).toEqual(expected);
  });
});

describe('what is said of a change', () => {
  it('names the views between which nothing decides', () => {
    const after = planOf({ x: { ...updated, late: 'side' } });
    const [fate] = viewFates(two, after, false);
    expect(fate).toEqual({ view: 'x', fate: 'begins', undecided: ['dropped', 'updated'] });
    expect(describeFate(fate!)).toBe(
      "x begins where each slice is now, because it could be 'dropped' or 'updated' under another name and nothing tells which (rename one view in each change), and is incomplete before",
    );
  });

  it.each([
    ['renamed', { a_loose: updated, b_strict: dropped }],
    ['new', { new_one: { ...updated, groupBy: ['type'] }, updated, dropped }],
  ])('claims no new policy of a view that is %s', (_, views) => {
    expect(describePolicies(two, planOf(views))).toEqual([]);
  });

  it('tells the policy of a view that is kept, under its new name', () => {
    const side = planOf({ fresh: { ...updated, late: 'side' }, dropped });
    expect(describePolicies(two, side)).toEqual(['late of fresh holds from the switch on']);
  });

  it('of a rollback tells what becomes of what the policies between did', () => {
    const other = planOf({ updated, dropped: { ...dropped, late: 'side' } });
    expect(describePolicies(other, two, true)).toEqual([
      'late of dropped holds from the switch on',
      'where the former settings dropped records, closed windows early or counted ids otherwise, a slice goes on from where this file was left, and folds again what came since',
    ]);
  });
});
