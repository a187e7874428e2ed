/**
 * The ARNs that `permissions.ts` speaks of, and policy statements from both.
 */
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IStream } from 'aws-cdk-lib/aws-kinesis';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { leadingKeysCondition, type Permission, type ResourceKey } from './permissions.ts';

/** Of what does not exist (no key, no queue for this role) there is none. */
export type ResourceArns = Readonly<Partial<Record<ResourceKey, string>>>;

/** What all functions share. */
export interface PipelineResources {
  readonly table: ITable;
  readonly bucket: IBucket;
  readonly keyPrefix: string;
  readonly isBucketEmptied: boolean;
  readonly stream: IStream;
  readonly streamKey: IKey | undefined;
  readonly onFailure: IQueue;
}

export function resourceArns(
  resources: PipelineResources,
  own: { readonly logs?: ILogGroup; readonly aggregate?: IFunction },
): ResourceArns {
  const { table, bucket, keyPrefix, isBucketEmptied, stream, streamKey, onFailure } = resources;
  const { encryptionKey } = bucket;
  const objects = bucket.arnForObjects(`${keyPrefix}*`);
  return {
    table: table.tableArn,
    bucket: bucket.bucketArn,
    objects,
    quarantineObjects: bucket.arnForObjects(`${keyPrefix}quarantine/*`),
    ...(isBucketEmptied ? { emptiedObjects: objects } : {}),
    ...(encryptionKey === undefined ? {} : { bucketKey: encryptionKey.keyArn }),
    stream: stream.streamArn,
    ...(streamKey === undefined ? {} : { streamKey: streamKey.keyArn }),
    onFailure: onFailure.queueArn,
    ...(own.logs === undefined ? {} : { logs: own.logs.logGroupArn }),
    ...(own.aggregate === undefined ? {} : { aggregate: own.aggregate.functionArn }),
  };
}

export function policyStatements(
  permissions: readonly Permission[],
  arns: ResourceArns,
): PolicyStatement[] {
  return permissions.flatMap(({ on, actions, leadingKeys }) => {
    const arn = arns[on];
    if (arn === undefined) return [];
    const conditions = leadingKeys === undefined ? {} : leadingKeysCondition(leadingKeys);
    return [new PolicyStatement({ actions: [...actions], resources: [arn], conditions })];
  });
}
