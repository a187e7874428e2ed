import { describe, expect, it } from 'vitest';
import {
  decideCompaction,
  decideRunMerge,
  mergesAt,
  rewriteBudget,
} from '../../../core/checkpoint/compaction.ts';
import {
  EMPTY_MANIFEST,
  type Manifest,
  type RunReference,
} from '../../../core/checkpoint/manifest.ts';
import { adopt, isAdoptable } from '../../../core/checkpoint/merged-run.ts';
import { decideRoute } from '../../../core/checkpoint/restore.ts';
import { decideFloor, decidePrevious, KeptBlobs } from '../../../core/checkpoint/retention.ts';
import { leaving } from '../../../core/checkpoint/transitions.ts';
import { DEFAULT_KNOBS, type Knobs } from '../../../core/knobs.ts';
import { firstLife } from '../../../core/state/view-life.ts';
import { smallPlan } from '../../world/small-log.ts';
import { blobAt, linkAt, packedAt, runAt, someHead } from './blob-fixture.ts';

const HOUR_MS = 60 * 60_000;

const knobs = {
  ...DEFAULT_KNOBS,
  chainLengthMax: 8,
  chainBytesMinToCompact: 1_000,
  drainBytesMin: 2_000,
  runFanIn: 3,
  runBytesMaxToMergeInCommit: 5_000,
  runBytesMaxToMerge: 8_000,
};

describe('compaction', () => {
  const light = {
    chainLength: 7,
    chainBytes: 999,
    partBytes: 0,
    closingBytes: 0,
    chainEpochs: 1_023,
    merges: false,
    requested: false,
  };

  it.each([
    ['a light chain', {}, 'delta'],
    ['a request', { requested: true }, 'delta-and-base'],
    ['a chain of the longest length', { chainLength: 8 }, 'delta-and-base'],
    ['many epochs', { chainEpochs: 1_024 }, 'delta-and-base'],
    ['a chain that is heavy', { chainBytes: 1_000 }, 'delta-and-base'],
    [
      'a chain half as heavy as the parts',
      { chainBytes: 5_000, partBytes: 10_000 },
      'delta-and-base',
    ],
    ['a heavy chain beside heavy parts', { chainBytes: 4_999, partBytes: 10_000 }, 'delta'],
    ['a chain heavier than small parts', { chainBytes: 999, partBytes: 10 }, 'delta'],
    ['less that is closing than a base drains', { closingBytes: 1_999 }, 'delta'],
    ['as much that is closing', { closingBytes: 2_000 }, 'delta-and-drain'],
    ['far more that is closing', { closingBytes: 1_000_000 }, 'delta-and-drain'],
    ['both', { closingBytes: 2_000, chainLength: 8 }, 'delta-and-base'],
    [
      'both, and deltas that are merged',
      { closingBytes: 2_000, chainLength: 8, merges: true },
      'delta',
    ],
    ['a request, and deltas that are merged', { requested: true, merges: true }, 'delta-and-base'],
  ])('after %s: %j → %s', (_, more, decision) => {
    expect(decideCompaction({ ...light, ...more }, knobs)).toBe(decision);
  });
});

describe('merging deltas', () => {
  const merges = (epoch: number, more: Partial<Knobs> = {}) =>
    mergesAt(epoch, 10_000, { ...knobs, mergeFanIn: 4, partBytesMinToRewrite: 9_999, ...more });

  it.each([
    [1, []],
    [4, [0]],
    [12, [8]],
    [16, [0, 12]],
    [48, [32, 44]],
    [64, [0, 48, 60]],
  ])('ends spans at epoch %i, the longest first: after %j', (epoch, afters) => {
    expect(merges(epoch)).toEqual(afters);
  });

  it('is left where one base writes all parts anew', () => {
    expect(merges(64, { partBytesMinToRewrite: 10_000 })).toEqual([]);
  });
});

describe('what a base writes anew', () => {
  it('grows with what changes, not with the state', () => {
    const tuned = { ...knobs, partBytesMinToRewrite: 1_000 };
    expect([0, 100, 333, 334, 5_000].map((bytes) => rewriteBudget(bytes, tuned))).toEqual([
      1_000, 1_000, 1_000, 1_002, 15_000,
    ]);
  });
});

