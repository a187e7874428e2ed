import { describe, expect, it } from 'vitest';
import { InvariantFault } from '../../../core/faults.ts';
import { FOLDED_RECORD_BYTES_MAX, GROUP_KEY_BYTES_MAX } from '../../../core/limits.ts';
import { totalRecords } from '../../../core/state/counters.ts';
import {
  ARRIVAL_MS,
  closedOf,
  emptyState,
  foldAll,
  planOf,
  recordAt,
  rowsOf,
} from './fold-fixture.ts';

const AGGREGATES = { records: { count: '*' }, total: { sum: 'n' } };

const plan = planOf({
  name: 'p',
  time: { field: 't', lateness: '5s', skew: '10m', earliest: '1970-01-01T00:00:01Z' },
  category: { field: 'type' },
  dedupe: { id: 'id', within: '1m' },
  views: {
    all: { groupBy: ['key'], aggregates: AGGREGATES },
    a_only: { category: 'a', groupBy: ['key', 'part'], aggregates: AGGREGATES },
  },
});

const good = (id: number, more: object = {}) => ({ id, t: 100_000, key: 'k', n: 1, ...more });
const text = (record: object) => JSON.stringify(record);

/** A record of more than 409 bytes whose `a_only` key has exactly `bytes` bytes. */
const keyOfBytes = (bytes: number) => good(9, { type: 'a', key: 'k'.repeat(bytes - 3) });

const BAD: [reason: string, what: string, data: unknown, detail: RegExp][] = [
  ['not-json', 'half of an object', '{"id": 9', /not JSON/],
  ['not-json', 'no data', '', /no data/],
  ['not-json', 'bytes that are not UTF-8', Uint8Array.of(0x7b, 0xff, 0x7d), /not UTF-8/],
  ['not-an-object', 'an array', '[]', /array/],
  ['no-time', 'an object without a time', { id: 9, n: 1 }, /"t"/],
  ['no-dedupe-id', 'a record without its id', { t: 100_000, n: 1 }, /"id"/],
  ['wrong-type', 'text to be summed', good(9, { n: '1' }), /"n"/],
  ['wrong-type', 'an object to group by', good(9, { key: {} }), /"key"/],
  ['wrong-type', 'a category that is no text', good(9, { type: 1 }), /"type"/],
  ['not-finite', 'a number beyond doubles', text(good(9)).replace('"n":1', '"n":1e999'), /"n"/],
  [
    'integer-too-large',
    'a key that doubles cannot tell',
    text(good(9)).replace('"k"', '9007199254740993'),
    /"key"/,
  ],
  [
    'too-far-in-the-future',
    'a time 1 ms beyond the skew',
    good(9, { t: ARRIVAL_MS + 600_001 }),
    /^event time 1600001 read as milliseconds is 1970-01-01T00:26:40.001Z, 10m1ms after its arrival; at most 10m \(time\.skew\) is allowed/,
  ],
  [
    'too-far-in-the-past',
    'a time 1 ms before the earliest',
    good(9, { t: 999 }),
    /^event time 999 read as milliseconds is 1970-01-01T00:00:00.999Z, before 1970-01-01T00:00:01Z \(time.earliest\)$/,
  ],
  [
    'too-far-in-the-past',
    'text of long ago',
    good(9, { t: '1969-07-20T20:17:40Z' }),
    /^event time is 1969-07-20T20:17:40Z, before 1970-01-01T00:00:01Z \(time.earliest\)$/,
  ],
  [
    'group-key-too-large',
    'a key of one byte too many',
    keyOfBytes(GROUP_KEY_BYTES_MAX + 1),
    /view 'a_only' has 4097 bytes, at most 4096/,
  ],
  [
    'record-too-large',
    'a record of one byte too many',
    text(good(9)).padEnd(FOLDED_RECORD_BYTES_MAX + 1),
    /1048577 bytes, at most 1048576/,
  ],
];

