/**
 * A small pipeline and logs for it that have everything in them: several windows that close, late records for each
 * policy, duplicates, bad records, records that no view selects; and a recount of them that shares no code with the fold.
 */
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { Plan } from '../../core/definition/plan.ts';
import type { StreamRecord } from '../../core/ports.ts';
import type { Position } from '../../core/position.ts';

export const SHARD = 'shardId-000000000000';
export const SLICE = 'slice-000000000000';

const WINDOW_MS = 10_000;
const LATENESS_MS = 5_000;
const WITHIN_MS = 60_000;

const aggregates = {
  records: { count: '*' },
  total: { sum: 'amount' },
  largest: { max: 'amount' },
  typical: { quantile: 'amount', at: [0.5] },
};

const windowed = { groupBy: ['key'], window: { tumbling: '10s' }, aggregates };

const SMALL_VIEWS = {
  all_time: { category: 'a', groupBy: ['key'], aggregates },
  updated: { category: 'a', ...windowed },
  dropped: { category: 'a', late: 'drop', ...windowed },
  put_aside: { category: 'b', late: 'side', ...windowed },
};

export const smallPlan: Plan = planOf(SMALL_VIEWS);

/** A later plan of the same pipeline: `dropped` is gone, `by_type` is new, the others stay as they are. */
export const laterPlan: Plan = (() => {
  const { dropped: _, ...views } = SMALL_VIEWS;
  return planOf({ ...views, by_type: { groupBy: ['type'], aggregates } });
})();