describe('merging runs', () => {
  const decided = (incomingBytes: number | null, runs: readonly RunReference[]) => {
    const merge = decideRunMerge({ runs, incomingBytes }, knobs);
    if (merge.kind === 'none') return 'none';
    return { [merge.kind]: merge.absorbed.map(({ epoch }) => epoch), level: merge.level };
  };
  const inCommit = (...runs: RunReference[]) => decided(1_000, runs);
  const byTick = (...runs: RunReference[]) => decided(null, runs);

  it('waits until a level is full, the run in hand counted', () => {
    expect(inCommit()).toBe('none');
    expect(inCommit(runAt(1))).toBe('none');
    expect(inCommit(runAt(1), runAt(2))).toEqual({ now: [1, 2], level: 1 });
  });

  it('goes on upwards as long as the next level is full by it', () => {
    expect(inCommit(runAt(1, 1), runAt(2, 1), runAt(3), runAt(4))).toEqual({
      now: [3, 4, 1, 2],
      level: 2,
    });
    expect(inCommit(runAt(1, 1), runAt(3), runAt(4))).toEqual({ now: [3, 4], level: 1 });
    expect(inCommit(runAt(1, 1), runAt(2, 1), runAt(3))).toBe('none');
  });

  it('leaves what is large together with the run in hand to ticks, and goes no further up then', () => {
    expect(inCommit(runAt(1, 0, 3_001), runAt(2))).toBe('none');
    expect(inCommit(runAt(1, 0, 3_000), runAt(2))).toEqual({ now: [1, 2], level: 1 });
    expect(decided(5_001, [runAt(1, 0, 0), runAt(2, 0, 0)])).toBe('none');
    expect(inCommit(runAt(1, 1, 2_500), runAt(2, 1), runAt(3), runAt(4))).toEqual({
      now: [3, 4],
      level: 1,
    });
  });

  it('takes the oldest runs of the lowest level that has enough, by a tick', () => {
    expect(byTick(runAt(1), runAt(2))).toBe('none');
    expect(byTick(runAt(1), runAt(2), runAt(3), runAt(4))).toEqual({
      'by-tick': [1, 2, 3],
      level: 1,
    });
    const above = [runAt(1, 4, 6_000), runAt(2, 4), runAt(3, 4)];
    expect(byTick(...above, runAt(4), runAt(5))).toEqual({ 'by-tick': [1, 2, 3], level: 5 });
    expect(byTick(...above, runAt(4), runAt(5), runAt(6))).toEqual({
      'by-tick': [4, 5, 6],
      level: 1,
    });
  });

  it('leaves a level as it is that is too large together, and looks at those above', () => {
    const large = [runAt(1, 1, 7_001), runAt(2, 1), runAt(3, 1, 12_000)];
    expect(byTick(...large)).toBe('none');
    expect(byTick(...large, runAt(4, 2), runAt(5, 2), runAt(6, 2))).toEqual({
      'by-tick': [4, 5, 6],
      level: 3,
    });
  });
});

describe('a run that was merged outside a commit', () => {
  const { views } = smallPlan;
  const living = views.map((view, ordinal) => ({ view, life: firstLife(view, ordinal) }));
  const merged = { run: runAt(5, 1), absorbed: [runAt(1), runAt(2)], living };
  const ground = { head: { collectBelow: 5 }, runs: [runAt(1), runAt(2), runAt(4)], living };
  const later = { view: views[0]!, life: { ...firstLife(views[0]!, 0), since: 4 } };

  it('takes the place of those that it absorbed', () => {
    expect(isAdoptable(merged, ground)).toBe(true);
    expect(adopt(merged, ground.runs)).toEqual([runAt(4), runAt(5, 1)]);
  });

  it.each([
    ['one that it absorbed is not listed any more', { runs: [runAt(1), runAt(4)] }],
    [
      'one of that epoch is listed, but of another writer',
      { runs: [runAt(1), { ...runAt(2), nonce: 'f'.repeat(16) }] },
    ],
    ['a floor has passed its epoch', { head: { collectBelow: 6 } }],
    ['a view lives another life', { living: [later, ...living.slice(1)] }],
    ['there is a view more', { living: [...living, later] }],
    ['there is a view less', { living: living.slice(1) }],
  ])('is not listed where %s', (_, more) => {
    expect(isAdoptable(merged, { ...ground, ...more })).toBe(false);
  });
});

