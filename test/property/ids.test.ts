import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chainSince, type KeptIds } from '../../core/checkpoint/manifest.ts';
import { advance, type Checkpoint, load } from '../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../core/decode/json-decoder.ts';
import type { SliceTask } from '../../core/task/slice-task.ts';
import { PLENTY, TaskWorld } from '../unit/task/task-fixture.ts';
import { IdModel, type IdPolicy, idPlan, idRecord, idsOf } from '../world/id-model.ts';

const RECORDS = 240;

const policies: readonly (IdPolicy | null)[] = [
  { field: 'id', withinMs: 60_000 },
  { field: 'id', withinMs: 15_000 },
  { field: 'id', withinMs: 200_000 },
  { field: 'other', withinMs: 60_000 },
  null,
];

const anyRecord = fc.record({
  /** One of so many ids before, or a new one. */
  again: fc.option(fc.integer({ min: 1, max: 80 }), { freq: 2 }),
  other: fc.nat({ max: 60 }),
  advanceMs: fc.constantFrom(0, 300, 300, 2_000, 20_000),
  lateMs: fc.constantFrom(0, 0, 0, 4_000, 30_000, 90_000),
});

const scenario = fc.record({
  records: fc.array(anyRecord, { minLength: RECORDS, maxLength: RECORDS }),
  batches: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 8, maxLength: 45, size: 'max' }),
  /** Of each batch: whose it is, and which policy holds from it on (most often the one before). */
  owners: fc.array(fc.nat(2), { minLength: 1, maxLength: 10 }),
  changes: fc.array(fc.option(fc.nat(policies.length - 1), { freq: 2 }), {
    minLength: 12,
    maxLength: 12,
  }),
  changesAt: fc.integer({ min: 1, max: 12 }),
  knobs: fc.record({
    chainLengthMax: fc.integer({ min: 1, max: 10 }),
    mergeFanIn: fc.integer({ min: 2, max: 4 }),
    chainBytesMinToCompact: fc.constantFrom(300, 1_000_000),
    partBytesMax: fc.constantFrom(30, 100, 400, 1_000_000),
    partBytesMinToRewrite: fc.constantFrom(1, 100, 1_000, 1_000_000),
    idPartsMax: fc.constantFrom(0, 2, 5, 48),
    retentionGraceMs: fc.constantFrom(0, 3_000),
    // A change back is a change like any other: a rollback would fold records once more, by what it goes back to.
    rollbackGraceMs: fc.constant(1),
  }),
});

/** What happened in all scenarios together: they must be about something. */
const seen = { parts: 0, merged: 0, dropped: 0, behind: 0, changes: 0, duplicates: 0 };

function learn({ after, until, parts }: KeptIds, before: KeptIds | null, epoch: number): void {
  seen.parts = Math.max(seen.parts, parts.length);
  seen.behind = Math.max(seen.behind, epoch - until);
  const oldest = before?.parts[0];
  if (before?.after !== after || oldest === undefined) return;
  if (!parts.some(({ bytes }) => bytes.pack.epoch >= epoch - 1)) return;
  const known = new Set(before.parts.map(({ after: from, until: to }) => `${from} ${to}`));
  const merged = parts.filter((part) => !known.has(`${part.after} ${part.until}`));
  if (merged.length > 1) seen.merged++;
  if (parts.length < before.parts.length) seen.dropped++;
}

describe('dedupe ids in parts', () => {
  it('and the deltas after them give what a plain model keeps, by whatever policy, owner and budget', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (drawn) => {
        const { records, batches, owners, changes, changesAt, knobs } = drawn;
        let nowMs = 1_000_000;
        const log = records.map(({ again, other, advanceMs, lateMs }, index) => {
          nowMs += advanceMs;
          return idRecord(
            again === null ? index : Math.max(0, index - again),
            nowMs - lateMs,
            other,
          );
        });
        const world = new TaskWorld(log, knobs);
        let policy = policies[0] as IdPolicy | null;
        let plan = idPlan(policy);
        let tasks: SliceTask[] = [];
        const begin = async () => {
          await world.activate(plan);
          const code = { plan, decoder: createJsonDecoder(plan) };
          tasks = [0, 1, 2].map(() => world.task({}, code));
        };
        await begin();
        const model = new IdModel(policy);
        let follower: { checkpoint: Checkpoint; delta: Parameters<typeof advance>[1] } | null =
          null;
        let at = 0;
        for (const [index, count] of batches.entries()) {
          const change =
            index % changesAt === changesAt - 1 ? changes[index % changes.length] : null;
          if (change !== null && change !== undefined && policies[change] !== policy) {
            policy = policies[change] as IdPolicy | null;
            plan = idPlan(policy);
            await begin();
            model.change(policy);
            follower = null;
            seen.changes++;
          }
          const to = Math.min(RECORDS, at + count);
          world.clock.advance(1_000);
          await tasks[owners[index % owners.length] as number]?.deliver(
            world.batch(at, to),
            PLENTY,
          );
          for (const record of log.slice(at, to)) model.take(record);
          at = to;
          const head = await world.head();
          const loaded = await load(plan, head, world.blobs);
          const kept = model.kept();
          expect(idsOf(loaded.image)).toBe(kept);
          expect(loaded.image.progress.counts).toMatchObject({
            duplicates: model.duplicates,
            folded: model.folded,
          });
          expect(head.chainSince).toBe(chainSince(loaded.manifest));
          const before: Checkpoint | null = follower?.checkpoint ?? null;
          learn(loaded.manifest.ids, before?.manifest.ids ?? null, head.epoch);
          const checkpoint: Checkpoint =
            follower === null
              ? loaded
              : await advance(follower.checkpoint, follower.delta, head, world.blobs);
          expect(idsOf(checkpoint.image)).toBe(kept);
          follower = { checkpoint, delta: head.delta };
        }
        seen.duplicates += model.duplicates;
      }),
      { numRuns: 60, endOnFailure: true },
    );
    expect(seen.parts).toBeGreaterThan(4);
    expect(seen.merged).toBeGreaterThan(10);
    expect(seen.dropped).toBeGreaterThan(10);
    expect(seen.behind).toBeGreaterThan(2);
    expect(seen.changes).toBeGreaterThan(20);
    expect(seen.duplicates).toBeGreaterThan(300);
  }, 60_000);
});
