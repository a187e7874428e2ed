import { beforeAll, describe, expect, it } from 'vitest';
import { compareBytes, FORMAT_VERSION } from '../../../core/bytes.ts';
import type { RunReference } from '../../../core/checkpoint/manifest.ts';
import { RunReader } from '../../../core/checkpoint/run.ts';
import { crc32c } from '../../../core/crc32c.ts';
import type { ViewPlan } from '../../../core/definition/plan.ts';
import { CorruptStateFault, NewerFormatFault, OlderFormatFault } from '../../../core/faults.ts';
import { RUN_BLOCK_BYTES } from '../../../core/limits.ts';
import type { ClosedEntry } from '../../../core/state/closed-entries.ts';
import { encodeGroupKey } from '../../../core/state/group-key.ts';
import { firstLife } from '../../../core/state/view-life.ts';
import { encodeRun, type RunView } from '../../world/encoded-run.ts';
import { SLICE } from '../../world/small-log.ts';
import { closedOf, foldAll, planOf } from '../state/fold-fixture.ts';
import { expectEveryDamageDetected, runAt } from './blob-fixture.ts';

const plan = planOf({
  name: 'p',
  time: { field: 't', lateness: '0s', skew: 'none' },
  views: {
    by_key: {
      groupBy: ['key'],
      window: { tumbling: '1s' },
      aggregates: { records: { count: '*' }, total: { sum: 'n' } },
    },
    overall: { window: { tumbling: '1s' }, aggregates: { records: { count: '*' } } },
  },
});

const living = (view: ViewPlan) => ({ view, life: firstLife(view, plan.views.indexOf(view)) });

/** All windows closed but the last, partials of late records too. */
function viewsOf(records: readonly { t: number; key: string; n: number }[]): RunView[] {
  const state = foldAll(plan, [...records, { t: 1e9, key: 'last', n: 0 }]);
  const closed = closedOf(state);
  return plan.views.map((view, index) => ({
    ...living(view),
    entries: closed[index] as ClosedEntry[],
  }));
}

interface StoredRun {
  readonly bytes: Uint8Array;
  readonly reference: RunReference;
}

function store(views: readonly RunView[]): StoredRun {
  const { bytes, indexOffset, entryCount } = encodeRun(views);
  const checksum = crc32c(bytes);
  return {
    bytes,
    reference: { ...runAt(3), byteLength: bytes.length, checksum, indexOffset, entryCount },
  };
}

const readerOf = ({ bytes, reference }: StoredRun, reads: [number, number][] = []) =>
  new RunReader(SLICE, reference, async (from, to) => {
    reads.push([from, to]);
    return bytes.subarray(from, to);
  });

const text = (entries: readonly ClosedEntry[]) =>
  entries.map(({ key, windowStartMs, accumulators }) => `${key} ${windowStartMs} ${accumulators}`);

describe('a small run', () => {
  const run = store(
    viewsOf([
      { t: 0, key: 'a', n: 1 },
      { t: 1_000, key: 'b', n: 2 },
    ]),
  );

  it('refuses every flipped bit and every cut, read block by block', async () => {
    await expectEveryDamageDetected(run.bytes, async (bytes) => {
      const byteLength = run.reference.byteLength;
      if (bytes.length !== byteLength) throw new CorruptStateFault('the store has another length');
      const reader = readerOf({ ...run, bytes });
      for (const view of plan.views) await reader.entries(living(view));
    });
  });

  it('refuses what is cut off on the way', async () => {
    for (let length = 0; length < run.bytes.length; length++) {
      const reader = readerOf({ ...run, bytes: run.bytes.slice(0, length) });
      await expect(reader.entries(living(plan.views[0]!))).rejects.toThrow(CorruptStateFault);
    }
  });

  it.each([
    [FORMAT_VERSION + 1, NewerFormatFault],
    [FORMAT_VERSION - 1, OlderFormatFault],
  ])('is refused by name when its format is %s', async (version, fault) => {
    const bytes = run.bytes.slice();
    const { indexOffset } = run.reference;
    bytes[indexOffset + 4] = version;
    const end = bytes.length - 4;
    const checksum = crc32c(bytes.subarray(indexOffset, end));
    new DataView(bytes.buffer).setUint32(end, checksum, true);
    const answer = readerOf({ ...run, bytes }).entries(living(plan.views[0]!));
    await expect(answer).rejects.toThrow(fault);
    await expect(answer).rejects.toThrow(
      `run 3 (0000000000000003) of ${SLICE} has format ${version}`,
    );
  });

  it('has the same bytes for the same entries, in whatever order and partials they came', () => {
    const records = Array.from({ length: 60 }, (_, n) => ({ t: n * 100, key: `k${n % 3}`, n }));
    const inOrder = encodeRun(viewsOf(records));
    const late = encodeRun(viewsOf([...records].reverse()));
    expect(Buffer.compare(late.bytes, inOrder.bytes)).toBe(0);
    expect(late.entryCount).toBe(inOrder.entryCount);
  });

  it('without entries has none', async () => {
    const empty = store(plan.views.map((view) => ({ ...living(view), entries: [] })));
    expect(await readerOf(empty).entries(living(plan.views[0]!))).toEqual([]);
    expect(empty.reference.entryCount).toBe(0);
  });
});

