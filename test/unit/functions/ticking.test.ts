/** The rounds of a long redrive follow each other in one invocation of the deployed function. */
import { expect, it } from 'vitest';
import type { AggregateEvent } from '../../../functions/aggregate/aggregate-event.ts';
import { tickingOn } from '../../../functions/aggregate/ticking.ts';

const TICK: AggregateEvent = { tidemark: 'tick', shardId: 'shardId-000000000000' };

/** Each round leaves work, but the last; each takes so long. */
async function roundsOf(event: AggregateEvent, rounds: number, tookMs: number, timeLeftMs: number) {
  let nowMs = 0;
  let count = 0;
  const handler = tickingOn(
    async () => {
      count++;
      nowMs += tookMs;
      return [{ isUnfinished: count < rounds } as never];
    },
    () => nowMs,
  );
  const reports = await handler(event, {
    getRemainingTimeInMillis: () => timeLeftMs - nowMs,
  });
  expect(reports).toHaveLength(count);
  return count;
}

it('a tick goes on until nothing is left', async () => {
  expect(await roundsOf(TICK, 7, 300, 900_000)).toBe(7);
});

it('or until it has taken its time, or has little left', async () => {
  expect(await roundsOf(TICK, 1_000, 5_000, 900_000)).toBe(9);
  expect(await roundsOf(TICK, 1_000, 5_000, 36_000)).toBe(4);
});

it('nothing else is done twice', async () => {
  expect(await roundsOf({ tidemark: 'recover', shardId: TICK.shardId }, 7, 300, 900_000)).toBe(1);
  expect(await roundsOf({ Records: [] }, 7, 300, 900_000)).toBe(1);
});
