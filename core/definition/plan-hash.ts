/**
 * Hashes of meaning. The order of keys in the file, the spelling of durations and paths, and defaults that are spelled
 * out or not change neither hash.
 *
 * - The plan's covers everything: another hash is another pipeline.
 * - A view's covers what an entry of it stands for: which kind of event, under which key and in which window. Where it has
 *   windows, the field, unit and zone of the time count too. What each aggregate keeps is known by its kind and field apart
 *   from it (`ViewPlan.columns`). All else is policy: skew, earliest, lateness, late, idle, dedupe, names, order and ranks
 *   hold from a switch on and cost no state.
 * - The time's covers how a time is read out of a record: under another one the same record has another time.
 */
import { hashTextHex } from '../hash.ts';
import { formatFieldPath } from './field-path.ts';
import { windowSpan } from './kinds/window-kinds.ts';
import {
  canonicalJson,
  type PlanMeaning,
  planToJson,
  type ViewMeaning,
  viewToJson,
} from './plan-json.ts';

/** 32 hex digits of the whole meaning. */
export function planHash(plan: PlanMeaning): string {
  return hashTextHex(`plan 1 ${canonicalJson(planToJson(plan))}`);
}

/** 32 hex digits of what an entry of the view stands for. */
export function viewHash(plan: PlanMeaning, view: ViewMeaning): string {
  return hashTextHex(`view 2 ${canonicalJson(viewMeaning(plan, view))}`);
}

/** 16 hex digits of how records get their times. Arrival times are the same in every zone. */
export function timeHash({ time, zone }: Pick<PlanMeaning, 'time' | 'zone'>): string {
  const { path, unitMs } = time ?? {};
  const meaning = path === undefined ? null : [formatFieldPath(path), unitMs, zone];
  return hashTextHex(`time 1 ${JSON.stringify(meaning)}`).slice(0, 16);
}

/** What the hash of a view covers. */
export function viewMeaning(
  plan: PlanMeaning,
  view: ViewMeaning,
): Readonly<Record<string, unknown>> {
  const { time, category } = planToJson(plan);
  const { groupBy, window } = viewToJson(plan, view);
  const span = windowSpan(view.window);
  const isTimed = span !== null;
  const cutsDays = isTimed && span.days > 0;
  return {
    category: view.category ?? undefined,
    'category.field': view.category === null ? undefined : category?.field,
    groupBy,
    window,
    'time.field': isTimed ? time?.field : undefined,
    'time.unit': isTimed ? time?.unit : undefined,
    'time.zone': isTimed && (plan.time !== null || cutsDays) ? time?.zone : undefined,
  };
}
