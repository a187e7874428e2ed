/**
 * Where the mapping tells of records that expired before they were folded. It is the end of the line, kept as long as SQS keeps
 * anything; an alarm watches it.
 */
import { Duration, Validations } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { explicitName } from './emulator-target.ts';
import type { PipelineSettings } from './pipeline-settings.ts';

export function failureQueue(scope: Construct, settings: PipelineSettings): Queue {
  const queue = new Queue(scope, 'OnFailure', {
    ...explicitName(settings, 'queueName', 'on-failure'),
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  Validations.of(queue).acknowledge({
    id: 'AwsSolutions-SQS3',
    reason: 'It is itself where failures go; nothing consumes it but a person.',
  });
  return queue;
}
