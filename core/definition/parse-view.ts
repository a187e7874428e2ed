/**
 * Views of a pipeline file: their properties checked, fields as paths. `parse-plan.ts` puts them in order and numbers
 * their fields.
 */
import { AGGREGATES_MAX, GROUP_FIELDS_MAX } from '../limits.ts';
import { describeValue } from './describe-value.ts';
import { type FieldPath, formatFieldPath } from './field-path.ts';
import {
  AGGREGATES,
  AGGREGATES_LATER,
  type AggregateChoice,
  type AggregateKind,
  aggregateOf,
} from './kinds/aggregate-kinds.ts';
import { ALL_TIME } from './kinds/all-time.ts';
import { TUMBLING } from './kinds/tumbling.ts';
import { WINDOW_PROPERTIES_LATER, WINDOWS, type WindowPlan } from './kinds/window-kinds.ts';
import { LATE_POLICIES, type LatePolicy } from './plan.ts';
import { elementPath, type ProblemList, propertyPath } from './problem.ts';
import {
  checkCount,
  checkName,
  orList,
  readCategory,
  readChoice,
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

export type AggregateDraft = AggregateChoice & {
  readonly name: string;
  readonly path: FieldPath | null;
};

const VIEW = {
  what: 'a view: an object with "aggregates" and mostly "groupBy" and "window"',
  properties: ['category', 'groupBy', 'window', 'late', 'aggregates'],
  later: ['where'],
};
const KINDS: readonly AggregateKind[] = AGGREGATES.map(({ kind }) => kind);

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
  if (value === undefined) return ALL_TIME.read();
  const chosen = WINDOWS.find(({ properties: [name] }) => name !== undefined && has(value, name));
  const { properties: known, read } = chosen ?? TUMBLING;
  const later = WINDOW_PROPERTIES_LATER;
  const what = 'a window such as {"tumbling": "1h"}';
  const properties = readObject(value, path, { what, properties: known, later }, problems);
  if (properties === null) return ALL_TIME.read();
  // A window of a later version was refused by name already.
  const refused = chosen === undefined && later.some((property) => properties.has(property));
  return refused ? ALL_TIME.read() : read(properties, path, problems);
}

function has(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
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
  const later = AGGREGATES_LATER.filter((kind) => properties.has(kind));
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
  const descriptor = aggregateOf(kind);
  for (const property of properties.keys()) {
    if (property === kind || descriptor.optionNames.includes(property)) continue;
    const expected = `no other property beside "${kind}"`;
    problems.add(propertyPath(path, property), properties.get(property), expected);
  }
  const field = properties.get(kind);
  const isOfRecords = field === '*' && descriptor.takesRecords;
  return {
    name,
    path: isOfRecords ? null : readFieldPath(field, propertyPath(path, kind), problems),
    ...({ kind, options: descriptor.readOptions(properties, path, problems) } as AggregateChoice),
  };
}

const NAMES_SHOWN_MAX = 5;

function foundNames(names: readonly string[]): string {
  if (names.length === 0) return 'an empty object';
  const shown = names.slice(0, NAMES_SHOWN_MAX).map((name) => describeValue(name));
  const left = names.length - shown.length;
  return `${shown.join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}

const OPTION_NAMES: readonly string[] = AGGREGATES.flatMap(({ optionNames }) => optionNames);

function kindHint(names: readonly string[]): string | undefined {
  const [word, ...others] = names;
  if (word === undefined || others.some((name) => !OPTION_NAMES.includes(name))) return undefined;
  const lower = word.toLowerCase();
  const meant =
    AGGREGATES.find(({ otherNames }) => otherNames.some((name) => name === lower))?.kind ??
    nearestWord(word, KINDS) ??
    KINDS.find((kind) => lower.startsWith(kind));
  return meant === undefined ? undefined : `did you mean "${meant}"?`;
}
