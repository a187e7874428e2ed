/**
 * One pipeline on AWS, as its functions reach it: the core's ports over its table, bucket and stream. Clients are made once an
 * environment; how long a call may take follows the invocation that runs.
 */
import { randomBytes } from 'node:crypto';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { KinesisClient } from '@aws-sdk/client-kinesis';
import { S3Client } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { AwsCalls, CLIENT_SETTINGS } from '../adapters/aws/aws-calls.ts';
import { DynamoAgeStore } from '../adapters/aws/dynamodb/dynamo-age-store.ts';
import { DynamoCheckpointStore } from '../adapters/aws/dynamodb/dynamo-checkpoint-store.ts';
import { DynamoInbox } from '../adapters/aws/dynamodb/dynamo-inbox.ts';
import { DynamoItemStore } from '../adapters/aws/dynamodb/dynamo-item-store.ts';
import { DynamoPlanRegistry } from '../adapters/aws/dynamodb/dynamo-plan-registry.ts';
import { DynamoQuarantineIndex } from '../adapters/aws/dynamodb/dynamo-quarantine-index.ts';
import { DynamoSuspicionStore } from '../adapters/aws/dynamodb/dynamo-suspicion-store.ts';
import { DynamoTable } from '../adapters/aws/dynamodb/dynamo-table.ts';
import { DynamoTipMarks } from '../adapters/aws/dynamodb/dynamo-tip-marks.ts';
import { KinesisPages } from '../adapters/aws/kinesis/kinesis-pages.ts';
import { KinesisRecordSource } from '../adapters/aws/kinesis/kinesis-record-source.ts';
import { KinesisShardDirectory } from '../adapters/aws/kinesis/kinesis-shard-directory.ts';
import { KinesisTips } from '../adapters/aws/kinesis/kinesis-tips.ts';
import { assertRecordsFit } from '../adapters/aws/kinesis/record-size.ts';
import { ShardList } from '../adapters/aws/kinesis/shard-list.ts';
import { StreamSummary } from '../adapters/aws/kinesis/stream-summary.ts';
import { S3ObjectStore } from '../adapters/aws/s3/s3-object-store.ts';
import { DEFAULT_KNOBS } from '../core/knobs.ts';
import type { AgeStore, Clock, NonceSource, Pauses } from '../core/ports.ts';
import type { TaskPorts } from '../core/task/slice-task.ts';
import {
  required,
  retentionHoursOf,
  startOf,
  streamArnOf,
  type Variables,
} from './aws-variables.ts';
import { Deadline } from './deadline.ts';
import { VARIABLE } from './deployment-contract.ts';

export const systemClock: Clock = { nowMs: () => Date.now() };

const timerPauses: Pauses = {
  pause: (ms) => setTimeout(ms),
  yield: () => setImmediate(),
};

const randomNonces: NonceSource = { nonce: () => randomBytes(8).toString('hex') };

export interface AwsPipeline {
  readonly ports: TaskPorts;
  readonly shards: ShardList;
  readonly tips: KinesisTips;
  readonly ages: AgeStore;
  /** Throws `ConfigurationFault` if the stream takes records that cannot be folded. */
  readonly assertRecordsFit: () => Promise<void>;
  readonly deadline: Deadline;
}

/** Of one read, for a function that must not make who asks wait for a quiet shard. */
const READS_OF_A_QUESTION_MAX = 3;
/** Batches do not wait for a merge: they go to other environments. */
const RUN_MERGE_ROUND_MS = 10_000;
/** A base takes longer than an item. */
const OBJECT_MS_MAX = 30_000;

/**
 * `use` says whether records must be found, or a question may be answered without. Throws `ConfigurationFault` where a
 * variable is missing or wrong.
 */
export function openAwsPipeline(variables: Variables, use: 'fold' | 'ask'): AwsPipeline {
  const deadline = new Deadline();
  const { timeLeftMs } = deadline;
  const calls = new AwsCalls({ timeLeftMs });
  const tableName = required(variables, VARIABLE.table);
  const dynamo = new DynamoDBClient(CLIENT_SETTINGS);
  const table = new DynamoTable({ client: dynamo, tableName, calls });
  const objects = openObjects(variables, new AwsCalls({ timeLeftMs, attemptMsMax: OBJECT_MS_MAX }));
  const { shards, source, directory, tips, stream } = openStream(variables, {
    calls,
    timeLeftMs,
    table,
    ...(use === 'ask' ? { callsMax: READS_OF_A_QUESTION_MAX } : {}),
  });
  const ports: TaskPorts = {
    heads: new DynamoCheckpointStore(table),
    blobs: { items: new DynamoItemStore(table, systemClock), objects },
    quarantine: new DynamoQuarantineIndex(table, objects),
    inbox: new DynamoInbox(table),
    plans: new DynamoPlanRegistry(table),
    suspicions: new DynamoSuspicionStore(table),
    source,
    shards: directory,
    clock: systemClock,
    pauses: timerPauses,
    nonces: randomNonces,
    knobs: { ...DEFAULT_KNOBS, runMergeRoundMs: RUN_MERGE_ROUND_MS },
  };
  return {
    ports,
    shards,
    tips,
    ages: new DynamoAgeStore(table),
    assertRecordsFit: () => assertRecordsFit(stream),
    deadline,
  };
}

/** The stream alone: for who only puts records. */
export function openKinesis(variables: Variables, calls: AwsCalls) {
  // Over HTTP/2, the client's own choice, a session that died while the environment was frozen would be asked again and again.
  const client = new KinesisClient({ ...CLIENT_SETTINGS, requestHandler: new NodeHttpHandler() });
  const streamArn = streamArnOf(variables);
  return { client, streamArn, shards: new ShardList({ client, calls, streamArn }) };
}

function openObjects(variables: Variables, calls: AwsCalls): S3ObjectStore {
  // An emulator serves all buckets at one host.
  const forcePathStyle = isEmulated(variables);
  return new S3ObjectStore({
    client: new S3Client({ ...CLIENT_SETTINGS, forcePathStyle }),
    bucket: required(variables, VARIABLE.bucket),
    keyPrefix: variables[VARIABLE.keyPrefix] ?? '',
    calls,
  });
}

function isEmulated(variables: Variables): boolean {
  return Boolean(variables['AWS_ENDPOINT_URL']);
}

interface StreamParts {
  readonly calls: AwsCalls;
  readonly timeLeftMs: () => number;
  readonly table: DynamoTable;
  readonly callsMax?: number;
}

function openStream(variables: Variables, { calls, table, ...parts }: StreamParts) {
  const { client, streamArn, shards } = openKinesis(variables, calls);
  const clock = systemClock;
  const hoursMax = retentionHoursOf(variables);
  const summary = new StreamSummary({ client, calls, streamArn, hoursMax, clock });
  const start = startOf(variables);
  const pages = new KinesisPages({ client, calls, streamArn, shards, start, clock });
  const kept = { marks: new DynamoTipMarks(table, summary), retention: summary, clock };
  const source = new KinesisRecordSource({ ...kept, pages, ...parts });
  const tips = new KinesisTips({ ...kept, source });
  const directory = new KinesisShardDirectory({ shards, tips, summary, clock });
  return { shards, source, tips, directory, stream: { client, calls, streamArn } };
}
