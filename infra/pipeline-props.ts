/**
 * What a person says about a pipeline in their stack. Only `pipeline` is required.
 */
import type { Duration, RemovalPolicy } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IStream, StreamMode } from 'aws-cdk-lib/aws-kinesis';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { PipelineJson } from '../core/definition/pipeline-json.ts';
import type { Plan } from '../core/definition/plan.ts';

/** `emulator`: LocalStack and its like, where runtimes and alarms are simpler and everything is thrown away. */
export type DeployTarget = 'aws' | 'emulator';

export interface TidemarkPipelineProps {
  /**
   * The pipeline: what the builder returns, the same as JSON, or the path of a file with either (`.json`, `.ts`, `.js` …), from
   * the folder in which `cdk` runs.
   */
  readonly pipeline: string | PipelineJson | Plan;
  /**
   * Which deployment of the pipeline this is; tells apart what `tidemark.lock.json` keeps. `dev` throws everything away with the
   * stack, any other keeps stream, table, bucket and logs.
   * @default 'prod'
   */
  readonly stage?: string;
  /**
   * An existing stream; `start` and `retention` must be given with it.
   * @default a new one, with the name that the pipeline file says (at other stages than prod with `-STAGE` after it)
   */
  readonly stream?: IStream;
  /** The key of an existing stream that is encrypted with a key of yours, unless the stream knows it. */
  readonly streamKey?: IKey;
  /**
   * An existing table, such as one that was restored to a point in time: `pk` and `sk`, both text, encrypted with a key of AWS.
   * @default a new one
   */
  readonly table?: ITable;
  /**
   * An existing bucket. It must never expire current objects.
   * @default a new one
   */
  readonly bucket?: IBucket;
  /**
   * What all keys in the bucket begin with.
   * @default '' in a bucket of its own, `tidemark/STAGE/NAME/` in an existing one
   */
  readonly keyPrefix?: string;
  /**
   * Where the pipeline begins: with the oldest record of the stream, or at a time of whole seconds. It is fixed for life.
   * @default 'TRIM_HORIZON' for a new stream
   */
  readonly start?: 'TRIM_HORIZON' | Date;
  /**
   * On-demand costs more for a steady load and scales by itself, by splits that this version stands only in part: see
   * docs/operations.md.
   * @default StreamMode.PROVISIONED
   */
  readonly streamMode?: StreamMode;
  /**
   * Shards of a new provisioned stream; otherwise how many shards to expect, where `reservedConcurrency` is checked against it.
   * @default 1 for a new provisioned stream
   */
  readonly shardCount?: number;
  /**
   * How long the stream keeps records: how far back a rollback can replay.
   * @default 7 days for a new stream
   */
  readonly retention?: Duration;
  /**
   * Records of one invocation, at most.
   * @default 10,000, or as many of `recordBytes` as fit in an invocation
   */
  readonly batchSize?: number;
  /**
   * How long Lambda gathers a batch, up to 5 minutes. An answer is about as old as this and an invocation; docs/operations.md says
   * which window costs what.
   * @default 5 seconds
   */
  readonly batchWindow?: Duration;
  /** Bytes of a typical record: checks that a batch fits in an invocation. */
  readonly recordBytes?: number;
  /**
   * From 256: Node, the code and a batch need about that. Above 1024 a quarter of it is more than slices' state uses.
   * @default 1769, one whole vCPU
   */
  readonly aggregateMemoryMiB?: number;
  /**
   * From 1 to 15 minutes: an invocation that replays must get somewhere.
   * @default 5 minutes
   */
  readonly aggregateTimeout?: Duration;
  /**
   * Invocations of the aggregate function that are reserved, and its limit. Lambda refuses it where less than 100 of the account's
   * concurrency would be left.
   * @default none
   */
  readonly reservedConcurrency?: number;
  /**
   * Invocations of the query function at a time, at most, so that readers cannot use up the concurrency that batches need. It is
   * reserved: Lambda refuses that where less than 100 of the account's concurrency would be left, so in an account with the
   * limit of 10 that new ones have, leave it out, or raise the limit first.
   * @default none: readers and batches share what the account has, and synth says so
   */
  readonly queryConcurrency?: number;
  /**
   * Of stream, table, bucket and logs, where they are not given.
   * @default RETAIN_ON_UPDATE_OR_DELETE (goes only with a first deploy that is rolled back), at stage `dev` DESTROY
   */
  readonly removalPolicy?: RemovalPolicy;
  /**
   * Where alarms go.
   * @default a new topic
   */
  readonly alarmTopic?: ITopic;
  /** @default one month */
  readonly logRetention?: RetentionDays;
  /** @default 'aws' */
  readonly target?: DeployTarget;
}
