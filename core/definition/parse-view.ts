/**
 * Views of a pipeline file: their properties checked, fields as paths. `parse-plan.ts` puts them in order and numbers
 * their fields.
 */
import { AGGREGATES_MAX, GROUP_FIELDS_MAX, QUANTILE_RANKS_MAX } from '../limits.ts';
import { describeValue } from './describe-value.ts';
import { formatFieldPath } from './field-path.ts';
import {
  AGGREGATE_KINDS,
  type AggregateKind,
  type FieldPath,
  LATE_POLICIES,
  type LatePolicy,
  type WindowPlan,
} from './plan.ts';
import { elementPath, type ProblemList, propertyPath } from './problem.ts';
import {
  checkCount,
  checkName,
  orList,
  readCategory,
  readChoice,
  readDuration,
  readFieldPath,
  readObject,
  readProperties,
} from './property-reader.ts';
import { nearestWord } from './spelling.ts';

export interface ViewDraft {
  readonly name: string;
  readonly category: string | null;
  readonly groupBy: readonly FieldPath[];
  readonly window: WindowPlan;
  readonly late: LatePolicy;
  readonly aggregates: readonly AggregateDraft[];
}

export interface AggregateDraft {
  readonly name: string;
  readonly kind: AggregateKind;
  readonly path: FieldPath | null;
  readonly at: readonly number[];
}

const VIEW = {
  what: 'a view: an object with "aggregates" and mostly "groupBy" and "window"',
  properties: ['category', 'groupBy', 'window', 'late', 'aggregates'],
  later: ['where'],
};
const WINDOW = {
  what: 'a window such as {"tumbling": "1h"}',
  properties: ['tumbling'],
  later: ['hopping', 'every', 'session'],
};
const KINDS = AGGREGATE_KINDS;
const KINDS_LATER = ['distinct', 'top', 'variance', 'first', 'last'];

/** The view, or null when it is no object; what is wrong is noted. */
export function readView(
  name: string,
  value: unknown,
  path: string,
  problems: ProblemList,
): ViewDraft | null {
  checkName(name, path, problems);
  const properties = readObject(value, path, VIEW, problems);
  if (properties === null) return null;
  const at = (property: string): string => propertyPath(path, property);
  const category = properties.get('category');
  const window = properties.get('window');
  return {
    name,
    category: category === undefined ? null : readCategory(category, at('category'), problems),
    groupBy: readGroupBy(properties.get('groupBy'), at('groupBy'), problems),
    window: readWindow(window, at('window'), problems),
    late: readLate(properties.get('late'), at('late'), window !== undefined, problems),
    aggregates: readAggregates(properties.get('aggregates'), at('aggregates'), problems),
  };
}

function readGroupBy(value: unknown, path: string, problems: ProblemList): FieldPath[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    const hint = typeof value === 'string' ? 'put it in brackets' : undefined;
    problems.add(path, value, 'an array of fields such as ["origin"]', hint);
    return [];
  }
  const bounds = { min: 0, max: GROUP_FIELDS_MAX, of: 'fields to group by' };
  checkCount(value.length, bounds, path, problems);
  const paths: FieldPath[] = [];
  const seen = new Set<string>();
  for (const [index, element] of value.entries()) {
    const at = elementPath(path, index);
    const field = readFieldPath(element, at, problems);
    const text = formatFieldPath(field);
    if (seen.has(text) && text !== '') problems.add(at, element, 'each field once');
    seen.add(text);
    paths.push(field);
  }
  return paths;
}

function readWindow(value: unknown, path: string, problems: ProblemList): WindowPlan {
  if (value === undefined) return { kind: 'all' };
  const properties = readObject(value, path, WINDOW, problems);
  if (properties === null) return { kind: 'all' };
  const size = properties.get('tumbling');
  // A window of a later version was refused by name already.
  const refused = WINDOW.later.some((property) => properties.has(property));
  if (size === undefined && refused) return { kind: 'all' };
  const at = propertyPath(path, 'tumbling');
  const duration = readDuration(size, at, { msMin: 1 }, problems);
  if (duration.mixed) {
    const hint = 'a day of the zone may have 23 or 25 hours; write hours if you mean hours';
    problems.add(at, size, 'whole days, or hours and smaller units, not both', hint);
  }
  return { kind: 'tumbling', sizeMs: duration.ms, days: duration.days };
}

function readLate(
  value: unknown,
  path: string,
  hasWindow: boolean,
  problems: ProblemList,
): LatePolicy {
  if (value === undefined) return 'update';
  const late = readChoice(value, path, LATE_POLICIES, problems);
  if (late !== 'update' && !hasWindow) {
    problems.add(path, value, 'a "window" beside it: without one no record is ever late');
  }
  return late;
}

