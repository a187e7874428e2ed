/**
 * The event source mapping, exactly as the protocol wants it: one invocation a shard at a time, tried until it succeeds. Its
 * position is state: it is fixed by name, and what would replace it is refused (`guards/lock-guard.ts`), as is any other
 * setting (`guards/mapping-guard.ts`).
 */

import type { IStream } from 'aws-cdk-lib/aws-kinesis';
import { CfnEventSourceMapping, type IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { MappingEnds as RenderedEnds } from './guards/mapping-guard.ts';
import { logicalPrefix, type PipelineSettings } from './pipeline-settings.ts';

/** For ever: no record is given up. Kinesis itself ends it, when a record expires. */
const WITHOUT_LIMIT = -1;

export interface MappingEnds {
  readonly stream: IStream;
  readonly aggregate: IFunction;
  /** Gets what expired before it was folded: a gap. */
  readonly onFailure: IQueue;
}

export function streamMapping(
  scope: Construct,
  settings: PipelineSettings,
  { stream, aggregate, onFailure }: MappingEnds,
): CfnEventSourceMapping {
  const { start } = settings;
  const mapping = new CfnEventSourceMapping(scope, 'Mapping', {
    eventSourceArn: stream.streamArn,
    functionName: aggregate.functionName,
    ...(start instanceof Date
      ? { startingPosition: 'AT_TIMESTAMP', startingPositionTimestamp: start.getTime() / 1000 }
      : { startingPosition: start }),
    batchSize: settings.batchSize,
    maximumBatchingWindowInSeconds: settings.batchWindow.toSeconds(),
    parallelizationFactor: 1,
    maximumRetryAttempts: WITHOUT_LIMIT,
    maximumRecordAgeInSeconds: WITHOUT_LIMIT,
    bisectBatchOnFunctionError: true,
    destinationConfig: { onFailure: { destination: onFailure.queueArn } },
    enabled: true,
  });
  mapping.overrideLogicalId(`${logicalPrefix(settings)}Mapping`);
  return mapping;
}

/** The same ends as the template must have them, for the guard. */
export function mappingEnds(
  { batchSize }: PipelineSettings,
  { stream, aggregate, onFailure }: MappingEnds,
): RenderedEnds {
  return {
    EventSourceArn: stream.streamArn,
    FunctionName: aggregate.functionName,
    BatchSize: batchSize,
    DestinationConfig: { OnFailure: { Destination: onFailure.queueArn } },
  };
}
