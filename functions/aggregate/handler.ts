/**
 * The aggregate function: commits the whole event or throws. It never returns partial batch failures.
 */
import type { Aggregator } from '../../core/aggregator.ts';
import type { DeliveryReport } from '../../core/task.ts';
import { type KinesisEvent, shardBatches } from './kinesis-event.ts';

/** Asks for an epoch with a base, of one shard's slice. */
export interface CheckpointEvent {
  readonly tidemark: 'checkpoint';
  readonly shardId: string;
}

export type AggregateEvent = KinesisEvent | CheckpointEvent;

/** What Lambda tells an invocation about itself. */
export interface InvocationContext {
  getRemainingTimeInMillis(): number;
}

export type AggregateHandler = (
  event: AggregateEvent,
  context: InvocationContext,
) => Promise<DeliveryReport[]>;

export function createAggregateHandler(aggregator: Aggregator): AggregateHandler {
  return async (event, context) => {
    const timeLeftMs = () => context.getRemainingTimeInMillis();
    if ('tidemark' in event) return [await aggregator.checkpoint(event.shardId, timeLeftMs)];
    const reports: DeliveryReport[] = [];
    for (const { shardId, records } of shardBatches(event)) {
      reports.push(await aggregator.deliver(shardId, records, timeLeftMs));
    }
    return reports;
  };
}
