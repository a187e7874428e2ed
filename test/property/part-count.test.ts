import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Checkpoint, load } from '../../core/checkpoint/restore.ts';
import { viewOfLife } from '../../core/state/part-entries.ts';
import type { StoredView } from '../../core/state/view-life.ts';
import { PLENTY, TaskWorld } from '../unit/task/task-fixture.ts';
import { type SmallRecord, smallPlan } from '../world/small-log.ts';

const PART_BYTES = 600;
const WINDOW_MS = 10_000;
const LIFE = 60;
const KNOBS = {
  chainLengthMax: 3,
  partBytesMax: PART_BYTES,
  partBytesMinToRewrite: PART_BYTES,
  drainBytesMin: 300,
};

/** Which keys the records of a window have, and how much earlier than the newest some of them come. */
const season = fc.record({
  firstKey: fc.nat(4_000),
  keyCount: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 20, max: 90 })),
  type: fc.constantFrom('a' as const, 'b' as const),
  backMs: fc.constantFrom(0, 4_000, 14_000),
});

const scenario = fc.record({
  seasons: fc.array(season, { minLength: 2, maxLength: 9 }),
  batchSize: fc.integer({ min: 5, max: 60 }),
});

type Season = typeof season extends fc.Arbitrary<infer Each> ? Each : never;

/** So many windows, of the seasons in turn. */
function longLife(seasons: readonly Season[]): SmallRecord[] {
  const log: SmallRecord[] = [];
  for (let window = 0; window < LIFE; window++) {
    const { firstKey, keyCount, type, backMs } = seasons[window % seasons.length] as Season;
    for (let at = 0; at < keyCount; at++) {
      const t = 100_000 + window * WINDOW_MS + Math.floor((at / keyCount) * WINDOW_MS);
      const key = String(firstKey + ((at * 7) % keyCount)).padStart(5, '0');
      log.push({ id: log.length, t: at % 5 === 4 ? t - backMs : t, type, key, amount: 1 });
    }
  }
  return log;
}

/** By view: how many parts it has, and about how many bytes the entries have that it holds, without those that parts still have of what was drained. */
function sizesOf({ manifest: { parts, layouts }, image }: Checkpoint) {
  return smallPlan.views.map((view, index) => {
    const own = parts.filter(
      ({ layout }) => viewOfLife(image, layouts[layout] as StoredView) === index,
    );
    const bytes = own.reduce((sum, part) => sum + (part.bytes?.byteLength ?? 0), 0);
    const stored = own.reduce((sum, { entryCount }) => sum + entryCount, 0);
    const held = image.tables[index]?.entryCount ?? 0;
    return { view: view.name, count: own.length, bytes: (held * bytes) / Math.max(1, stored) };
  });
}

describe('the number of parts', () => {
  it('follows from the bytes of the open state, however long the slice lives and whatever was drained', async () => {
    let countMax = 0;
    let windowCountMax = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async ({ seasons, batchSize }) => {
        const log = longLife(seasons);
        const world = new TaskWorld(log, KNOBS);
        const task = world.task();
        for (let at = 0; at < log.length; at += batchSize) {
          world.clock.advance(500);
          await task.deliver(world.batch(at, Math.min(log.length, at + batchSize)), PLENTY);
          const head = await world.head();
          if (head.base?.epoch !== head.epoch) continue;
          const loaded = await load(smallPlan, head, world.blobs);
          for (const { view, count, bytes } of sizesOf(loaded)) {
            // What is cut is at least half as large as a part may be; the first part may have shrunk, and the last is yet to grow.
            expect(count).toBeLessThanOrEqual(2 + bytes / (PART_BYTES / 2));
            countMax = Math.max(countMax, count);
            if (view !== 'all_time') windowCountMax = Math.max(windowCountMax, count);
          }
        }
      }),
      { numRuns: 20 },
    );
    // What the scenarios are for happened.
    expect(countMax).toBeGreaterThan(8);
    expect(windowCountMax).toBeGreaterThan(5);
  }, 60_000);
});