function planOf(views: Record<string, unknown>): Plan {
  const parsed = parsePlan({
    name: 'small',
    time: { field: 't', lateness: '5s', skew: 'none' },
    category: { field: 'type' },
    dedupe: { id: 'id', within: '60s' },
    views,
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

export interface SmallRecord {
  readonly id: number;
  readonly t: number;
  readonly type: 'a' | 'b' | 'c';
  readonly key: string;
  readonly amount: number;
}

/** A record's place and bytes; null stands for bytes that are no JSON. */
export function toStreamRecord(record: SmallRecord | null, index: number): StreamRecord {
  const text = record === null ? '{"broken' : JSON.stringify(record);
  return {
    sequenceNumber: String(9_999_999_990n + BigInt(index) * 7n),
    subSequence: 0,
    partitionKey: 'p',
    arrivalMs: 1_000_000 + index,
    data: new TextEncoder().encode(text),
  };
}

/** The records with several inside one Kinesis record, as a KPL aggregate brings them: so many in each, in turn. */
export function insideKinesisRecords(
  records: readonly StreamRecord[],
  sizes: readonly number[],
): StreamRecord[] {
  const inside: StreamRecord[] = [];
  for (let at = 0, turn = 0; at < records.length; turn++) {
    const together = records.slice(at, at + (sizes[turn % sizes.length] as number));
    const { sequenceNumber, arrivalMs } = together[0] as StreamRecord;
    const lastSubSequence = together.length - 1;
    for (const [subSequence, record] of together.entries()) {
      const place = { sequenceNumber, subSequence, arrivalMs };
      inside.push({ ...record, ...place, ...(lastSubSequence > 0 ? { lastSubSequence } : {}) });
    }
    at += together.length;
  }
  return inside;
}

/** Names a record in a test's output: its sequence number, and where it stands inside the Kinesis record if not first. */
export function nameOfRecord({ sequenceNumber, subSequence }: Position): string {
  return subSequence === 0 ? sequenceNumber : `${sequenceNumber}.${subSequence}`;
}

/** Sound records, all of them folded. */
export function soundLog(length = 60): SmallRecord[] {
  return Array.from({ length }, (_, id) => ({
    id,
    t: 100_000 + id * 700,
    type: id % 3 === 0 ? 'b' : 'a',
    key: `k${id % 4}`,
    amount: id,
  }));
}

/** Random, but the same for the same seed (xorshift). */
export function randomLog(length: number, seed: number): (SmallRecord | null)[] {
  let state = seed * 2 + 1;
  const below = (limit: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
  const log: (SmallRecord | null)[] = [];
  let now = 100_000;
  for (let id = 0; id < length; id++) {
    now += below(4_000);
    const kind = below(12);
    const earlier = log.at(-1 - below(3));
    if (kind === 0) log.push(null);
    else if (kind === 1 && earlier != null) log.push(earlier);
    else {
      const type = (['a', 'a', 'a', 'b', 'c'] as const)[below(5)] as SmallRecord['type'];
      const t = kind <= 3 ? now - below(30_000) : now;
      const amount = below(3) === 0 ? below(100) / 8 + 0.1 : below(100) - 30;
      log.push({ id, t, type, key: `k${below(3)}`, amount });
    }
  }
  return log;
}

/** A plan, and the index of the first record that was folded under it. */
export interface PlanSpan {
  readonly plan: Plan;
  readonly from: number;
}

export interface Recount {
  /** By view, then by `key` or `key@window start`: how many records and their amounts. */
  readonly groups: Record<string, Record<string, number[]>>;
  readonly counts: Record<string, number>;
  /** Names of what was quarantined, redriven or not. */
  readonly inQuarantine: string[];
}

const WHOLE_LOG: readonly PlanSpan[] = [{ plan: smallPlan, from: 0 }];

/**
 * What a fold of the log must give, counted plainly. `redriven` are names of late records that came back since: the event of
 * none of them may be in the log twice. `records` are the log as the stream has it, where that is not `toStreamRecord` of each.
 */
export function recount(
  log: readonly (SmallRecord | null)[],
  spans = WHOLE_LOG,
  redriven: ReadonlySet<string> = new Set(),
  records: readonly Position[] = log.map(toStreamRecord),
): Recount {
  let groups: Recount['groups'] = {};
  const counts = { folded: 0, duplicates: 0, late: 0, quarantined: 0, unmatched: 0, heartbeats: 0 };
  const inQuarantine: string[] = [];
  const keepUntil = new Map<number, number>();
  let watermark = Number.NEGATIVE_INFINITY;
  const put = (view: string, group: string, amount: number) => {
    const all = groups[view];
    if (all === undefined) return false;
    all[group] = [...(all[group] ?? []), amount];
    return true;
  };
  for (const [index, record] of log.entries()) {
    for (const { plan, from } of spans) if (from === index) groups = beginning(plan, groups);
    const name = nameOfRecord(records[index] as Position);
    if (record === null) {
      inQuarantine.push(name);
      counts.quarantined++;
      continue;
    }
    const { id, t, type, key, amount } = record;
    if ((keepUntil.get(id) ?? Number.NEGATIVE_INFINITY) > watermark) {
      counts.duplicates++;
      continue;
    }
    const start = Math.floor(t / WINDOW_MS) * WINDOW_MS;
    const isLate = start + WINDOW_MS <= watermark;
    const group = `${key}@${start}`;
    const isAside = type === 'b' && isLate;
    let folded = put('by_type', type, amount);
    if (type === 'a') {
      folded = put('all_time', key, amount);
      put('updated', group, amount);
      if (!isLate) put('dropped', group, amount);
    }
    if (isAside) inQuarantine.push(name);
    if (type === 'b' && (!isLate || redriven.has(name))) {
      folded = put('put_aside', group, amount);
    }
    if (folded) {
      counts.folded++;
      keepUntil.set(id, Math.max(t, watermark) + WITHIN_MS);
    } else if (isAside) counts.quarantined++;
    else counts.unmatched++;
    watermark = Math.max(watermark, t - LATENESS_MS);
  }
  for (const { plan, from } of spans) if (from === log.length) groups = beginning(plan, groups);
  return { groups, counts, inQuarantine };
}

/** Views that the plan before had go on; the others begin here. */
function beginning(plan: Plan, before: Recount['groups']): Recount['groups'] {
  return Object.fromEntries(plan.views.map(({ name }) => [name, before[name] ?? {}]));
}
