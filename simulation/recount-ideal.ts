/**
 * What a person means by a pipeline: each readable record once, in the window of its own time, whenever and wherever it
 * came. Lateness, skew and the time for which ids are kept cost nothing here, so the difference is what they cost.
 */
import type { Plan, ViewPlan } from '../core/definition/plan.ts';
import {
  isHeartbeat,
  type JudgedRecord,
  type LoggedRecord,
  RecordJudge,
  selects,
} from './recount-record.ts';
import { emptyViews, groupKeyOf, type RecountRow, type Rows, rowOf } from './recount-row.ts';
import { calendarOf, type LocalCalendar, windowAt } from './recount-time.ts';

export interface IdealRecount {
  readonly views: ReadonlyMap<string, ReadonlyMap<string, RecountRow>>;
  /** Records that count, of all that were given. */
  readonly countedCount: number;
  /** Records whose id another one had before. */
  readonly duplicateCount: number;
}

/** `shards` are the records of each shard; ids are known across shards, those of the first shard first. */
export function idealRecount(
  plan: Plan,
  shards: readonly (readonly LoggedRecord[])[],
): IdealRecount {
  const calendar = calendarOf(plan.zone);
  const judge = new RecordJudge(plan, calendar, 'earliest');
  const views = emptyViews(plan);
  const ids = new Set<string>();
  let countedCount = 0;
  let duplicateCount = 0;
  for (const record of shards.flat()) {
    if (isHeartbeat(record)) continue;
    const judged = judge.judge(record);
    if (typeof judged === 'string') continue;
    if (judged.id !== null && ids.has(judged.id)) {
      duplicateCount++;
      continue;
    }
    const selecting = plan.views.filter((view) => selects(view, judged));
    if (selecting.length === 0) continue;
    if (judged.id !== null) ids.add(judged.id);
    countedCount++;
    for (const view of selecting) put(views.get(view.name) as Rows, view, judged, calendar);
  }
  return { views, countedCount, duplicateCount };
}

function put(rows: Rows, view: ViewPlan, record: JudgedRecord, calendar: LocalCalendar): void {
  const { startMs } = windowAt(view.window, calendar, record.timeMs);
  const key = groupKeyOf(view, record);
  rowOf(rows, view, key, view.window.kind === 'all' ? null : startMs).add(record);
}
