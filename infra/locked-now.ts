/**
 * What the lock file is to hold of a pipeline, from the template: overrides and aspects count.
 */
import { CfnResource, Stack } from 'aws-cdk-lib';
import { CfnTable } from 'aws-cdk-lib/aws-dynamodb';
import { CfnStream } from 'aws-cdk-lib/aws-kinesis';
import type { CfnEventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { CfnBucket } from 'aws-cdk-lib/aws-s3';
import type { Construct, IConstruct } from 'constructs';
import { planToJson } from '../core/definition/plan-json.ts';
import type { LockedPipeline, LockedStore, LockedStores } from './lock-file.ts';
import { type PipelineSettings, startText } from './pipeline-settings.ts';
import { isKept, logicalIdOf, type Properties, renderedProperties } from './rendered-resource.ts';
import type { PipelineResources } from './resource-arns.ts';

export interface Lockable {
  readonly settings: PipelineSettings;
  readonly resources: PipelineResources;
  readonly mapping: CfnEventSourceMapping;
}

export function lockedNow(construct: Construct, lockable: Lockable): LockedPipeline {
  const { settings, resources, mapping } = lockable;
  const rendered = renderedProperties(mapping);
  return {
    construct: construct.node.path,
    mapping: {
      logicalId: logicalIdOf(mapping),
      start: renderedStart(rendered) ?? startText(settings),
      stream: rendered['EventSourceArn'],
    },
    stores: storesNow(construct, resources),
    ...shardsNow(construct, resources),
    pipeline: planToJson(settings.plan),
  };
}

function renderedStart(mapping: Properties): string | null {
  const { StartingPosition: position, StartingPositionTimestamp: seconds } = mapping;
  if (position === 'AT_TIMESTAMP' && typeof seconds === 'number') {
    return new Date(seconds * 1000).toISOString();
  }
  return typeof position === 'string' ? position : null;
}

function shardsNow(
  construct: Construct,
  { stream }: PipelineResources,
): Pick<LockedPipeline, 'shardCount'> {
  const resource = stream.node.defaultChild;
  if (!(resource instanceof CfnStream) || !resource.node.scopes.includes(construct)) return {};
  const shardCount = renderedProperties(resource)['ShardCount'];
  return typeof shardCount === 'number' ? { shardCount } : {};
}

function storesNow(
  construct: Construct,
  { table, bucket, stream, keyPrefix }: PipelineResources,
): LockedStores {
  const own = [table, bucket, stream]
    .map(({ node }) => node.defaultChild)
    .filter((child) => child instanceof CfnResource)
    .filter((child) => child.node.scopes.includes(construct));
  return {
    table: storeOf(construct, table, table.tableName),
    bucket: { ...storeOf(construct, bucket, bucket.bucketName), keyPrefix },
    stream: storeOf(construct, stream, stream.streamName),
    isKept: own.every(isKept),
  };
}

/** By the resource where it is of this app, otherwise by its name. */
function storeOf(construct: Construct, store: IConstruct, name: string): LockedStore {
  const resource = store.node.defaultChild;
  if (resource instanceof CfnTable) return ofResource(resource, 'TableName');
  if (resource instanceof CfnBucket) return ofResource(resource, 'BucketName');
  if (resource instanceof CfnStream) return ofResource(resource, 'Name');
  return { logicalId: null, name: Stack.of(construct).resolve(name) as unknown };
}

function ofResource(resource: CfnResource, property: string): LockedStore {
  return {
    logicalId: logicalIdOf(resource),
    name: renderedProperties(resource)[property] ?? null,
  };
}
