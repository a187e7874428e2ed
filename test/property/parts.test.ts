import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { linksAfter } from '../../core/checkpoint/chain.ts';
import type { Head } from '../../core/checkpoint/head.ts';
import { chainSince } from '../../core/checkpoint/manifest.ts';
import { advance, type Checkpoint, load } from '../../core/checkpoint/restore.ts';
import { viewOfLife } from '../../core/state/part-entries.ts';
import type { StoredView } from '../../core/state/view-life.ts';
import { contentOf, withoutMerged } from '../unit/checkpoint/merged-fixture.ts';
import { closedOf, mergedText } from '../unit/state/fold-fixture.ts';
import { PLENTY, TaskWorld } from '../unit/task/task-fixture.ts';
import { smallPlan } from '../world/small-log.ts';

const RECORDS = 120;

const scenario = fc.record({
  seed: fc.integer({ min: 1, max: 1_000_000 }),
  batches: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 8, maxLength: 25 }),
  tasks: fc.array(fc.nat(2), { minLength: 1, maxLength: 10 }),
  knobs: fc.record({
    chainLengthMax: fc.integer({ min: 1, max: 10 }),
    chainBytesMinToCompact: fc.constantFrom(300, 3_000, 1_000_000),
    partBytesMax: fc.constantFrom(40, 120, 500, 1_000_000),
    partBytesMinToRewrite: fc.constantFrom(1, 100, 1_000, 1_000_000),
    retentionGraceMs: fc.constantFrom(0, 3_000),
    drainBytesMin: fc.constantFrom(1, 60, 200, 1_000_000),
    mergeFanIn: fc.integer({ min: 2, max: 4 }),
    runFanIn: fc.integer({ min: 2, max: 4 }),
  }),
});

/** All that a checkpoint says of its parts. */
function standingOf({ parts, manifest, image }: Checkpoint) {
  const views = parts.views.map((all) =>
    all.map(({ from, epoch, entryCount }) => ({ from, epoch, entryCount })),
  );
  const closed = mergedText(smallPlan, closedOf(image));
  const { keptEntryCount, openEntryCount } = image;
  return { views, ids: parts.ids.kept, manifest, closed, keptEntryCount, openEntryCount };
}

/** No gap, no overlap, and nothing that lies beyond the manifest's own chain. */
function expectWhole({ manifest, image }: Checkpoint, head: Head): void {
  const since = chainSince(manifest);
  expect(head.chainSince).toBe(since);
  let before: (typeof manifest.parts)[number] | null = null;
  for (const part of manifest.parts) {
    expect(part.epoch).toBeGreaterThanOrEqual(since);
    expect(part.entryCount > 0).toBe(part.bytes !== null);
    const isFirst =
      before === null || manifest.layouts[before.layout] !== manifest.layouts[part.layout];
    const view = viewOfLife(image, manifest.layouts[part.layout] as StoredView);
    if (isFirst) expect(part.from).toEqual(image.drained.get(view));
    else expect(part.from).not.toBeNull();
    before = part;
  }
}

describe('parts', () => {
  it('and the deltas beside them give the state, whoever wrote them and however few a commit may write', async () => {
    let partsMax = 0;
    let lagMax = 0;
    let cutCount = 0;
    let drainedAlone = 0;
    let mergedCount = 0;
    let straddles = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async ({ seed, batches, tasks, knobs }) => {
        const world = new TaskWorld(RECORDS, knobs, { seed });
        const owners = [world.task(), world.task(), world.task()];
        let follower: { checkpoint: Checkpoint; head: Head } | null = null;
        let at = 0;
        for (const [index, count] of batches.entries()) {
          const to = Math.min(RECORDS, at + count);
          world.clock.advance(1_000);
          await owners[tasks[index % tasks.length] as number]?.deliver(world.batch(at, to), PLENTY);
          at = to;
          const head = await world.head();
          expect(await world.answers(head)).toEqual(world.expected(at));
          const loaded = await load(smallPlan, head, world.blobs);
          expectWhole(loaded, head);
          partsMax = Math.max(partsMax, loaded.manifest.parts.length);
          for (const view of smallPlan.views.keys()) {
            const key = loaded.image.drained.get(view)?.key;
            if (key !== undefined && key.length > 0) cutCount++;
          }
          const isBase = head.base?.epoch === head.epoch;
          const anew = loaded.manifest.parts.some(({ bytes }) => bytes?.pack.epoch === head.epoch);
          if (isBase && !anew && loaded.manifest.runs.at(-1)?.epoch === head.epoch) drainedAlone++;
          lagMax = Math.max(lagMax, (head.base?.epoch ?? 0) - head.chainSince);
          const known = follower?.head.delta ?? null;
          const checkpoint: Checkpoint =
            follower === null
              ? loaded
              : await advance(follower.checkpoint, known, head, world.blobs);
          if (follower !== null) expect(standingOf(checkpoint)).toEqual(standingOf(loaded));
          const links = linksAfter(loaded.chain, head.chainSince) ?? [];
          mergedCount += links.filter(({ kind }) => kind === 'merged').length;
          straddles += links.filter(({ kind, after, epoch }) => {
            const baseEpoch = head.base?.epoch ?? 0;
            return kind === 'merged' && after < baseEpoch && epoch > baseEpoch;
          }).length;
          const byDeltas = await load(smallPlan, head, withoutMerged(world.blobs));
          expect(contentOf(smallPlan, byDeltas)).toEqual(contentOf(smallPlan, loaded));
          follower = { checkpoint, head };
        }
      }),
      { numRuns: 60 },
    );
    // What the scenarios are for happened.
    expect(partsMax).toBeGreaterThan(10);
    expect(lagMax).toBeGreaterThan(1);
    expect(cutCount).toBeGreaterThan(10);
    expect(drainedAlone).toBeGreaterThan(10);
    expect(mergedCount).toBeGreaterThan(50);
    expect(straddles).toBeGreaterThan(5);
  }, 60_000);
});
