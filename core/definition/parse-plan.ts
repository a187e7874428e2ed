/**
 * From the JSON of a pipeline file to the validated plan, or to everything that is wrong with it. Nothing is ignored: an
 * unknown property is a problem, and so is one that a later version will know.
 */
import { VIEWS_MAX } from '../limits.ts';
import { parseIsoTime } from '../time/iso-time.ts';
import { timeTextAdvice } from '../time/time-text-advice.ts';
import { Zone } from '../time/zone.ts';
import { type FieldPath, formatFieldPath } from './field-path.ts';
import { type AggregateDraft, readView, type ViewDraft } from './parse-view.ts';
import type { AggregatePlan, ColumnPlan, Plan, ViewPlan } from './plan.ts';
import { planHash, viewHash } from './plan-hash.ts';
import type { PlanMeaning } from './plan-json.ts';
import { type Problem, ProblemList, propertyPath } from './problem.ts';
import {
  checkCount,
  readChoice,
  readDuration,
  readFieldPath,
  readName,
  readObject,
  readProperties,
  readStreamName,
} from './property-reader.ts';
import { columnId } from './view-match.ts';
import { isZoneName, nearestZoneName } from './zone-name.ts';

export type ParsedPlan =
  | { readonly ok: true; readonly plan: Plan }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const LATENESS_MS_DEFAULT = 60_000;
const SKEW_MS_DEFAULT = 600_000;
/** 2000-01-01 in UTC. */
const EARLIEST_MS_DEFAULT = 946_684_800_000;

const PIPELINE = {
  what: 'a pipeline: an object with "name" and "views"',
  properties: ['name', 'stream', 'time', 'category', 'dedupe', 'views'],
};
const TIME = {
  what: 'an object such as {"field": "date"}',
  properties: ['field', 'unit', 'zone', 'lateness', 'skew', 'earliest', 'idle'],
};
const CATEGORY = { what: 'an object such as {"field": "type"}', properties: ['field'] };
const DEDUPE = {
  what: 'an object such as {"id": "event_id", "within": "5m"}',
  properties: ['id', 'within'],
};

type Draft = Omit<PlanMeaning, 'fields' | 'views'>;

/** The plan of a pipeline's JSON, or every problem that it has. Never throws on plain data. */
export function parsePlan(json: unknown): ParsedPlan {
  const problems = new ProblemList();
  const properties = readObject(json, '', PIPELINE, problems);
  if (properties === null) return { ok: false, problems: problems.all };
  const name = readName(properties.get('name'), 'name', problems);
  const stream = properties.get('stream');
  const category = properties.get('category');
  const draft: Draft = {
    name,
    stream: stream === undefined ? name : readStreamName(stream, 'stream', problems),
    ...readTime(properties.get('time'), problems),
    category: category === undefined ? null : readCategoryField(category, problems),
    dedupe: readDedupe(properties.get('dedupe'), problems),
  };
  const views = readViews(properties.get('views'), draft, problems);
  if (problems.all.length > 0) return { ok: false, problems: problems.all };
  return { ok: true, plan: buildPlan(draft, views) };
}

type TimeDraft = Pick<Draft, 'time' | 'zone' | 'latenessMs' | 'skewMs' | 'earliestMs' | 'idleMs'>;

function readTime(value: unknown, problems: ProblemList): TimeDraft {
  const properties = value === undefined ? new Map() : readObject(value, 'time', TIME, problems);
  if (properties === null) {
    return {
      time: null,
      zone: 'UTC',
      latenessMs: 0,
      skewMs: null,
      earliestMs: null,
      idleMs: null,
    };
  }
  const field: unknown = properties.get('field');
  const unit: unknown = properties.get('unit');
  const zone: unknown = properties.get('zone');
  const lateness: unknown = properties.get('lateness');
  const skew: unknown = properties.get('skew');
  const earliest: unknown = properties.get('earliest');
  if (field === undefined) {
    const expected = 'a "field" beside it: arrival times need none of this';
    if (unit !== undefined) problems.add('time.unit', unit, expected);
    if (skew !== undefined) problems.add('time.skew', skew, expected);
    if (earliest !== undefined) problems.add('time.earliest', earliest, expected);
  }
  const unitMs =
    unit !== undefined && readChoice(unit, 'time.unit', ['ms', 's'], problems) === 's' ? 1000 : 1;
  const zoneName = zone === undefined ? 'UTC' : readZone(zone, problems);
  return {
    time:
      field === undefined ? null : { path: readFieldPath(field, 'time.field', problems), unitMs },
    zone: zoneName,
    latenessMs:
      lateness === undefined
        ? LATENESS_MS_DEFAULT
        : readDuration(lateness, 'time.lateness', { msMin: 0 }, problems).ms,
    skewMs: field === undefined ? null : readSkew(skew, problems),
    earliestMs: field === undefined ? null : readEarliest(earliest, skew, zoneName, problems),
    idleMs: readIdle(properties.get('idle'), skew, problems),
  };
}

function readSkew(value: unknown, problems: ProblemList): number | null {
  if (value === undefined) return SKEW_MS_DEFAULT;
  if (value === 'none') return null;
  return readDuration(value, 'time.skew', { msMin: 0, orWord: 'none' }, problems).ms;
}

