/**
 * What becomes of the state of each view when one plan takes the place of another, for a person: before it is done, and when.
 */
import { windowSpan } from './kinds/window-kinds.ts';
import type { Plan, ViewPlan } from './plan.ts';
import { timeHash, viewMeaning } from './plan-hash.ts';
import { planToJson } from './plan-json.ts';
import { columnId, matchViews } from './view-match.ts';

/**
 * - `kept`: its state goes on.
 * - `resumed`: it goes on from where this plan was left; what came since is folded again.
 * - `begins`: it begins at each slice's cursor and is incomplete before.
 * - `left`: it is no part any more; its state is kept so that a rollback goes on from there, until a change to a third plan.
 */
type Fate = 'kept' | 'resumed' | 'begins' | 'left';

export interface ViewFate {
  readonly view: string;
  readonly fate: Fate;
  /** Of one that is kept under another name. */
  readonly formerName?: string;
  /** Of one that is kept: aggregates that begin at the switch, and those that end there. */
  readonly begins?: readonly string[];
  readonly ends?: readonly string[];
  /** Why one of this name begins anew. */
  readonly because?: readonly string[];
  /** Of one that begins: the former views that suit it equally well, so that none is taken for it. */
  readonly undecided?: readonly string[];
  /** Of one that begins: nothing bounds the times of the records before it, so no window of it is known to be whole. */
  readonly neverWhole?: true;
}

/** `resumes`: what is not kept goes on from where `after` was left. */
export function viewFates(before: Plan, after: Plan, resumes: boolean): ViewFate[] {
  const matches = matchViews(before.views, after.views);
  const fates = after.views.map((view, index): ViewFate => {
    const from = before.views[matches.from[index] as number];
    if (from === undefined) {
      if (resumes) return { view: view.name, fate: 'resumed' };
      const suitable = matches.undecided.get(index) ?? [];
      const undecided = suitable.map((each) => before.views[each]?.name as string);
      const because = undecided.length > 0 ? [] : reasonsOf(before, after, view);
      return {
        view: view.name,
        fate: 'begins',
        ...(because.length === 0 ? {} : { because }),
        ...(undecided.length === 0 ? {} : { undecided }),
        ...(isNeverWhole(before, after, view) ? { neverWhole: true } : {}),
      };
    }
    const begins = aggregatesBeside(from, view);
    if (resumes && begins.length > 0) return { view: view.name, fate: 'resumed' };
    const ends = aggregatesBeside(view, from);
    return {
      view: view.name,
      fate: 'kept',
      ...(from.name === view.name ? {} : { formerName: from.name }),
      ...(begins.length === 0 ? {} : { begins }),
      ...(ends.length === 0 ? {} : { ends }),
    };
  });
  const left = before.views.filter((_, index) => !matches.from.includes(index));
  return [...fates, ...left.map(({ name }): ViewFate => ({ view: name, fate: 'left' }))];
}

function isNeverWhole(before: Plan, after: Plan, { window }: ViewPlan): boolean {
  const isOtherTime = timeHash(before) !== timeHash(after);
  return windowSpan(window) !== null && isOtherTime && after.time !== null && after.skewMs === null;
}

const NEVER_WHOLE =
  "no window of it is known to be whole, as with time.skew 'none' records before the switch may be of any time: give time.skew a value in this change";
const ROLLBACK =
  'its state is kept for 24 h or until the next change, whichever comes first, so that a rollback goes on from there';

/** One line: `by_shop keeps its state; aggregate 'worst' begins at the switch`. */
export function describeFate(described: ViewFate): string {
  const { view, fate, formerName, begins, ends, because, neverWhole, undecided } = described;
  switch (fate) {
    case 'kept': {
      const was = formerName === undefined ? '' : ` (it was '${formerName}')`;
      return [
        `${view}${was} keeps its state`,
        ...(begins ?? []).map((name) => `aggregate '${name}' begins at the switch`),
        ...(ends ?? []).map((name) => `aggregate '${name}' ends`),
      ].join('; ');
    }
    case 'resumed':
      return `${view} goes on from where it was left, and folds again what came since`;
    case 'begins': {
      const line = `${view} begins where each slice is now${reasonText(because, undecided)}, and is incomplete before`;
      return neverWhole ? `${line}; ${NEVER_WHOLE}` : line;
    }
    case 'left':
      return `${view}, as it was: ${ROLLBACK}`;
  }
}

function reasonText(because: ViewFate['because'], undecided: ViewFate['undecided']): string {
  if (because !== undefined) return `, because ${because.join(' and ')} changed`;
  if (undecided === undefined) return '';
  const names = undecided.map((name) => `'${name}'`).join(' or ');
  return `, because it could be ${names} under another name and nothing tells which (rename one view in each change)`;
}

/** Settings that hold from the switch on and cost no state, one line each: `time.lateness holds from the switch on`. */
export function describePolicies(before: Plan, after: Plan, resumes = false): string[] {
  const [was, is] = [policiesOf(before), policiesOf(after)];
  const changed = Object.keys(is).filter((name) => was[name] !== is[name]);
  const lines = changed.map((name) => {
    const line = `${name} holds from the switch on`;
    if (name !== 'dedupe.id') return line;
    return after.dedupe === null
      ? 'dedupe ends at the switch; ids that are known are forgotten'
      : `${line}: no id of before is known`;
  });
  const late = matchViews(before.views, after.views).from.flatMap((match, index) => {
    const [from, view] = [before.views[match], after.views[index] as ViewPlan];
    if (from === undefined || from.late === view.late) return [];
    return [`late of ${view.name} holds from the switch on`];
  });
  const all = [...lines, ...late];
  return resumes && all.length > 0 ? [...all, UNDONE] : all;
}

const UNDONE =
  'where the former settings dropped records, closed windows early or counted ids otherwise, a slice goes on from where this file was left, and folds again what came since';

function policiesOf(plan: Plan): Readonly<Record<string, string | undefined>> {
  const { time, dedupe } = planToJson(plan);
  const policies: Record<string, string | undefined> = {};
  for (const name of ['lateness', 'skew', 'earliest', 'idle'] as const) {
    policies[`time.${name}`] = time?.[name];
  }
  policies['dedupe.id'] = dedupe?.id;
  if (dedupe !== undefined) policies['dedupe.within'] = dedupe.within;
  return policies;
}

/** Names of aggregates of `view` whose state `other` does not have. */
function aggregatesBeside(other: ViewPlan, view: ViewPlan): string[] {
  const known = new Set(other.columns.map(columnId));
  const isNew = view.columns.map((column) => !known.has(columnId(column)));
  return view.aggregates.filter(({ column }) => isNew[column]).map(({ name }) => name);
}

/** What of the meaning of a view of this name is another now; none where there was no such view. */
function reasonsOf(before: Plan, after: Plan, view: ViewPlan): string[] {
  const former = before.views.find(({ name }) => name === view.name);
  if (former === undefined) return [];
  const [was, is] = [viewMeaning(before, former), viewMeaning(after, view)];
  const changed = Object.keys(is).filter(
    (name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]),
  );
  return changed.length > 0 ? changed.map((name) => `its ${name}`) : ['all of its aggregates'];
}