describe('a bad record', () => {
  it.each(BAD)('is quarantined as %s: %s', (reason, _, data, detail) => {
    const state = foldAll(plan, [good(1), data, good(2)]);
    const original = recordAt(1, data);
    expect(state.progress.counts).toEqual({
      folded: 2,
      duplicates: 0,
      late: 0,
      quarantined: 1,
      unmatched: 0,
      heartbeats: 0,
    });
    const [record] = state.quarantined;
    const { sequenceNumber, subSequence, partitionKey, arrivalMs } = original;
    expect(record).toMatchObject({ sequenceNumber, subSequence, partitionKey, arrivalMs, reason });
    expect(record?.detail).toMatch(detail);
    expect(Buffer.compare(record?.data as Uint8Array, original.data)).toBe(0);
  });

  it.each(BAD)('changes nothing for its neighbours: %s, %s', (_, __, data) => {
    const state = foldAll(plan, [good(1, { type: 'a' }), data, good(2, { type: 'a' })]);
    const without = foldAll(plan, [good(1, { type: 'a' }), good(2, { type: 'a' })]);
    expect(state.progress.watermarkMs).toBe(without.progress.watermarkMs);
    expect(rowsOf(state)).toEqual(rowsOf(without));
  });

  it.each(BAD)('still moves the position and counts for the digest: %s, %s', (_, __, data) => {
    const state = foldAll(plan, [data]);
    expect(state.position).toEqual({ sequenceNumber: '1000', subSequence: 0 });
    expect(state.progress.digest.value()).toEqual(foldAll(plan, [good(1)]).progress.digest.value());
    expect(state.progress.watermarkMs).toBe(Number.NEGATIVE_INFINITY);
  });

  it('leaves its id unknown, so that a sound record may use it', () => {
    const state = foldAll(plan, [good(9, { n: 'x' }), good(9)]);
    expect(state.progress.counts).toMatchObject({ folded: 1, quarantined: 1 });
  });
});

it('names the unit that was meant where seconds are read as milliseconds, and the other way round', () => {
  const views = { v: { aggregates: { n: { count: '*' } } } };
  const detailOf = (time: object, t: number) =>
    foldAll(planOf({ name: 'p', time: { field: 't', ...time }, views }), [{ t }]).quarantined[0];
  expect(detailOf({ skew: 'none', earliest: '2000-01-01' }, 1_717_171_717)).toMatchObject({
    reason: 'too-far-in-the-past',
    detail:
      'event time 1717171717 read as milliseconds is 1970-01-20T20:59:31.717Z, before 2000-01-01T00:00:00Z (time.earliest); as seconds it is 2024-05-31T16:08:37Z: is time.unit "s"?',
  });
  expect(detailOf({ unit: 's' }, 978_307_260)).toMatchObject({ reason: 'too-far-in-the-future' });
  const ahead = detailOf({}, 4_000_000_000)?.detail;
  expect(ahead).toContain('as seconds it is 2096-10-02T07:06:40Z: is time.unit "s"?');
  expect(detailOf({ unit: 's' }, 1_717_171_717_000)).toMatchObject({ reason: 'no-time' });
});

it('writes times of a reason in the zone of the pipeline', () => {
  const time = { field: 't', zone: 'Europe/Berlin' };
  const { detail } = foldAll(
    planOf({ name: 'p', time, views: { v: { aggregates: { n: { count: '*' } } } } }),
    [{ t: '2026-06-15T12:00' }],
  ).quarantined[0] as { detail: string };
  expect(detail).toMatch(/^event time is 2026-06-15T12:00:00\+02:00, \d+d\S* after its arrival/);
});

describe('a record at a bound', () => {
  it('folds with the largest group key', () => {
    const state = foldAll(plan, [keyOfBytes(GROUP_KEY_BYTES_MAX)]);
    expect(state.progress.counts.folded).toBe(1);
  });

  it('folds with the largest data', () => {
    const state = foldAll(plan, [text(good(1)).padEnd(FOLDED_RECORD_BYTES_MAX)]);
    expect(state.progress.counts.folded).toBe(1);
  });

  it('folds with a time at the skew', () => {
    const state = foldAll(plan, [good(1, { t: ARRIVAL_MS + 600_000 })]);
    expect(state.progress.counts.folded).toBe(1);
  });

  it('is not judged by the keys of views that do not select it', () => {
    const state = foldAll(plan, [good(1, { part: 'x'.repeat(5_000) })]);
    expect(state.progress.counts.folded).toBe(1);
  });
});

