/**
 * A plan as JSON again, with every default spelled out, and JSON as one canonical text. The text of `planToJson` is the
 * meaning of a pipeline: it is what is hashed, kept with the state, and compared when the file changes.
 */
import { assert } from '../assert.ts';
import { isoText } from '../time/iso-text.ts';
import { type Duration, formatDuration } from './duration.ts';
import { type FieldPath, formatFieldPath } from './field-path.ts';
import { type AggregateJson, aggregateOf } from './kinds/aggregate-kinds.ts';
import { type WindowJson, windowOf } from './kinds/window-kinds.ts';
import type { PipelineJson, TimeJson, ViewJson } from './pipeline-json.ts';
import type { AggregatePlan, Plan, ViewPlan } from './plan.ts';

export type ViewMeaning = Omit<ViewPlan, 'hash'>;

/** A plan without its hashes: what they are made from. */
export type PlanMeaning = Omit<Plan, 'hash' | 'views'> & { readonly views: readonly ViewMeaning[] };

/** The pipeline file that says what the plan means: the same for every file of that meaning. */
export function planToJson(plan: PlanMeaning): PipelineJson {
  const views = plan.views.map((view): [string, ViewJson] => [view.name, viewToJson(plan, view)]);
  return {
    name: plan.name,
    stream: plan.stream,
    time: timeToJson(plan),
    ...(plan.category === null ? {} : { category: { field: formatFieldPath(plan.category) } }),
    ...(plan.dedupe === null ? {} : { dedupe: dedupeToJson(plan.dedupe) }),
    views: Object.fromEntries(views),
  };
}

function timeToJson(plan: PlanMeaning): TimeJson {
  const common = {
    zone: plan.zone,
    lateness: formatDuration(plan.latenessMs),
    ...(plan.idleMs === null ? {} : { idle: formatDuration(plan.idleMs) }),
  };
  if (plan.time === null) return common;
  return {
    field: formatFieldPath(plan.time.path),
    unit: plan.time.unitMs === 1 ? 'ms' : 's',
    ...common,
    skew: plan.skewMs === null ? 'none' : formatDuration(plan.skewMs),
    earliest: plan.earliestMs === null ? 'none' : isoText(plan.earliestMs),
  };
}

function dedupeToJson(dedupe: NonNullable<Plan['dedupe']>): { id: string; within: Duration } {
  return {
    id: formatFieldPath(dedupe.path),
    within: formatDuration(dedupe.withinMs),
  };
}

/** The view of a plan as JSON, with every default spelled out. */
export function viewToJson(plan: PlanMeaning, view: ViewMeaning): ViewJson {
  const aggregates = view.aggregates.map((aggregate): [string, AggregateJson] => [
    aggregate.name,
    aggregateToJson(plan, aggregate),
  ]);
  const window = windowOf(view.window).toJson(view.window) as WindowJson | undefined;
  return {
    ...(view.category === null ? {} : { category: view.category }),
    groupBy: view.groupBy.map(({ name }) => name),
    ...(window === undefined ? {} : { window }),
    late: view.late,
    aggregates: Object.fromEntries(aggregates),
  };
}

function aggregateToJson(plan: PlanMeaning, aggregate: AggregatePlan): AggregateJson {
  const { kind, field, options } = aggregate;
  const text = field === null ? '*' : formatFieldPath(plan.fields[field] as FieldPath);
  return aggregateOf(kind).toJson(text, options) as AggregateJson;
}

/** JSON without spaces and with the keys of every object in order: equal values give equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const properties = Object.entries(value)
      .filter(([, property]) => property !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    const parts = properties.map(([name, property]) => {
      return `${JSON.stringify(name)}:${canonicalJson(property)}`;
    });
    return `{${parts.join(',')}}`;
  }
  const text = JSON.stringify(value);
  assert(text !== undefined, 'canonical-json-is-of-json', () => typeof value);
  return text;
}
