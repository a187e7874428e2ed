/**
 * The answers of a run, held against two recounts: the one of exactly its logs, from which no answer may differ, and the
 * ideal one, from which the pipeline's own settings may make it differ.
 */
import type { Plan, ViewPlan } from '../core/definition/plan.ts';
import type { AnswerRow } from '../core/query/view-answer.ts';
import {
  differenceOf,
  mergeRecounts,
  type RecountRow,
  rowId,
  type ShardRecount,
} from '../simulation/recount.ts';
import { type IdealRecount, idealRecount } from '../simulation/recount-ideal.ts';
import type { ShardLog } from './arrivals.ts';
import type { MemoryRun } from './memory-run.ts';
import type { TimedRecord } from './timed-records.ts';

export interface Differences {
  /** What Tidemark answers wrongly, whatever the settings are. */
  readonly broken: readonly string[];
  /** By view: rows whose answer is not the ideal one. */
  readonly wrongRows: ReadonlyMap<string, number>;
}

export async function differencesOf(
  plan: Plan,
  run: Pick<MemoryRun, 'rows'>,
  recounts: readonly ShardRecount[],
  ideal: IdealRecount,
): Promise<Differences> {
  const expected = mergeRecounts(plan, recounts);
  const broken: string[] = [];
  const wrongRows = new Map<string, number>();
  for (const view of plan.views) {
    const found = new Map((await run.rows(view.name)).map((row) => [idOf(view, row), row]));
    broken.push(...compare(view, expected.get(view.name), found));
    wrongRows.set(view.name, compare(view, ideal.views.get(view.name), found).length);
  }
  return { broken, wrongRows };
}

/** Every record once, whatever was sent again: in the order in which the first copies came. */
export function idealOf(
  plan: Plan,
  records: readonly TimedRecord[],
  logs: readonly ShardLog[],
): IdealRecount {
  const arrivalMs = new Map<number, number>();
  for (const { records: arrived } of logs) {
    for (const { index, arrivalMs: ms } of arrived) {
      arrivalMs.set(index, Math.min(ms, arrivalMs.get(index) ?? ms));
    }
  }
  const logged = records.map(({ index, data, partitionKey }) => ({
    sequenceNumber: String(index + 1),
    subSequence: 0,
    partitionKey,
    arrivalMs: arrivalMs.get(index) ?? 0,
    data,
  }));
  return idealRecount(plan, [logged.sort((a, b) => a.arrivalMs - b.arrivalMs)]);
}

function compare(
  view: ViewPlan,
  expected: ReadonlyMap<string, RecountRow> = new Map(),
  found: ReadonlyMap<string, AnswerRow>,
): string[] {
  const ids = new Set([...expected.keys(), ...found.keys()]);
  return [...ids]
    .map((id) => differenceOf(view, expected.get(id), found.get(id)))
    .filter((difference) => difference !== null);
}

function idOf({ groupBy }: ViewPlan, { key, window }: AnswerRow): string {
  const values = groupBy.map(({ name }) => key[name] as string | number | boolean | null);
  return rowId(values, window === null ? null : Date.parse(window.start));
}