describe('a run of many blocks', () => {
  let run: StoredRun;
  let all: ClosedEntry[];
  const [byKey, overall] = plan.views as [(typeof plan.views)[0], (typeof plan.views)[0]];
  const keyOf = (key: string) => encodeGroupKey([key]);

  beforeAll(async () => {
    // `hot` has so many windows that it fills blocks of its own; the others have a few.
    const records = Array.from({ length: 6_000 }, (_, n) => ({
      t: n * 1_000,
      key: n % 3 === 0 ? `k${n % 200}` : 'hot',
      n,
    }));
    run = store(viewsOf(records));
    all = await readerOf(run).entries(living(byKey));
  });

  it('gives all entries in order', () => {
    expect(all).toHaveLength(6_000);
    for (const [index, entry] of all.slice(1).entries()) {
      const before = all[index] as ClosedEntry;
      const order = compareBytes(before.key, entry.key);
      expect(order < 0 || (order === 0 && before.windowStartMs < entry.windowStartMs)).toBe(true);
    }
  });

  it('keeps its views apart', async () => {
    expect(await readerOf(run).entries(living(overall))).toHaveLength(6_000);
    expect(run.reference.entryCount).toBe(12_000);
  });

  it.each([
    [null, null],
    [null, 'hot'],
    ['hot', null],
    ['hot', 'hou'],
    ['hos', 'hot'],
    ['a', 'b'],
    ['k1', 'k2'],
    ['k100', 'k100\0'],
    ['k99', 'zzz'],
    ['zzz', null],
    ['hot', 'hot'],
  ])('gives the keys from %j up to %j, as a filter over all would', async (from, to) => {
    const [low, high] = [from, to].map((key) => (key === null ? null : keyOf(key))) as [
      Uint8Array | null,
      Uint8Array | null,
    ];
    const expected = all.filter(
      ({ key }) =>
        (low === null || compareBytes(key, low) >= 0) &&
        (high === null || compareBytes(key, high) < 0),
    );
    const found = await readerOf(run).entries(living(byKey), low, high);
    expect(text(found)).toEqual(text(expected));
  });

  it('gives every window of a key that spans blocks', async () => {
    const found = await readerOf(run).entries(living(byKey), keyOf('hot'), keyOf('hou'));
    expect(found).toHaveLength(4_000);
  });

  it('reads its index once, and of its blocks what a range needs', async () => {
    const reads: [number, number][] = [];
    const reader = readerOf(run, reads);
    await reader.entries(living(byKey), keyOf('k100'), keyOf('k100\0'));
    await reader.entries(living(byKey), keyOf('k100'), keyOf('k100\0'));
    const { indexOffset, byteLength } = run.reference;
    expect(reads.filter(([from]) => from === indexOffset)).toEqual([[indexOffset, byteLength]]);
    const blockBytes = reads.slice(1).reduce((sum, [from, to]) => sum + to - from, 0);
    expect(blockBytes).toBeLessThan(6 * RUN_BLOCK_BYTES);
  });
});
