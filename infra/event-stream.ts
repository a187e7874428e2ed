/**
 * The Kinesis stream, unless one is given.
 *
 * Encrypted with `aws/kinesis`, the key that AWS manages: it costs nothing itself (its calls cost cents, docs/operations.md), its key policy
 * admits whoever may use the stream, and it cannot be disabled or deleted. A key of your own would need a grant for every producer.
 */
import { Duration } from 'aws-cdk-lib';
import { type IStream, Stream, StreamEncryption, StreamMode } from 'aws-cdk-lib/aws-kinesis';
import type { Construct } from 'constructs';
import type { PipelineSettings } from './pipeline-settings.ts';

export function eventStream(
  scope: Construct,
  settings: PipelineSettings,
  given: IStream | undefined,
): IStream {
  if (given !== undefined) return given;
  const { plan, stage, streamMode, shardCount, retentionHours, removalPolicy } = settings;
  const stream = new Stream(scope, 'Stream', {
    // Producers and the command line know it by the name in the pipeline file.
    streamName: stage === 'prod' ? plan.stream : `${plan.stream}-${stage}`,
    streamMode,
    ...(streamMode === StreamMode.PROVISIONED && shardCount !== undefined ? { shardCount } : {}),
    retentionPeriod: Duration.hours(retentionHours),
    encryption: StreamEncryption.MANAGED,
  });
  stream.applyRemovalPolicy(removalPolicy);
  return stream;
}
