/**
 * Hashes of meaning. The order of keys in the file, the spelling of durations and paths, and defaults that are spelled
 * out or not change neither hash.
 *
 * - The plan's covers everything: another hash is another pipeline.
 * - A view's covers what its state is a function of: which records it takes, when each of them counts and under which
 *   key, window and accumulators. Pipeline settings count where they reach it: category field, time field and unit,
 *   skew and dedupe always (they decide which records fold), the zone where it can be read from a time or cuts days,
 *   lateness and idle where windows close or ids expire. The view's name and the ranks of quantiles do not: they name and read
 *   state, and change none of it. The aggregates' names do, since the state is laid out in their order.
 */
import { hashTextHex } from '../hash.ts';
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

/** 32 hex digits of the meaning of the view's state. */
export function viewHash(plan: PlanMeaning, view: ViewMeaning): string {
  const { time, category, dedupe } = planToJson(plan);
  const { aggregates, ...rest } = viewToJson(plan, view);
  const closes = view.window.kind !== 'all';
  const cutsDays = view.window.kind === 'tumbling' && view.window.days > 0;
  const state = {
    ...rest,
    aggregates: Object.entries(aggregates).map(([name, aggregate]) => {
      return 'quantile' in aggregate ? [name, { quantile: aggregate.quantile }] : [name, aggregate];
    }),
    categoryField: view.category === null ? undefined : category?.field,
    time: {
      field: time?.field,
      unit: time?.unit,
      skew: time?.skew,
      zone: plan.time !== null || cutsDays ? time?.zone : undefined,
      idle: closes || plan.dedupe !== null ? time?.idle : undefined,
      lateness: closes || plan.dedupe !== null ? time?.lateness : undefined,
    },
    dedupe,
  };
  return hashTextHex(`view 1 ${canonicalJson(state)}`);
}
