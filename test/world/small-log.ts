/**
 * A small pipeline and logs for it that have everything in them: several windows that close, late records for each
 * policy, duplicates, bad records, records that no view selects; and a recount of them that shares no code with the fold.
 */
import { parsePlan } from '../../core/definition/parse-plan.ts';
import type { Plan } from '../../core/definition/plan.ts';
import type { StreamRecord } from '../../core/ports.ts';

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

export const smallPlan: Plan = (() => {
  const parsed = parsePlan({
    name: 'small',
    time: { field: 't', lateness: '5s', skew: 'none' },
    category: { field: 'type' },
    dedupe: { id: 'id', within: '60s' },
    views: {
      all_time: { category: 'a', groupBy: ['key'], aggregates },
      updated: { category: 'a', groupBy: ['key'], window: { tumbling: '10s' }, aggregates },
      dropped: {
        category: 'a',
        groupBy: ['key'],
        window: { tumbling: '10s' },
        late: 'drop',
        aggregates,
      },
      put_aside: {
        category: 'b',
        groupBy: ['key'],
        window: { tumbling: '10s' },
        late: 'side',
        aggregates,
      },
    },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
})();

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

export interface Recount {
  /** By view, then by `key` or `key@window start`: how many records and their amounts. */
  readonly groups: Record<string, Record<string, number[]>>;
  readonly counts: Record<string, number>;
  /** Sequence numbers in the quarantine. */
  readonly quarantined: string[];
}

/** What a fold of the log must give, counted plainly. */
export function recount(log: readonly (SmallRecord | null)[]): Recount {
  const groups: Recount['groups'] = { all_time: {}, updated: {}, dropped: {}, put_aside: {} };
  const counts = { folded: 0, duplicates: 0, late: 0, quarantined: 0, unmatched: 0, heartbeats: 0 };
  const quarantined: string[] = [];
  const keepUntil = new Map<number, number>();
  let watermark = Number.NEGATIVE_INFINITY;
  const put = (view: string, group: string, amount: number) => {
    const all = groups[view] as Record<string, number[]>;
    all[group] = [...(all[group] ?? []), amount];
  };
  for (const [index, record] of log.entries()) {
    const { sequenceNumber } = toStreamRecord(record, index);
    if (record === null) {
      quarantined.push(sequenceNumber);
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
    if (type === 'a') {
      put('all_time', key, amount);
      put('updated', group, amount);
      if (!isLate) put('dropped', group, amount);
    }
    if (type === 'b' && !isLate) put('put_aside', group, amount);
    if (type === 'b' && isLate) quarantined.push(sequenceNumber);
    if (type === 'c') counts.unmatched++;
    else if (type === 'b' && isLate) counts.quarantined++;
    else {
      counts.folded++;
      keepUntil.set(id, Math.max(t, watermark) + WITHIN_MS);
    }
    watermark = Math.max(watermark, t - LATENESS_MS);
  }
  return { groups, counts, quarantined };
}
