import { describe, expect, it } from 'vitest';
import type { RunReference } from '../../../core/checkpoint/manifest.ts';
import { RunReader } from '../../../core/checkpoint/run.ts';
import { RunEncoder } from '../../../core/checkpoint/run-encoder.ts';
import type { LivingView } from '../../../core/checkpoint/run-index.ts';
import { mergeRuns, type RunSource, sourceOf } from '../../../core/checkpoint/run-merge.ts';
import { crc32c } from '../../../core/crc32c.ts';
import type { ViewPlan } from '../../../core/definition/plan.ts';
import { CorruptStateFault } from '../../../core/faults.ts';
import type { ClosedEntry } from '../../../core/state/closed-entries.ts';
import { encodeGroupKey } from '../../../core/state/group-key.ts';
import { firstLife } from '../../../core/state/view-life.ts';
import { Random } from '../../../simulation/random.ts';
import { encodeRun, type RunView } from '../../world/encoded-run.ts';
import { SLICE } from '../../world/small-log.ts';
import { closedOf, foldAll, planOf } from '../state/fold-fixture.ts';
import { runAt } from './blob-fixture.ts';

const BLOCK_BYTES = 60;

const pipeline = {
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
} as const;
const plan = planOf(pipeline);

const livingOf = (views: readonly ViewPlan[]): LivingView[] =>
  views.map((view, ordinal) => ({ view, life: firstLife(view, ordinal) }));
const living = livingOf(plan.views);

/** What a slice closes that gets some of the records: its own partials of keys and windows that others have too. */
function viewsOf(random: Random): RunView[] {
  const records = Array.from({ length: random.below(60) }, () => ({
    t: random.below(6) * 1_000,
    key: `k${random.below(8)}`,
    n: random.below(100),
  }));
  const state = foldAll(plan, [...records, { t: 1e9, key: 'last', n: 0 }]);
  const closed = closedOf(state);
  return living.map((each, index) => ({ ...each, entries: closed[index] as ClosedEntry[] }));
}

interface Stored {
  readonly reference: RunReference;
  readonly bytes: Uint8Array;
}

function store(views: readonly RunView[]): Stored {
  const { bytes, indexOffset, entryCount } = encodeRun(views, BLOCK_BYTES);
  const checksum = crc32c(bytes);
  const reference = { ...runAt(3), byteLength: bytes.length, checksum, indexOffset, entryCount };
  return { bytes, reference };
}

const readerOf = ({ reference, bytes }: Stored, reads: number[] = []) =>
  new RunReader(SLICE, reference, async (from, to) => {
    reads.push(to - from);
    return bytes.slice(from, to);
  });

async function merge(sources: readonly RunSource[], views: readonly LivingView[] = living) {
  const chunks: Uint8Array[] = [];
  const merged = mergeRuns(views, sources, BLOCK_BYTES);
  let next = await merged.next();
  for (; !next.done; next = await merged.next()) chunks.push(next.value);
  return { bytes: new Uint8Array(Buffer.concat(chunks)), ...next.value };
}