describe('duplicates', () => {
  const twice = (second: object) => foldAll(plan, [good(1), { ...good(1), ...second }]);

  it('fold once, and move neither the watermark nor a window', () => {
    const state = twice({ t: 159_999 });
    expect(state.progress.counts).toMatchObject({ folded: 1, duplicates: 1 });
    expect(state.progress.watermarkMs).toBe(95_000);
    expect(rowsOf(state)['all']).toEqual({ 'k@0': [1, 1] });
  });

  it('are told by the text of the id: 1 and "1" are two', () => {
    expect(twice({ id: '1' }).progress.counts).toMatchObject({ folded: 2, duplicates: 0 });
  });

  it('fold again once the watermark reaches the end of their time, and not before', () => {
    const again = (watermarkMs: number) =>
      foldAll(plan, [good(1), good(2, { t: watermarkMs + 5_000 }), good(1)]).progress.counts;
    expect(again(159_999)).toMatchObject({ folded: 2, duplicates: 1 });
    expect(again(160_000)).toMatchObject({ folded: 3, duplicates: 0 });
  });

  it('are known across a commit', () => {
    const state = foldAll(plan, [good(1)]);
    state.commit();
    state.fold(recordAt(1, good(1)));
    expect(state.progress.counts).toMatchObject({ folded: 1, duplicates: 1 });
  });
});

describe('late records', () => {
  const late = planOf({
    name: 'p',
    time: { field: 't', lateness: '5s' },
    category: { field: 'type' },
    views: Object.fromEntries(
      (['update', 'side', 'drop'] as const).map((policy) => [
        policy,
        {
          category: policy,
          late: policy,
          groupBy: ['key'],
          window: { tumbling: '10s' },
          aggregates: AGGREGATES,
        },
      ]),
    ),
  });
  const at = (type: string, t: number, n = 1) => ({ type, t, key: 'k', n });

  it('update their window by a late partial', () => {
    const state = foldAll(late, [
      at('update', 1_000),
      at('update', 15_000),
      at('update', 2_000, 5),
    ]);
    expect(closedOf(state)[2]).toHaveLength(2);
    expect(state.progress.counts).toMatchObject({ folded: 3 });
    expect(rowsOf(state)['update']).toEqual({ 'k@0': [2, 6], 'k@10000': [1, 1] });
  });

  it('are quarantined whole where the view says so', () => {
    const state = foldAll(late, [at('side', 1_000), at('side', 15_000), at('side', 2_000, 5)]);
    expect(state.progress.counts).toMatchObject({ folded: 2, quarantined: 1 });
    expect(state.quarantined.map(({ reason, detail }) => [reason, detail])).toEqual([
      ['late', "its window had closed in 'side'"],
    ]);
    expect(rowsOf(state)['side']).toEqual({ 'k@0': [1, 1], 'k@10000': [1, 1] });
  });

  it('are dropped and counted where the view says so', () => {
    const state = foldAll(late, [at('drop', 1_000), at('drop', 15_000), at('drop', 2_000, 5)]);
    expect(state.progress.counts).toMatchObject({ folded: 2, late: 1, quarantined: 0 });
    expect(state.quarantined).toEqual([]);
  });

  it('are late from the end of the window plus the lateness on, and not before', () => {
    const afterWatermark = (t: number) =>
      foldAll(late, [at('drop', t), at('drop', 9_999)]).progress.counts;
    expect(afterWatermark(14_999)).toMatchObject({ folded: 2, late: 0 });
    expect(afterWatermark(15_000)).toMatchObject({ folded: 1, late: 1 });
  });

  it('have one class, by the view that took them, though several views judge them', () => {
    const mixed = planOf({
      name: 'p',
      time: { field: 't', lateness: '5s' },
      views: {
        dropped: { late: 'drop', window: { tumbling: '10s' }, aggregates: AGGREGATES },
        aside: { late: 'side', window: { tumbling: '10s' }, aggregates: AGGREGATES },
        for_ever: { aggregates: AGGREGATES },
      },
    });
    const state = foldAll(mixed, [at('', 1_000), at('', 15_000), at('', 2_000)]);
    expect(state.progress.counts).toMatchObject({ folded: 3, late: 0, quarantined: 0 });
    expect(state.progress).toMatchObject({ partlyQuarantined: 1, partlyDropped: 1 });
    expect(state.quarantined).toHaveLength(1);
    expect(totalRecords(state.progress.counts)).toBe(state.progress.digest.count);
  });
});

