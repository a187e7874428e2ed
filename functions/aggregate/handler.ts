/**
 * The aggregate function: commits the whole event or throws. It never returns partial batch failures.
 */
import type { Aggregator } from '../../core/aggregator.ts';
import type { DeliveryReport } from '../../core/task/delivery-report.ts';
import type { InvocationContext } from '../invocation-context.ts';
import { type AggregateEvent, assertKnown } from './aggregate-event.ts';
import { shardBatches } from './kinesis-event.ts';

export type AggregateHandler = (
  event: AggregateEvent,
  context: InvocationContext,
) => Promise<DeliveryReport[]>;

export function createAggregateHandler(aggregator: Aggregator): AggregateHandler {
  return async (event, context) => {
    const timeLeftMs = () => context.getRemainingTimeInMillis();
    assertKnown(event);
    if ('tidemark' in event) {
      const { tidemark, shardId, generation = null } = event;
      return [await aggregator[tidemark](shardId, timeLeftMs, generation)];
    }
    const reports: DeliveryReport[] = [];
    for (const { shardId, records } of shardBatches(event)) {
      reports.push(await aggregator.deliver(shardId, records, timeLeftMs));
    }
    return reports;
  };
}
