/**
 * The slice whose stored objects are kept in test/golden: every kind of aggregate, window, group value and late policy in
 * two epochs, the second with a base and a run. Once a version is released, nothing here may change: the files of
 * that version would not be this slice's any more.
 */
import { MemoryPorts } from '../../../adapters/memory/memory-ports.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { HeadItem, PlanRegistry, StreamRecord } from '../../../core/ports.ts';
import { SliceTask } from '../../../core/task/slice-task.ts';
import { SHARD, SLICE } from '../../world/small-log.ts';
import { planOf } from '../state/fold-fixture.ts';

export const goldenPlan = planOf({
  name: 'golden',
  time: { field: 't', lateness: '1s', skew: 'none', zone: 'Europe/Berlin' },
  dedupe: { id: 'id', within: '1h' },
  views: {
    all_time: {
      groupBy: ['key', 'other'],
      aggregates: {
        count: { count: '*' },
        largest: { max: 'n' },
        mean: { mean: 'n' },
        smallest: { min: 'n' },
        sum: { sum: 'n' },
        typical: { quantile: 'n', at: [0, 0.5, 1] },
      },
    },
    daily: { window: { tumbling: '1d' }, aggregates: { count: { count: 'n' } } },
    windowed: {
      groupBy: ['key'],
      window: { tumbling: '1m' },
      aggregates: { count: { count: '*' }, sum: { sum: 'n' } },
    },
  },
});

const LOG: readonly unknown[] = [
  { id: 'a', t: 1_000, key: 'x', other: null, n: 3 },
  { id: 1, t: 2_000, key: 'x\0\ud800é😀', other: -1.5, n: 0.1 },
  { id: 'a', t: 3_000, key: 'x', n: 99 },
  '{"broken',
  { id: 'b', t: 130_000, key: true, other: '__proto__', n: -2.5 },
  { id: 'c', t: 500, key: 'x', other: 0, n: 4 },
  { id: 'd', t: -90_000_000, key: false, other: 9_007_199_254_740_991, n: null },
  { id: 'e', t: 131_000, key: 'x', n: 1e-300 },
];

function recordAt(index: number): StreamRecord {
  const record = LOG[index];
  const text = typeof record === 'string' ? record : JSON.stringify(record);
  return {
    sequenceNumber: `4959033827149025660855969253836157109592157598913658${8_000 + index * 3}`,
    subSequence: 0,
    partitionKey: `pk-${index}`,
    arrivalMs: 1_700_000_000_000 + index,
    data: new TextEncoder().encode(text),
  };
}

export interface GoldenObjects {
  readonly head: HeadItem;
  /** By key. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

const FIRST_PLAN: PlanRegistry = {
  active: async () => ({ ordinal: 0, hash: goldenPlan.hash, pipeline: '{}' }),
  activate: async () => 'refused',
};

/** What today's code stores for the slice. */
export async function storeGoldenSlice(): Promise<GoldenObjects> {
  const ports = new MemoryPorts(1_700_000_100_000, { chainLengthMax: 2 });
  const { heads, blobs, source } = ports;
  for (let index = 0; index < 8; index++) source.append(SHARD, recordAt(index));
  const identity = { sliceId: SLICE, shardId: SHARD };
  const task = new SliceTask(identity, goldenPlan, createJsonDecoder(goldenPlan), {
    ...ports,
    plans: FIRST_PLAN,
  });
  await task.deliver([0, 1, 2, 3].map(recordAt), () => 60_000);
  await task.deliver([4, 5, 6, 7].map(recordAt), () => 60_000);
  const stored = new Map<string, Uint8Array>();
  for (const store of [blobs.items, blobs.objects]) {
    for (const { key } of await store.list(`${SLICE}/`, null, 100)) {
      stored.set(key, (await store.read(key)) as Uint8Array);
    }
  }
  return { head: (await heads.readHead(SLICE)) as HeadItem, blobs: stored };
}