describe('the floor', () => {
  const GRACE_MS = 100;
  /** The cursor of an epoch. */
  const at = (epoch: number) => ({ sequenceNumber: String(epoch * 10), subSequence: 0 });

  it.each([
    [
      'is set when none is pending',
      0,
      { epoch: 0, sinceMs: 0 },
      3,
      50,
      0,
      { epoch: 3, sinceMs: 50 },
    ],
    ['stays while it is young', 0, { epoch: 3, sinceMs: 50 }, 9, 149, 0, { epoch: 3, sinceMs: 50 }],
    ['becomes the limit', 0, { epoch: 3, sinceMs: 50 }, 9, 150, 3, { epoch: 9, sinceMs: 150 }],
    [
      'stays when the clock went back, and its grace goes on from where it began',
      3,
      { epoch: 9, sinceMs: 150 },
      17,
      10,
      3,
      { epoch: 9, sinceMs: 150 },
    ],
    [
      'stays when the clock went back by days, and its grace begins anew',
      3,
      { epoch: 9, sinceMs: 50 * HOUR_MS },
      17,
      2 * HOUR_MS,
      3,
      { epoch: 9, sinceMs: 2 * HOUR_MS },
    ],
    [
      'stays when the clock was not set before, and its grace begins anew',
      3,
      { epoch: 9, sinceMs: 150 },
      17,
      1_800_000_000_000,
      3,
      { epoch: 9, sinceMs: 1_800_000_000_000 },
    ],
    [
      'does not pass a base that is not there',
      0,
      { epoch: 0, sinceMs: 0 },
      0,
      999,
      0,
      { epoch: 0, sinceMs: 999 },
    ],
  ])('%s', (_, collectBelow, floor, previousBaseEpoch, nowMs, limit, next) => {
    const head = {
      collectBelow,
      replayFrom: at(collectBelow),
      floor: { ...floor, cursor: at(floor.epoch) },
      chainSince: previousBaseEpoch,
      baseCursor: at(previousBaseEpoch),
      deliveredArrivalMs: 0,
    };
    expect(decideFloor(head, null, nowMs, GRACE_MS)).toEqual({
      collectBelow: limit,
      replayFrom: at(limit),
      floor: { ...next, cursor: at(next.epoch) },
    });
  });

  it('does not pass what a rollback to the plan before may need', () => {
    const { previous } = someHead;
    const pending = { epoch: 9, cursor: at(9), sinceMs: 0 };
    const head = {
      collectBelow: 3,
      replayFrom: at(3),
      floor: pending,
      chainSince: 0,
      baseCursor: at(0),
      deliveredArrivalMs: 0,
    };
    expect(decideFloor(head, previous, 1_000, GRACE_MS).collectBelow).toBe(3);
    expect(decideFloor(head, null, 1_000, GRACE_MS).collectBelow).toBe(9);
    const needed = { ...head, floor: { ...pending, epoch: 5 } };
    expect(decideFloor(needed, previous, 1_000, GRACE_MS).collectBelow).toBe(5);
  });
});

describe('collecting', () => {
  const manifest: Manifest = {
    ...EMPTY_MANIFEST,
    parts: [{ layout: 0, from: null, epoch: 12, entryCount: 1, bytes: packedAt(3) }],
    ids: {
      after: 0,
      until: 12,
      parts: [{ after: 0, until: 12, entryCount: 1, newestMs: 0, bytes: packedAt(2) }],
    },
    runs: [runAt(4)],
    replaced: [
      { blob: blobAt('run', 5), epoch: 10 },
      { blob: blobAt('run', 6), epoch: 11 },
      { blob: blobAt('base', 5), epoch: 10 },
      { blob: blobAt('base', 6), epoch: 11 },
    ],
  };

  it.each([
    ['a delta below the limit', blobAt('delta', 9), true],
    ['a delta at the limit', blobAt('delta', 10), false],
    ['a base below the limit', blobAt('base', 9), true],
    ['a base at the limit', blobAt('base', 10), false],
    ['a pack of a part that HEAD lists', blobAt('base', 3), false],
    ['a pack of the ids that HEAD lists', blobAt('base', 2), false],
    ['a pack that the oldest kept base does not list any more', blobAt('base', 5), true],
    ['a pack that the oldest kept base still lists', blobAt('base', 6), false],
    ['a run that HEAD lists', blobAt('run', 4), false],
    [
      'a run that another writer meant for the same epoch',
      blobAt('run', 4, { nonce: 'f'.repeat(16) }),
      true,
    ],
    ['a run that the oldest kept base does not list any more', blobAt('run', 5), true],
    ['a run that the oldest kept base still lists', blobAt('run', 6), false],
    ['a run that nobody lists', blobAt('run', 7), true],
    ['a run of a kept epoch', blobAt('run', 12), false],
  ])('takes or leaves %s: %#', (_, name, taken) => {
    expect(new KeptBlobs(manifest, 10).isCollectable(name)).toBe(taken);
  });
});

