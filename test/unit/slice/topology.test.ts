import { describe, expect, it } from 'vitest';
import type { SourceRead, StreamRecord } from '../../../core/ports.ts';
import { START } from '../../../core/position.ts';
import {
  contentOf,
  isLive,
  isRecovering,
  isSettled,
  isWaitedFor,
  NOTHING_FOLDED,
  type SliceFacts,
  type SliceStatus,
  shardIdOf,
  shardsToTick,
  sliceIdOf,
  slicesWithShard,
  standingOf,
  unfoldedShards,
} from '../../../core/slice/topology.ts';

const STATUSES: readonly SliceStatus[] = ['OPEN', 'RECOVERING', 'OPENING', 'SEALED'];

function slice(number: number, facts: Partial<SliceFacts> = {}): SliceFacts {
  const base = { status: 'OPEN', watermarkMs: 1_000, recordCount: 1, waits: false } as const;
  return { sliceId: `slice-${number}`, ...base, ...facts };
}

function idle(number: number, waits: boolean): SliceFacts {
  return { ...NOTHING_FOLDED, sliceId: `slice-${number}`, waits };
}

it('a shard and its slice have one number', () => {
  expect(sliceIdOf('shardId-000000000007')).toBe('slice-000000000007');
  expect(shardIdOf('slice-000000000007')).toBe('shardId-000000000007');
  expect(sliceIdOf('another')).toBe('another');
});

it.each([
  ['OPEN', true, true, false],
  ['RECOVERING', true, false, true],
  ['OPENING', true, false, false],
  ['SEALED', false, true, false],
] as const)('%s: live %j, settled %j, recovering %j', (status, ...expected) => {
  expect([isLive({ status }), isSettled({ status }), isRecovering({ status })]).toEqual(expected);
});

describe('shards of which nothing is folded', () => {
  const slices = [
    { shardId: 'a', recordCount: 0 },
    { shardId: 'b', recordCount: 2 },
  ];

  it('are those of slices without records, and those that no slice stands for', () => {
    expect(unfoldedShards(slices, ['a', 'b', 'c'])).toEqual([
      { shardId: 'a', hasSlice: true },
      { shardId: 'c', hasSlice: false },
    ]);
    expect(unfoldedShards(slices, null)).toEqual([{ shardId: 'a', hasSlice: true }]);
    expect(unfoldedShards([], ['a'])).toEqual([{ shardId: 'a', hasSlice: false }]);
  });

  const read = (records: number, reachedTip: boolean): SourceRead => ({
    outcome: 'records',
    origin: 'stream',
    records: Array<StreamRecord>(records),
    reachedTip,
  });
  it.each<[string, SourceRead, withSlice: string, without: string]>([
    ['a record', read(1, true), 'records', 'records'],
    ['a record before others', read(1, false), 'records', 'records'],
    ['nothing up to the tip', read(0, true), 'none', 'none'],
    ['nothing so far', read(0, false), 'unknown', 'unknown'],
    ['records that are gone', { outcome: 'trimmed', oldest: START }, 'unknown', 'unknown'],
    ['gone, and none left', { outcome: 'trimmed', oldest: null }, 'unknown', 'none'],
    ['a shard that is gone', { outcome: 'gone' }, 'none', 'none'],
  ])('%s: with a slice %s, without %s', (_, first, withSlice, without) => {
    expect(contentOf(first, true)).toBe(withSlice);
    expect(contentOf(first, false)).toBe(without);
  });

  it('are waited for unless they say that they hold nothing', () => {
    expect((['records', 'unknown', 'none'] as const).map(isWaitedFor)).toEqual([true, true, false]);
  });
});

describe('slices together', () => {
  it('have the lowest watermark of those that are live and had a record', () => {
    const withoutTime = slice(3, { watermarkMs: Number.NEGATIVE_INFINITY });
    const slices = [
      slice(1, { watermarkMs: 5_000 }),
      slice(2, { watermarkMs: 3_000 }),
      withoutTime,
    ];
    expect(standingOf(slices, true).watermarkMs).toBe(3_000);
    expect(standingOf([withoutTime], true).watermarkMs).toBeNull();
    expect(standingOf([], true).watermarkMs).toBeNull();
    for (const status of STATUSES) {
      const other = slice(4, { status, watermarkMs: 10 });
      expect(standingOf([...slices, other], true).watermarkMs).toBe(
        status === 'SEALED' ? 3_000 : 10,
      );
    }
  });

  it('know no watermark while one waits, or the stream does not list its shards', () => {
    const folded = slice(1);
    expect(standingOf([folded, idle(2, false)], true)).toEqual({
      watermarkMs: 1_000,
      exempt: ['slice-2'],
      waiting: [],
      isOpen: true,
    });
    expect(standingOf([folded, idle(3, true), idle(2, false)], true)).toEqual({
      watermarkMs: null,
      exempt: ['slice-2'],
      waiting: ['slice-3'],
      isOpen: true,
    });
    expect(standingOf([folded], false).watermarkMs).toBeNull();
    // What has folded records waits for none, whatever is said of its shard.
    expect(standingOf([slice(1, { waits: true })], true).waiting).toEqual([]);
  });

  it.each(STATUSES)('are open or not where one is %s', (status) => {
    const { isOpen } = standingOf([slice(1), slice(2, { status })], true);
    expect(isOpen).toBe(status === 'OPEN' || status === 'SEALED');
  });
});

describe('ticks', () => {
  const slices = STATUSES.map((status) => ({ shardId: status, status }));
  const listed = [
    { shardId: 'SEALED', isOpen: false },
    { shardId: 'OPEN', isOpen: true },
    { shardId: 'new', isOpen: true },
    { shardId: 'closed', isOpen: false },
  ];

  it('go to shards that take records and to live slices, each once', () => {
    expect(shardsToTick(slices, listed)).toEqual(['OPEN', 'OPENING', 'RECOVERING', 'new']);
    expect(shardsToTick(slices, null)).toEqual(['OPEN', 'OPENING', 'RECOVERING']);
    expect(shardsToTick([], listed)).toEqual(['OPEN', 'new']);
  });

  it('look at live slices whose shard the stream has', () => {
    const idsOf = (shards: typeof listed | null) =>
      slicesWithShard(slices, shards).map(({ shardId }) => shardId);
    expect(idsOf(listed)).toEqual(['OPEN']);
    expect(idsOf(null)).toEqual(['OPEN', 'RECOVERING', 'OPENING']);
  });
});
