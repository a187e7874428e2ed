/**
 * What an invocation has met of damage, as a person is told of it.
 */
import { sliceIdOf } from '../core/slice/topology.ts';
import type { AggregateAnswer } from './aggregate-environment.ts';
import type { RuntimeEvent } from './runtime-event.ts';

export async function damageNews(
  shardId: string,
  answer: AggregateAnswer,
  timelineOf: () => Promise<number>,
): Promise<RuntimeEvent[]> {
  if (!('rewoundTo' in answer)) return [];
  const { rewoundTo, lostParts } = answer;
  const sliceId = sliceIdOf(shardId);
  const told: RuntimeEvent[] = [];
  if (rewoundTo !== null) {
    told.push({ kind: 'rewound', sliceId, epoch: rewoundTo, timeline: await timelineOf() });
  }
  if (lostParts > 0) told.push({ kind: 'parts-lost', sliceId, count: lostParts });
  return told;
}
