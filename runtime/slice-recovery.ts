/**
 * A recovery that takes several invocations, each in whichever environment is free: the event after an unfinished answer
 * claims the generation that the answer names.
 */
import type { AggregateAnswer, AggregatePayload } from './aggregate-environment.ts';

/** Takes the slice of a shard, and goes on until it is open. Rejects with what an invocation throws. */
export async function recoverSlice(
  shardId: string,
  invoke: (payload: AggregatePayload) => Promise<AggregateAnswer>,
): Promise<void> {
  let payload: AggregatePayload = { kind: 'recover', shardId };
  for (;;) {
    const answer = await invoke(payload);
    if (answer.outcome !== 'done' || !answer.isUnfinished || answer.generation === null) return;
    payload = { ...payload, generation: answer.generation };
  }
}