describe('merging runs', () => {
  it.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'gives the very bytes of a run that is written from all of their entries: %i',
    async (seed) => {
      const random = new Random(`merge ${seed}`);
      const parts = Array.from({ length: random.between(1, 9) }, () => viewsOf(random));
      const all = living.map((each, index) => ({
        ...each,
        entries: parts.flatMap((views) => [...(views[index] as RunView).entries]),
      }));
      const ahead = random.pick([1, 100, 1_000_000]);
      const merged = await merge(parts.map((views) => sourceOf(readerOf(store(views)), ahead)));
      const whole = encodeRun(all, BLOCK_BYTES);
      expect(Buffer.compare(merged.bytes, whole.bytes)).toBe(0);
      expect(merged).toMatchObject({
        indexOffset: whole.indexOffset,
        entryCount: whole.entryCount,
      });
    },
  );

  it('reads each byte of the blocks once, no more at a time than it may', async () => {
    const run = store(viewsOf(new Random('reads')));
    const reads: number[] = [];
    await merge([sourceOf(readerOf(run, reads), 200)]);
    const { indexOffset, byteLength } = run.reference;
    expect(reads[0]).toBe(byteLength - indexOffset);
    expect(Math.max(...reads.slice(1))).toBeLessThanOrEqual(200);
    expect(reads.slice(1).reduce((sum, bytes) => sum + bytes, 0)).toBe(indexOffset);
  });

  it('leaves out views that the plan no longer has, without reading them', async () => {
    const run = store(viewsOf(new Random('views')));
    const reads: number[] = [];
    const kept = living.slice(1);
    const merged = await merge([sourceOf(readerOf(run, reads))], kept);
    const index = { ...run.reference, ...merged, byteLength: merged.bytes.length };
    const reader = readerOf({ reference: index, bytes: merged.bytes });
    expect(await reader.entries(living[0] as LivingView)).toEqual([]);
    expect(await reader.entries(living[1] as LivingView)).toHaveLength(merged.entryCount);
    expect(reads).toHaveLength(2);
  });

  it('writes entries as the plan has them, without the columns that it no longer has', async () => {
    const run = store(viewsOf(new Random('columns')));
    const { by_key: byKey, ...others } = pipeline.views;
    const narrow = planOf({
      ...pipeline,
      views: { ...others, by_key: { ...byKey, aggregates: { total: { sum: 'n' } } } },
    });
    const views = livingOf(narrow.views);
    const merged = await merge([sourceOf(readerOf(run))], views);
    const index = { ...run.reference, ...merged, byteLength: merged.bytes.length };
    const before = readerOf(run).entries(views[0] as LivingView);
    const after = readerOf({ reference: index, bytes: merged.bytes }).entries(
      views[0] as LivingView,
    );
    expect(await after).toEqual(await before);
    const whole = await readerOf(run).entries(living[0] as LivingView);
    const bytesOf = (entries: readonly ClosedEntry[]) =>
      entries.reduce((sum, { accumulators }) => sum + accumulators.length, 0);
    expect(bytesOf(await after)).toBeLessThan(bytesOf(whole));
  });

  it('throws where a byte of a block is damaged for good, and not where it came badly once', async () => {
    const { reference, bytes } = store(viewsOf(new Random('damage')));
    const damaged = bytes.slice();
    damaged[10] = (damaged[10] as number) ^ 1;
    const once = new RunReader(SLICE, reference, async (from, to, again) =>
      (again ? bytes : damaged).slice(from, to),
    );
    expect((await merge([sourceOf(once)])).bytes).toEqual(bytes);
    const always = merge([sourceOf(readerOf({ reference, bytes: damaged }))]);
    await expect(always).rejects.toThrow(CorruptStateFault);
  });

  it('refuses a source that gives fewer entries than it has', async () => {
    const views = viewsOf(new Random('short'));
    const short = sourceOf(readerOf(store(views)));
    const more = { ...short, countOf: async () => (await short.countOf(living)) + 1 };
    await expect(merge([more])).rejects.toThrow('a-merge-takes-every-entry');
  });

  it('refuses a source that is not in order', async () => {
    const [first] = viewsOf(new Random('order')) as [RunView];
    const backwards = [...first.entries].sort((a, b) => b.windowStartMs - a.windowStartMs);
    const source: RunSource = {
      async *scan(_view, index) {
        if (index === 0) yield backwards;
      },
      countOf: async () => backwards.length,
    };
    await expect(merge([source])).rejects.toThrow('a-source-of-a-run-is-sorted');
  });
});

describe('encoding a run', () => {
  const entryAt = (key: string, windowStartMs: number): ClosedEntry => ({
    key: encodeGroupKey([key]),
    windowStartMs,
    accumulators: Uint8Array.of(1),
  });

  it('gives whole blocks as they become full, and holds one at most', () => {
    const encoder = new RunEncoder(living, BLOCK_BYTES);
    const taken: Uint8Array[] = [];
    for (let n = 0; n < 200; n++) {
      encoder.add(0, entryAt(`key ${String(n).padStart(4, '0')}`, 0));
      expect(encoder.readyBytes).toBeLessThan(2 * BLOCK_BYTES);
      if (encoder.readyBytes > 0) taken.push(encoder.take());
    }
    expect(taken.length).toBeGreaterThan(20);
    const { bytes, indexOffset, entryCount } = encoder.finish();
    const takenBytes = Buffer.concat(taken).length;
    expect(indexOffset).toBeGreaterThanOrEqual(takenBytes);
    expect(indexOffset).toBeLessThan(takenBytes + bytes.length);
    expect(entryCount).toBe(200);
  });

  it.each([
    ['a key', 0, 'a', 0],
    ['a window', 0, 'b', -1],
    ['a view', -1, 'z', 0],
  ])('refuses %s that comes too late', (_, byView, key, windowStartMs) => {
    const encoder = new RunEncoder(living, BLOCK_BYTES);
    encoder.add(1, entryAt('b', 0));
    expect(() => encoder.add(1 + byView, entryAt(key, windowStartMs))).toThrow(
      'a-run-takes-entries-in-order',
    );
  });
});