describe('an id', () => {
  const dedupe = planOf({
    name: 'p',
    time: { field: 't', lateness: '1h', skew: 'none' },
    dedupe: { id: 'id', within: '1m' },
    views: { all: { aggregates: AGGREGATES } },
  });
  const at = (id: string, t: number) => text({ id, t, n: 1 });
  const T = 1_700_000_000_000;
  const HOUR = 3_600_000;
  const countsAfter = (...records: string[]) => {
    const { counts, pastDedupe } = foldAll(dedupe, records).progress;
    return { folded: counts.folded, duplicates: counts.duplicates, pastDedupe };
  };

  it('is known for dedupe.within of event time, by the time of the record that has it too', () => {
    const expected = { folded: 1, duplicates: 1, pastDedupe: 0 };
    expect(countsAfter(at('a', T), at('a', T))).toEqual(expected);
    expect(countsAfter(at('a', T), at('a', T + 59_999))).toEqual(expected);
    // The watermark is an hour back, and has not passed the minute yet.
    expect(countsAfter(at('a', T), at('a', T + 60_000))).toEqual({
      ...expected,
      folded: 2,
      duplicates: 0,
    });
  });

  it('that is used again each day counts each day, and lets the watermark go on', () => {
    const days = Array.from({ length: 20 }, (_, day) =>
      ['1', '2', '3'].map((id) => [day, id] as const),
    );
    const records = days.flat().map(([day, id]) => at(id, T + day * 24 * HOUR));
    expect(countsAfter(...records)).toEqual({ folded: 60, duplicates: 0, pastDedupe: 0 });
  });

  it('is not known of a record that is older than that when it comes, which is counted', () => {
    const late = T + HOUR + 60_000;
    expect(countsAfter(at('a', T), at('b', late - 1), at('a', T))).toEqual({
      folded: 2,
      duplicates: 1,
      pastDedupe: 0,
    });
    expect(countsAfter(at('a', T), at('b', late), at('a', T))).toEqual({
      folded: 3,
      duplicates: 0,
      pastDedupe: 1,
    });
    // From then on its id is known again.
    expect(countsAfter(at('b', late), at('a', T), at('a', T))).toEqual({
      folded: 2,
      duplicates: 1,
      pastDedupe: 1,
    });
  });
});

describe('records that no view selects', () => {
  const selective = planOf({
    name: 'p',
    time: { field: 't', lateness: '5s' },
    category: { field: 'type' },
    views: { a: { category: 'a', aggregates: AGGREGATES } },
  });

  it('are counted, and their time counts', () => {
    const state = foldAll(selective, [{ t: 50_000 }, { t: 60_000, type: 'b', n: 'not asked' }]);
    expect(state.progress.counts).toMatchObject({ folded: 0, unmatched: 2, quarantined: 0 });
    expect(state.progress.watermarkMs).toBe(55_000);
    expect(state.openEntryCount).toBe(0);
  });
});

