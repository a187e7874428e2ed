import { describe, expect, it } from 'vitest';
import { DEFAULT_KNOBS } from '../../../core/knobs.ts';
import { UNSAVED_BYTES_MAX } from '../../../core/limits.ts';
import { type CadenceFacts, decideCadence } from '../../../core/task/cadence.ts';
import { overriding, PLENTY, TaskWorld } from './task-fixture.ts';

const AGE_MS = 10_000;
const COMMITTED_MS = 1_000_000;
const knobs = { ...DEFAULT_KNOBS, unsavedAgeMsMax: AGE_MS };
const at = (ordinal: number) => ({ sequenceNumber: String(ordinal), subSequence: 0 });
const aged = (ageMs: number) => ({ nowMs: COMMITTED_MS + ageMs });
/** Records up to 30 are folded, an epoch holds those up to 10, HEAD answers for those up to 20. */
const HEAD = {
  status: 'OPEN',
  cursor: at(10),
  delivered: at(20),
  committedMs: COMMITTED_MS,
} as const;
const BATCH: CadenceFacts = {
  occasion: 'batch',
  head: HEAD,
  ...aged(AGE_MS - 1),
  position: at(30),
  unsavedBytes: 0,
  hasRedriven: false,
  hasCommitted: false,
};
const TICK: CadenceFacts = { ...BATCH, occasion: 'tick', position: at(20) };
const RECOVERING = { head: { ...HEAD, status: 'RECOVERING' } } as const;
const SAVED = { position: at(10), head: { ...HEAD, delivered: at(10) } };

describe.each([
  ['a batch', BATCH],
  ['a tick', TICK],
] as const)('%s ends with', (_, facts) => {
  it.each([
    ['checkpoint', 'where the last epoch is as old as may be', aged(AGE_MS)],
    ['checkpoint', 'where the clock was set back by as much', aged(-AGE_MS)],
    ['checkpoint', 'in a recovery', RECOVERING],
    ['checkpoint', 'in a recovery that has nothing to save', { ...SAVED, ...RECOVERING }],
    ['checkpoint', 'where something was redriven', { hasRedriven: true }],
    [
      'checkpoint',
      'where it was redriven and nothing else is new',
      { ...SAVED, hasRedriven: true },
    ],
    ['nothing', 'where all is saved, however old it is', { ...SAVED, ...aged(1e9) }],
    ['nothing', 'where HEAD answers for all that is young', { position: at(20) }],
  ] as const)('%s: %s', (decision, _, more) => {
    expect(decideCadence({ ...facts, ...more }, knobs)).toBe(decision);
  });

  it.each([0, 1, -1, -30_000, -26 * 3_600_000, 26 * 3_600_000])(
    'a checkpoint, always, unless an age was allowed (%s ms since the last)',
    (ageMs) => {
      expect(decideCadence({ ...facts, ...aged(ageMs) }, DEFAULT_KNOBS)).toBe('checkpoint');
    },
  );
});

it.each([
  ['deliver', 'while all that is unsaved is young', BATCH],
  ['deliver', 'where another clock is a little behind', { ...BATCH, ...aged(-5) }],
  ['deliver', 'below the bound of memory', { ...BATCH, unsavedBytes: UNSAVED_BYTES_MAX - 1 }],
  [
    'checkpoint',
    'of a batch at the bound of memory',
    { ...BATCH, unsavedBytes: UNSAVED_BYTES_MAX },
  ],
  ['nothing', 'of a tick at the bound of memory', { ...TICK, unsavedBytes: UNSAVED_BYTES_MAX }],
  ['deliver', 'of a batch after an epoch of its own', { ...BATCH, hasCommitted: true }],
  ['checkpoint', 'of a tick after an epoch of its own', { ...TICK, hasCommitted: true }],
  ['nothing', 'of a tick that has saved all by it', { ...TICK, ...SAVED, hasCommitted: true }],
] as const)('%s: %s', (decision, _, facts) => {
  expect(decideCadence(facts, knobs)).toBe(decision);
});

it('what a commit took is reported: entries, bytes, and milliseconds of blobs and of HEAD', async () => {
  // Two groups in each of the three views that select them, all in windows that stay open.
  const records = [1, 2, 3, 4].map((id) => {
    return { id, t: 1_000 + id, type: 'a', key: id < 3 ? 'x' : 'y', amount: id } as const;
  });
  const world = new TaskWorld(records);
  const { heads, blobs } = world.ports;
  const clock = { ms: COMMITTED_MS };
  const took = (ms: number) => {
    clock.ms += ms;
  };
  const task = world.task({
    clock: { nowMs: () => clock.ms },
    heads: overriding(heads, {
      writeHead: (...args) => {
        took(7);
        return heads.writeHead(...args);
      },
    }),
    blobs: {
      ...blobs,
      items: overriding(blobs.items, {
        create: (...args) => {
          took(40);
          return blobs.items.create(...args);
        },
      }),
    },
  });
  const report = await task.deliver(world.batch(0, 4), PLENTY);
  expect(report).toMatchObject({ commits: 1, writeMs: 40, headMs: 7 });
  expect(report.savedBytes).toBe((await world.head()).delta?.byteLength);
  expect(report.savedEntries).toBe(6);
  const again = await task.deliver(world.batch(0, 4), PLENTY);
  expect(again).toMatchObject({ commits: 0, savedEntries: 0, writeMs: 0, headMs: 0 });
});