describe('the route to an epoch', () => {
  const [one, two, three] = [linkAt(1), linkAt(2), linkAt(3)] as const;

  it('goes by deltas from any predecessor that the newest delta names', () => {
    expect(decideRoute(one, three, [one, two])).toEqual({ kind: 'deltas', after: 0 });
    expect(decideRoute(two, three, [one, two])).toEqual({ kind: 'deltas', after: 1 });
  });

  it('is none at the epoch itself', () => {
    expect(decideRoute(three, three, [one, two])).toEqual({ kind: 'current' });
  });

  it.each([
    ['nothing', null, three],
    ['an epoch that is too old', blobAt('delta', 0), three],
    ['an epoch that lost its race', { ...two, nonce: 'f'.repeat(16) }, three],
    ['a dead timeline', { ...two, timeline: 1 }, three],
    ['a slice that begins anew', two, null],
  ])('goes by the base from %s', (_, known, newest) => {
    expect(decideRoute(known, newest, [one, two])).toEqual({ kind: 'base' });
  });

  it('goes by the base where a delta in between is not named any more', () => {
    expect(decideRoute(one, linkAt(4), [one, three])).toEqual({ kind: 'base' });
    expect(decideRoute(three, linkAt(4), [one, three])).toEqual({ kind: 'deltas', after: 1 });
  });
});

describe('the plan before this one', () => {
  const left = { ...someHead.previous!, sinceMs: 1_000 };

  it.each([
    ['is kept while its grace lasts', 1_099, left],
    ['is forgotten after it', 1_100, null],
    ['is kept when the clock went back, since when it was', 10, left],
    [
      'is kept when the clock was not set before',
      1_800_000_000_000,
      { ...left, sinceMs: 1_800_000_000_000 },
    ],
  ])('%s', (_, nowMs, kept) => {
    expect(decidePrevious({ previous: left }, nowMs, 100)).toEqual(kept);
  });
});

describe('a clock that was set back and is put right', () => {
  const NOW_MS = 1_800_000_000_000;

  it.each([1, 26, 47])('by %s h ends no grace before its time', (backHours) => {
    const wrongMs = NOW_MS - backHours * HOUR_MS;
    const previous = { ...someHead.previous!, sinceMs: NOW_MS };
    const kept = decidePrevious({ previous }, wrongMs, 24 * HOUR_MS);
    expect(decidePrevious({ previous: kept }, NOW_MS + 1_000, 24 * HOUR_MS)).not.toBeNull();
    expect(decidePrevious({ previous: kept }, NOW_MS + 24 * HOUR_MS, 24 * HOUR_MS)).toBeNull();

    const floor = { epoch: 5, cursor: someHead.cursor, sinceMs: NOW_MS };
    const head = { ...someHead, collectBelow: 0, floor };
    const moved = { ...head, ...decideFloor(head, null, wrongMs, HOUR_MS) };
    expect(decideFloor(moved, null, NOW_MS + 1_000, HOUR_MS).collectBelow).toBe(0);
    expect(decideFloor(moved, null, NOW_MS + HOUR_MS, HOUR_MS).collectBelow).toBe(5);
  });

  it('begins no grace before what has arrived', () => {
    const wrongMs = NOW_MS - 26 * HOUR_MS;
    const head = { ...someHead, deliveredArrivalMs: NOW_MS };
    expect(leaving(head, wrongMs)?.sinceMs).toBe(NOW_MS);
    const fresh = { ...head, collectBelow: 5, floor: { ...head.floor, epoch: 5 } };
    expect(decideFloor(fresh, null, wrongMs, HOUR_MS).floor.sinceMs).toBe(NOW_MS);
    // That far ahead is the stream's clock, or the records are another world's.
    expect(leaving(head, NOW_MS - 49 * HOUR_MS)?.sinceMs).toBe(NOW_MS - 49 * HOUR_MS);
  });
});
