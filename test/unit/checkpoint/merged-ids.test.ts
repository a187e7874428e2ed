import { expect, it } from 'vitest';
import { load } from '../../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { idPlan, idRecord } from '../../world/id-model.ts';
import { PLENTY, TaskWorld } from '../task/task-fixture.ts';

/** The commit by which the other owner restores, by merged deltas; and that of its base, after one that ended within a span. */
const BY_THE_OTHER = [12, 14];

it('ids are in parts or deltas although a memory that came by merged deltas goes on from parts that end within one', async () => {
  const plan = idPlan({ field: 'id', withinMs: 200_000 });
  const sizes = [2, ...Array.from({ length: 11 }, () => 60), 1, 1, 1, 1, 1];
  const log = Array.from({ length: 667 }, (_, index) => idRecord(index, 1_000_000 + index, index));
  const world = new TaskWorld(log, {});
  const knobs = {
    ...world.ports.knobs,
    mergeFanIn: 4,
    partBytesMax: 1_000_000,
    partBytesMinToRewrite: 1,
    chainBytesMinToCompact: 1e12,
    drainBytesMin: 1e12,
  };
  await world.activate(plan);
  const code = { plan, decoder: createJsonDecoder(plan) };
  const [one, other] = [world.task({ knobs }, code), world.task({ knobs }, code)];
  let at = 0;
  let partlyWritten = 0;
  for (const [index, count] of sizes.entries()) {
    knobs.chainLengthMax = index === 0 || index >= 13 ? 1 : 1_000;
    const owner = BY_THE_OTHER.includes(index) ? other : one;
    await owner.deliver(world.batch(at, at + count), PLENTY);
    at += count;
    const { image, manifest, chain } = await load(plan, await world.head(), world.blobs);
    expect(image.dedupeIds.size).toBe(at);
    const { until } = manifest.ids;
    if (
      chain.some(({ kind, after, epoch }) => kind === 'merged' && after < until && until < epoch)
    ) {
      partlyWritten++;
    }
  }
  expect(partlyWritten).toBeGreaterThan(0);
});
