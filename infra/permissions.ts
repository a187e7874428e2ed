/**
 * Who may do what: the whole of it. Each function has a role of its own with exactly these actions on exactly these resources;
 * docs/operations.md prints the table, a test simulates it, and a guard refuses a template that lacks a line of it.
 */
import type { FunctionName } from '../functions/deployment-contract.ts';

export const RESOURCE_KEYS = [
  'table',
  /** The bucket itself. */
  'bucket',
  /** The objects below the key prefix. */
  'objects',
  /** Those of them that are records of the quarantine. */
  'quarantineObjects',
  /** All of them, where they go with the stack: S3 deletes no bucket that holds any. */
  'emptiedObjects',
  /** The key of a given bucket. */
  'bucketKey',
  'stream',
  /** The key of a given stream. */
  'streamKey',
  'aggregate',
  /** The queue to which the mapping sends what expired. */
  'onFailure',
  /** The function's own log group. */
  'logs',
] as const;
export type ResourceKey = (typeof RESOURCE_KEYS)[number];

/** Those that name objects, by a prefix and a wildcard. */
export const OBJECT_KEYS: ReadonlySet<ResourceKey> = new Set([
  'objects',
  'quarantineObjects',
  'emptiedObjects',
]);

export interface Permission {
  readonly on: ResourceKey;
  readonly actions: readonly string[];
  /** Of a table: the partition keys alone that it may touch; `*` is any text. */
  readonly leadingKeys?: readonly string[];
}

/** Holds of a call whose every partition key is one of these. */
export function leadingKeysCondition(leadingKeys: readonly string[]) {
  return {
    'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [...leadingKeys] },
    // Of a call without a key the line above would hold too.
    Null: { 'dynamodb:LeadingKeys': 'false' },
  };
}

const LOGS: Permission = { on: 'logs', actions: ['logs:CreateLogStream', 'logs:PutLogEvents'] };

const TABLE_READS = ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:Query'];
const TABLE_WRITES = [
  'dynamodb:BatchWriteItem',
  'dynamodb:DeleteItem',
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
];

const OBJECT_READS: readonly Permission[] = [
  { on: 'objects', actions: ['s3:GetObject'] },
  // Of the whole bucket, without a condition: otherwise S3 answers 403 for a key that is not there, and it looks denied.
  { on: 'bucket', actions: ['s3:ListBucket'] },
  { on: 'bucketKey', actions: ['kms:Decrypt'] },
];

const STREAM_READS: readonly Permission[] = [
  {
    on: 'stream',
    actions: [
      // Its retention tells whether a record that is not there has expired.
      'kinesis:DescribeStreamSummary',
      'kinesis:GetRecords',
      'kinesis:GetShardIterator',
      'kinesis:ListShards',
    ],
  },
  { on: 'streamKey', actions: ['kms:Decrypt'] },
];

const INVOKES_AGGREGATE: Permission = { on: 'aggregate', actions: ['lambda:InvokeFunction'] };

export const PERMISSIONS: Readonly<Record<FunctionName, readonly Permission[]>> = {
  aggregate: [
    LOGS,
    { on: 'table', actions: [...TABLE_READS, ...TABLE_WRITES] },
    { on: 'objects', actions: ['s3:AbortMultipartUpload', 's3:DeleteObject', 's3:PutObject'] },
    { on: 'bucketKey', actions: ['kms:GenerateDataKey'] },
    ...OBJECT_READS,
    ...STREAM_READS,
    // The event source mapping acts in this role.
    { on: 'stream', actions: ['kinesis:DescribeStream'] },
    { on: 'onFailure', actions: ['sqs:SendMessage'] },
  ],
  // It looks into the stream too: how far behind a slice is, and whether a record waits.
  query: [LOGS, { on: 'table', actions: TABLE_READS }, ...OBJECT_READS, ...STREAM_READS],
  // It writes the plan registry and inboxes, purges the quarantine, and empties a bucket that goes with the stack.
  admin: [
    LOGS,
    { on: 'table', actions: TABLE_READS },
    {
      on: 'table',
      actions: ['dynamodb:PutItem'],
      leadingKeys: ['plan', 'inbox#*', 'quarantine#*'],
    },
    { on: 'table', actions: ['dynamodb:DeleteItem'], leadingKeys: ['quarantine#*'] },
    { on: 'quarantineObjects', actions: ['s3:DeleteObject', 's3:PutObject'] },
    { on: 'bucketKey', actions: ['kms:GenerateDataKey'] },
    { on: 'emptiedObjects', actions: ['s3:DeleteObject'] },
    ...OBJECT_READS,
    ...STREAM_READS,
    INVOKES_AGGREGATE,
  ],
  // It writes what it saw: the ages of what waits, and marks that a shard's end was seen.
  tick: [
    LOGS,
    { on: 'table', actions: TABLE_READS },
    { on: 'table', actions: ['dynamodb:PutItem'], leadingKeys: ['age#*', 'tip#*'] },
    ...STREAM_READS,
    INVOKES_AGGREGATE,
  ],
  heartbeat: [
    LOGS,
    { on: 'stream', actions: ['kinesis:ListShards', 'kinesis:PutRecords'] },
    { on: 'streamKey', actions: ['kms:GenerateDataKey'] },
  ],
};

/** What a producer needs, published by `grantPut`. */
export const PRODUCER_PERMISSIONS: readonly Permission[] = [
  { on: 'stream', actions: ['kinesis:PutRecord', 'kinesis:PutRecords'] },
  { on: 'streamKey', actions: ['kms:GenerateDataKey'] },
];
