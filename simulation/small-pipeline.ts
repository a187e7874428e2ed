/**
 * A pipeline with everything in it, and records for it: each aggregate, window and late policy, two categories and records of
 * none, ids that repeat, times out of order, late ones, ones too far ahead, and bytes that are no record.
 */
import { encodeText } from '../core/bytes.ts';
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { Plan } from '../core/definition/plan.ts';
import type { ProducedRecord, RecordGenerator } from './producer.ts';
import type { Random } from './random.ts';

const aggregates = {
  records: { count: '*' },
  amounts: { count: 'amount' },
  total: { sum: 'amount' },
  smallest: { min: 'amount' },
  largest: { max: 'amount' },
  average: { mean: 'amount' },
  typical: { quantile: 'amount', at: [0.5, 0.99] },
};

/** Each view more costs every audit: one of each state of a window has all aggregates. */
const few = { records: { count: '*' }, total: { sum: 'amount' } };

const smallPipeline = {
  name: 'simulated',
  time: { field: 'at', lateness: '5s', skew: '1m', idle: '20s' },
  category: { field: 'type' },
  dedupe: { id: 'id', within: '60s' },
  views: {
    ever: { groupBy: ['place.city'], aggregates },
    everything: { aggregates: { records: { count: '*' } } },
    updated: { category: 'sale', groupBy: ['place.city'], window: { tumbling: '10s' }, aggregates },
    dropped: {
      category: 'sale',
      groupBy: ['place.city', 'size'],
      window: { tumbling: '30s' },
      late: 'drop',
      aggregates: few,
    },
    put_aside: {
      category: 'refund',
      groupBy: ['size'],
      window: { tumbling: '10s' },
      late: 'side',
      aggregates: few,
    },
    daily: { category: 'sale', window: { tumbling: '1d' }, aggregates: few },
  },
} as const;

export const smallPlan: Plan = planOf(smallPipeline);

/**
 * What it may be changed to: some views other, one gone, one new; other policies, so that all goes on; aggregates that come, go and
 * get other names, in views that do; aggregates that are gone of all of them, so that others begin anew when they come back.
 */
export const otherSmallPlans: readonly Plan[] = [
  planOf({
    ...smallPipeline,
    views: {
      ...smallPipeline.views,
      daily: undefined,
      dropped: { ...smallPipeline.views.dropped, window: { tumbling: '20s' } },
      refunds: { category: 'refund', window: { tumbling: '1m' }, aggregates: few },
    },
  }),
  planOf({
    ...smallPipeline,
    time: { ...smallPipeline.time, lateness: '8s', skew: '2m', idle: undefined },
    dedupe: { id: 'id', within: '20s' },
    views: {
      ...smallPipeline.views,
      dropped: { ...smallPipeline.views.dropped, late: 'side' },
      put_aside: { ...smallPipeline.views.put_aside, late: 'update' },
    },
  }),
  planOf({
    ...smallPipeline,
    time: { ...smallPipeline.time, lateness: '2s' },
    dedupe: undefined,
    views: {
      every: { ...smallPipeline.views.everything, aggregates: { n: { count: '*' }, ...few } },
      ever: { ...smallPipeline.views.ever, aggregates: { sum: { sum: 'amount' } } },
      updated: {
        ...smallPipeline.views.updated,
        aggregates: { a: { quantile: 'amount', at: [0.1] }, b: { max: 'amount' } },
      },
      aside: { ...smallPipeline.views.put_aside, aggregates: { total: few.total } },
    },
  }),
];

function planOf(pipeline: object): Plan {
  const parsed = parsePlan(JSON.parse(JSON.stringify(pipeline)));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

const BAD_BYTES: readonly Uint8Array[] = [
  encodeText('{"broken'),
  encodeText('[]'),
  encodeText(''),
  new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
  encodeText('{"id":1,"type":"sale"}'),
];
const IDS_BEFORE_REUSE = 10;
const KNOWN_MAX = 20;

/** A new generator, for one run. */
export function smallRecords(): RecordGenerator {
  let nextId = 1;
  const sent: ProducedRecord[] = [];
  return (random, nowMs) => {
    const partitionKey = `p${random.below(16)}`;
    if (random.chance(0.05)) return { partitionKey, data: random.pick(BAD_BYTES) };
    // The same record under another key goes to another shard, where its id is new.
    if (random.chance(0.05) && sent.length > 0) return random.pick(sent);
    // Some producers count their records anew each day, say: an id that another record had.
    const isReused = random.chance(0.03) && nextId > IDS_BEFORE_REUSE;
    const id = isReused ? 1 + random.below(nextId - 1) : nextId++;
    const data = encodeText(JSON.stringify(drawEvent(id, random, nowMs)));
    sent.push({ partitionKey, data });
    if (sent.length > KNOWN_MAX) sent.shift();
    return { partitionKey, data };
  };
}

function drawEvent(id: number, random: Random, nowMs: number): object {
  const at = nowMs + drawShift(random);
  return {
    id: random.chance(0.5) ? id : String(id),
    at: random.chance(0.5) ? at : new Date(at).toISOString(),
    ...(random.chance(0.1)
      ? {}
      : { type: random.pick(['sale', 'sale', 'sale', 'refund', 'other']) }),
    place: random.chance(0.1) ? null : { city: random.pick(['Ulm', 'Köln', 'Rom', null, 7, true]) },
    size: random.pick([1, 1, 2, 'L', null]),
    ...(random.chance(0.1) ? {} : { amount: drawAmount(random) }),
  };
}

/** Mostly a little behind now; some are late, some ahead, a few further ahead than they may be. */
function drawShift(random: Random): number {
  const kind = random.below(20);
  if (kind === 0) return random.between(0, 50_000);
  if (kind === 1) return random.between(61_000, 600_000);
  if (kind <= 4) return -random.below(60_000);
  return -random.below(3_000);
}

function drawAmount(random: Random): unknown {
  const kind = random.below(12);
  if (kind === 0) return null;
  if (kind === 1) return 'a lot';
  if (kind === 2) return random.pick([1e15, -1e15, 1e-9, 0, -0]);
  if (kind <= 5) return random.below(1000) / 8 + 0.1;
  return random.between(-30, 100);
}
