import { describe, expect, it } from 'vitest';
import { load } from '../../../core/checkpoint/restore.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';
import type { Plan } from '../../../core/definition/plan.ts';
import type { SmallRecord } from '../../world/small-log.ts';
import { PLENTY, TaskWorld } from './task-fixture.ts';

const aggregates = { records: { count: '*' }, total: { sum: 'amount' } };

function dedupedBy(id: string): Plan {
  const parsed = parsePlan({
    name: 'small',
    time: { field: 't', lateness: '5s', skew: 'none' },
    category: { field: 'type' },
    dedupe: { id, within: '60s' },
    views: { all_time: { category: 'a', groupBy: ['key'], aggregates } },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

/** `other` of the last five is what `id` is of some of the first. */
const LOG = Array.from({ length: 245 }, (_, index): SmallRecord & { other: number } => ({
  id: index < 200 ? index : 1_000 + index,
  other: index < 240 ? 100_000 + index : index - 45,
  t: 1_000 + index,
  type: 'a',
  key: `group ${index % 40}`,
  amount: 1,
}));

describe('ids of a field that a plan before knew duplicates by', () => {
  it('are none of the plan that a fallback went over to, whatever its base could write', async () => {
    const [before, after] = [dedupedBy('id'), dedupedBy('other')];
    const knobs = { chainLengthMax: 8, partBytesMax: 60, partBytesMinToRewrite: 1 };
    const world = new TaskWorld(LOG, knobs);
    const codeOf = (plan: Plan) => ({ plan, decoder: createJsonDecoder(plan) });
    await world.activate(before);
    const first = world.task({}, codeOf(before));
    for (let at = 0; at < 200; at += 4) await first.deliver(world.batch(at, at + 4), PLENTY);
    await world.activate(after);
    await world.task({}, codeOf(after)).tick(PLENTY);
    const switched = await world.head();
    expect(switched.planHash).toBe(after.hash);
    await world.damage(switched.delta!);
    await world.damage(switched.base!);
    const report = await world.task({}, codeOf(after)).deliver(world.batch(200, 204), PLENTY);
    expect(report.rewoundTo).not.toBeNull();
    const sparing = { knobs: { ...world.ports.knobs, chainLengthMax: 100 } };
    await world.task(sparing, codeOf(after)).checkpoint(PLENTY);
    await world.task({}, codeOf(after)).deliver(world.batch(204, 245), PLENTY);
    const { image } = await load(after, await world.head(), world.blobs);
    expect(image.progress.counts).toMatchObject({ folded: 245, duplicates: 0 });
  });
});
