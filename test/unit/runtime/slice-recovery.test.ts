import { expect, it } from 'vitest';
import type { AggregateAnswer, AggregatePayload } from '../../../runtime/aggregate-environment.ts';
import { recoverSlice } from '../../../runtime/slice-recovery.ts';

const SHARD = 'shardId-000000000000';
const done = (generation: number | null, isUnfinished: boolean): AggregateAnswer => {
  return { outcome: 'done', epoch: 1, rewoundTo: null, lostParts: 0, generation, isUnfinished };
};

async function payloadsOf(answers: readonly AggregateAnswer[]): Promise<AggregatePayload[]> {
  const payloads: AggregatePayload[] = [];
  await recoverSlice(SHARD, async (payload) => {
    payloads.push(payload);
    return answers[payloads.length - 1] as AggregateAnswer;
  });
  expect(payloads).toHaveLength(answers.length);
  return payloads;
}

it('names in each event the generation that the answer before it has named', async () => {
  expect(await payloadsOf([done(3, true), done(4, true), done(4, false)])).toEqual([
    { kind: 'recover', shardId: SHARD },
    { kind: 'recover', shardId: SHARD, generation: 3 },
    { kind: 'recover', shardId: SHARD, generation: 4 },
  ]);
});

it('ends with the first answer that leaves nothing', async () => {
  expect(await payloadsOf([done(1, false)])).toHaveLength(1);
});