/** History that is replayed may be of any time, and has to say what is too old for it. */
function readEarliest(
  value: unknown,
  skew: unknown,
  zone: string,
  problems: ProblemList,
): number | null {
  if (value === undefined) return skew === 'none' ? null : EARLIEST_MS_DEFAULT;
  if (value === 'none') return null;
  const timeMs = typeof value === 'string' ? parseIsoTime(value, new Zone(zone)) : Number.NaN;
  if (!Number.isNaN(timeMs)) return timeMs;
  const expected = 'ISO 8601 text such as "2000-01-01" or "2000-01-01T00:00:00Z", or "none"';
  const advice = typeof value === 'string' ? timeTextAdvice(value) : null;
  const hint = typeof value === 'number' ? 'write the date as text, in quotes' : advice;
  problems.add('time.earliest', value, expected, hint ?? undefined);
  return null;
}

function readIdle(value: unknown, skew: unknown, problems: ProblemList): number | null {
  if (value === undefined) return null;
  if (skew === 'none') {
    const expected =
      'no "idle" beside "skew": "none", where times have nothing to do with arrivals';
    problems.add('time.idle', value, expected);
  }
  return readDuration(value, 'time.idle', { msMin: 1 }, problems).ms;
}

function readZone(value: unknown, problems: ProblemList): string {
  if (typeof value === 'string' && isZoneName(value)) return value;
  const nearest = typeof value === 'string' ? nearestZoneName(value) : null;
  const hint = nearest === null ? undefined : `did you mean "${nearest}"?`;
  problems.add('time.zone', value, 'an IANA time zone such as "UTC" or "Europe/Berlin"', hint);
  return 'UTC';
}

function readCategoryField(value: unknown, problems: ProblemList): FieldPath {
  const properties = readObject(value, 'category', CATEGORY, problems);
  if (properties === null) return [];
  return readFieldPath(properties.get('field'), 'category.field', problems);
}

function readDedupe(value: unknown, problems: ProblemList): Plan['dedupe'] {
  if (value === undefined) return null;
  const properties = readObject(value, 'dedupe', DEDUPE, problems);
  if (properties === null) return null;
  return {
    path: readFieldPath(properties.get('id'), 'dedupe.id', problems),
    withinMs: readDuration(properties.get('within'), 'dedupe.within', { msMin: 1 }, problems).ms,
  };
}

function readViews(value: unknown, draft: Draft, problems: ProblemList): ViewDraft[] {
  const what = 'an object of views such as {"delay_by_origin": {…}}';
  const properties = readProperties(value, 'views', what, problems);
  if (properties === null) return [];
  checkCount(properties.size, { min: 1, max: VIEWS_MAX, of: 'views' }, 'views', problems);
  const views: ViewDraft[] = [];
  for (const [name, view] of properties) {
    const path = propertyPath('views', name);
    const read = readView(name, view, path, problems);
    if (read === null) continue;
    if (read.category !== null && draft.category === null) {
      const expected =
        'a "category" of the pipeline that names the field, such as {"field": "type"}';
      problems.add(propertyPath(path, 'category'), read.category, expected);
    }
    views.push(read);
  }
  return views;
}

function buildPlan(draft: Draft, views: readonly ViewDraft[]): Plan {
  const paths = new Map<string, FieldPath>();
  for (const view of views) {
    for (const path of fieldsOf(view)) paths.set(formatFieldPath(path), path);
  }
  const texts = [...paths.keys()].sort();
  const fieldIndex = (path: FieldPath): number => texts.indexOf(formatFieldPath(path));
  const meaning: PlanMeaning = {
    ...draft,
    fields: texts.map((text) => paths.get(text) as FieldPath),
    views: [...views].sort(byName).map((view) => ({
      ...view,
      groupBy: view.groupBy.map((path) => ({
        name: formatFieldPath(path),
        field: fieldIndex(path),
      })),
      ...aggregatesOf(view, fieldIndex),
    })),
  };
  const hashed = meaning.views.map(
    (view): ViewPlan => ({ ...view, hash: viewHash(meaning, view) }),
  );
  return { ...meaning, views: hashed, hash: planHash(meaning) };
}

/** Aggregates in the order of their names, and the columns that they share. */
function aggregatesOf(
  view: ViewDraft,
  fieldIndex: (path: FieldPath) => number,
): Pick<ViewPlan, 'aggregates' | 'columns'> {
  const known = new Map<string, ColumnPlan>();
  const columnOf = ({ kind, path }: AggregateDraft): ColumnPlan => ({
    kind,
    fieldText: path === null ? '*' : formatFieldPath(path),
    field: path === null ? null : fieldIndex(path),
  });
  for (const draft of view.aggregates) known.set(columnId(columnOf(draft)), columnOf(draft));
  const ids = [...known.keys()].sort();
  return {
    columns: ids.map((id) => known.get(id) as ColumnPlan),
    aggregates: [...view.aggregates].sort(byName).map((draft): AggregatePlan => {
      const { path: _path, ...choice } = draft;
      const column = columnOf(draft);
      return { ...choice, field: column.field, column: ids.indexOf(columnId(column)) };
    }),
  };
}

function fieldsOf(view: ViewDraft): FieldPath[] {
  const aggregated = view.aggregates.map((aggregate) => aggregate.path);
  return [...view.groupBy, ...aggregated.filter((path) => path !== null)];
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