describe('time', () => {
  const views = { w: { window: { tumbling: '10s' }, aggregates: AGGREGATES } };

  it('may lie as far ahead as it likes without a skew', () => {
    const unbounded = planOf({ name: 'p', time: { field: 't', skew: 'none' }, views });
    const state = foldAll(unbounded, [{ t: 200_000_000_000_000, n: 1 }]);
    expect(state.progress.counts.folded).toBe(1);
    expect(state.progress.watermarkMs).toBe(200_000_000_000_000 - 60_000);
  });

  it('is the arrival where the plan names no field', () => {
    const byArrival = planOf({ name: 'p', views });
    const state = foldAll(byArrival, [{ n: 1 }, { n: 2, t: 5 }]);
    expect(state.progress.watermarkMs).toBe(ARRIVAL_MS - 60_000);
    expect(rowsOf(state)['w']).toEqual({ '@1000000': [2, 3] });
  });

  it('before 1970 lies in windows of its own', () => {
    const state = foldAll(planOf({ name: 'p', time: { field: 't' }, views }), [
      { t: -1, n: 1 },
      { t: 0, n: 2 },
      { t: -10_001, n: 4 },
    ]);
    expect(rowsOf(state)['w']).toEqual({ '@-20000': [1, 4], '@-10000': [1, 1], '@0': [1, 2] });
  });
});

describe('groups', () => {
  it('are told by value and kind, an absent field is null, and no name is special', () => {
    const keys = ['__proto__', 'constructor', '', '1', 1, 0, -0, true, null, undefined];
    const state = foldAll(
      plan,
      keys.map((key, id) => ({ ...good(id), key })),
    );
    expect(state.openEntryCount).toBe(8);
    expect(rowsOf(state)['all']).toMatchObject({
      'constructor@0': [1, 1],
      'null@0': [2, 2],
      '0@0': [2, 2],
      'true@0': [1, 1],
    });
  });

  it('skip a field that is absent or null in its own aggregate only', () => {
    const state = foldAll(plan, [good(1, { n: null }), { id: 2, t: 100_000, key: 'k' }, good(3)]);
    expect(rowsOf(state)['all']).toEqual({ 'k@0': [3, 1] });
  });
});

describe('the order of records', () => {
  it('is that of positions: folding one again is a broken invariant', () => {
    const state = emptyState(plan);
    state.fold(recordAt(1, good(1)));
    expect(() => state.fold(recordAt(1, good(1)))).toThrow(InvariantFault);
    expect(() => state.fold(recordAt(0, good(0)))).toThrow(InvariantFault);
    const again = { ...recordAt(1, good(2)), subSequence: 1 };
    expect(() => state.fold(again)).toThrow('records-are-folded-in-order');
    expect(state.progress.recordCount).toBe(1);
  });

  it('goes on inside a Kinesis record to its end, and is told apart from one that lacks some of it', () => {
    const inside = (index: number, subSequence: number, lastSubSequence = 2) => ({
      ...recordAt(index, good(subSequence)),
      ...{ subSequence, lastSubSequence },
    });
    const state = emptyState(plan);
    for (const sub of [0, 1]) {
      state.fold(inside(1, sub));
      expect(state.isWhole).toBe(false);
    }
    for (const other of [inside(2, 0), inside(1, 1), inside(1, 3), inside(1, 2, 4), inside(0, 2)]) {
      expect(() => state.fold(other)).toThrow('a-kinesis-record-is-folded-whole');
    }
    state.fold(inside(1, 2));
    expect(state.isWhole).toBe(true);
    expect(() => state.fold(inside(1, 3, 3))).toThrow('records-are-folded-in-order');
    expect(state.progress).toMatchObject({ recordCount: 3, digest: { count: 1 } });
    // Those of another shard's part of an aggregate are left out by the source, the first one too.
    state.fold(inside(2, 1));
    state.fold(inside(2, 2));
    expect(state.progress).toMatchObject({ recordCount: 5, digest: { count: 2 } });
    state.commit();
    state.fold(inside(3, 0));
    state.undo();
    expect(state.isWhole).toBe(true);
    state.fold(inside(3, 0));
    expect(() => state.fold(inside(4, 3, 2))).toThrow('a-kinesis-record-is-folded-whole');
  });
});