function readAggregates(value: unknown, path: string, problems: ProblemList): AggregateDraft[] {
  const what = 'an object of aggregates such as {"flights": {"count": "*"}}';
  const properties = readProperties(value, path, what, problems);
  if (properties === null) return [];
  const bounds = { min: 1, max: AGGREGATES_MAX, of: 'aggregates' };
  checkCount(properties.size, bounds, path, problems);
  const aggregates: AggregateDraft[] = [];
  for (const [name, aggregate] of properties) {
    const at = propertyPath(path, name);
    checkName(name, at, problems);
    const draft = readAggregate(name, aggregate, at, problems);
    if (draft !== null) aggregates.push(draft);
  }
  return aggregates;
}

function readAggregate(
  name: string,
  value: unknown,
  path: string,
  problems: ProblemList,
): AggregateDraft | null {
  const what = `an aggregate such as {"sum": "delay"}: ${orList(KINDS)}`;
  const properties = readProperties(value, path, what, problems);
  if (properties === null) return null;
  const kinds = KINDS.filter((kind) => properties.has(kind));
  const later = KINDS_LATER.filter((kind) => properties.has(kind));
  for (const kind of later) {
    const at = propertyPath(path, kind);
    problems.add(at, properties.get(kind), `no "${kind}": it is not supported in this version`);
  }
  const [kind] = kinds;
  if (kind === undefined || kinds.length + later.length > 1) {
    if (kinds.length > 1 || later.length === 0) {
      const names = [...properties.keys()];
      problems.addFound(path, foundNames(names), `one of ${orList(KINDS)}`, kindHint(names));
    }
    return null;
  }
  for (const property of properties.keys()) {
    if (property === kind || (property === 'at' && kind === 'quantile')) continue;
    const expected = `no other property beside "${kind}"`;
    problems.add(propertyPath(path, property), properties.get(property), expected);
  }
  return {
    name,
    kind,
    path: readAggregateField(kind, properties.get(kind), propertyPath(path, kind), problems),
    at: kind === 'quantile' ? readRanks(properties.get('at'), `${path}.at`, problems) : [],
  };
}

const NAMES_SHOWN_MAX = 5;

function foundNames(names: readonly string[]): string {
  if (names.length === 0) return 'an empty object';
  const shown = names.slice(0, NAMES_SHOWN_MAX).map((name) => describeValue(name));
  const left = names.length - shown.length;
  return `${shown.join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}

/** What other tools call some of the kinds. */
const KIND_WORDS: ReadonlyMap<string, AggregateKind> = new Map([
  ['avg', 'mean'],
  ['average', 'mean'],
  ['total', 'sum'],
  ['median', 'quantile'],
  ['percentile', 'quantile'],
  ['percentiles', 'quantile'],
]);

function kindHint(names: readonly string[]): string | undefined {
  const [word, ...others] = names;
  if (word === undefined || others.some((name) => name !== 'at')) return undefined;
  const lower = word.toLowerCase();
  const meant =
    KIND_WORDS.get(lower) ??
    nearestWord(word, KINDS) ??
    KINDS.find((kind) => lower.startsWith(kind));
  return meant === undefined ? undefined : `did you mean "${meant}"?`;
}

function readAggregateField(
  kind: AggregateKind,
  value: unknown,
  path: string,
  problems: ProblemList,
): FieldPath | null {
  return kind === 'count' && value === '*' ? null : readFieldPath(value, path, problems);
}

function readRanks(value: unknown, path: string, problems: ProblemList): number[] {
  const what = 'an array of ranks from 0 to 1 such as [0.5, 0.99]';
  if (!Array.isArray(value)) {
    problems.add(path, value, what);
    return [];
  }
  checkCount(value.length, { min: 1, max: QUANTILE_RANKS_MAX, of: 'ranks' }, path, problems);
  const ranks = new Set<number>();
  for (const [index, rank] of value.entries()) {
    const at = elementPath(path, index);
    if (typeof rank !== 'number' || !(rank >= 0 && rank <= 1)) {
      const hint = typeof rank === 'number' && rank > 1 ? 'ranks are not percentages' : undefined;
      problems.add(at, rank, 'a number from 0 to 1', hint);
    } else if (ranks.has(rank)) problems.add(at, rank, 'each rank once');
    // −0 is a rank that a file can spell; adding 0 makes it 0.
    else ranks.add(rank + 0);
  }
  return [...ranks].sort((a, b) => a - b);
}
