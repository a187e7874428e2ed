/**
 * The environment of the functions. The guard against overrides compares what is rendered with it.
 */
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { VARIABLE } from '../functions/deployment-contract.ts';
import { type PipelineSettings, startText } from './pipeline-settings.ts';
import type { PipelineResources } from './resource-arns.ts';

/** With `aggregate` for those that ask it. */
export function functionEnvironment(
  settings: PipelineSettings,
  { table, bucket, stream }: PipelineResources,
  aggregate: IFunction | undefined,
): Record<string, string> {
  const { keyPrefix, retentionHours, serviceName } = settings;
  return {
    [VARIABLE.table]: table.tableName,
    [VARIABLE.bucket]: bucket.bucketName,
    [VARIABLE.keyPrefix]: keyPrefix,
    [VARIABLE.streamArn]: stream.streamArn,
    [VARIABLE.start]: startText(settings),
    [VARIABLE.retentionHours]: String(retentionHours),
    [VARIABLE.service]: serviceName,
    ...(aggregate === undefined ? {} : { [VARIABLE.aggregateFunction]: aggregate.functionName }),
  };
}
