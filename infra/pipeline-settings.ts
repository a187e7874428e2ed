/**
 * The props with every default filled in, after the guards that need nothing but the props.
 */
import { Duration, RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import { CfnStream, type IStream, StreamMode } from 'aws-cdk-lib/aws-kinesis';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { Plan } from '../core/definition/plan.ts';
import { START_AT_HORIZON } from '../functions/deployment-contract.ts';
import { guardBounds } from './guards/bounds-guard.ts';
import { guardConcurrency } from './guards/concurrency-guard.ts';
import { batchSizeMax, guardPayload } from './guards/payload-guard.ts';
import { type Refusal, refuse } from './guards/refusal.ts';
import { guardRegion } from './guards/region-guard.ts';
import { guardRetention, STREAM_HOURS_DEFAULT } from './guards/retention-guard.ts';
import { guardStart } from './guards/start-guard.ts';
import { loadPipeline } from './pipeline-file.ts';
import type { DeployTarget, TidemarkPipelineProps } from './pipeline-props.ts';

export interface PipelineSettings {
  readonly plan: Plan;
  readonly lockFolder: string;
  readonly stage: string;
  /** What metrics and logs name it: two stages in one account are two services. */
  readonly serviceName: string;
  readonly target: DeployTarget;
  /** Of every store that is the pipeline's own. */
  readonly removalPolicy: RemovalPolicy;
  /** A bucket of its own that goes with the stack: S3 deletes none that holds an object. */
  readonly isBucketEmptied: boolean;
  readonly keyPrefix: string;
  readonly start: typeof START_AT_HORIZON | Date;
  readonly streamMode: StreamMode;
  readonly shardCount: number | undefined;
  readonly retentionHours: number;
  readonly batchSize: number;
  readonly batchWindow: Duration;
  readonly aggregateMemoryMiB: number;
  readonly aggregateTimeout: Duration;
  readonly reservedConcurrency: number | undefined;
  readonly queryConcurrency: number | undefined;
  readonly logRetention: RetentionDays;
}

const STAGE = /^[A-Za-z0-9-]{1,20}$/;
const KEY_PREFIX = /^$|^[A-Za-z0-9_.-][A-Za-z0-9_./-]{0,199}\/$/;
const RETENTION_DEFAULT = Duration.days(7);

export function pipelineSettings(scope: Construct, props: TidemarkPipelineProps): PipelineSettings {
  const { stage = 'prod', target = 'aws', stream, streamMode = StreamMode.PROVISIONED } = props;
  const isOwnProvisioned = stream === undefined && streamMode === StreamMode.PROVISIONED;
  const shardCount = props.shardCount ?? (isOwnProvisioned ? 1 : undefined);
  const retention = props.retention ?? (stream ? undefined : RETENTION_DEFAULT);
  const hours = retention?.toHours({ integral: false });
  const streamHours = stream === undefined ? undefined : retentionOf(stream);
  const batchSize = props.batchSize ?? batchSizeMax(props.recordBytes);
  refuse(scope.node.path, [
    ...guardStage(stage),
    ...guardKeyPrefix(props.keyPrefix),
    ...guardStart({ start: props.start, isStreamGiven: stream !== undefined }),
    ...guardRetention({ hours, streamHours }),
    ...guardPayload({ batchSize, recordBytes: props.recordBytes }),
    ...guardBounds(props),
    ...guardRegion({
      streamRegion: stream === undefined ? undefined : concrete(stream.env.region),
      stackRegion: concrete(Stack.of(scope).region),
    }),
    ...guardConcurrency({ reserved: props.reservedConcurrency, shardCount }),
  ]);
  const { plan, folder } = loadPipeline(props.pipeline);
  const removalPolicy = props.removalPolicy ?? removalDefault(stage, target);
  return {
    plan,
    lockFolder: folder,
    stage,
    serviceName: stage === 'prod' ? plan.name : `${plan.name}-${stage}`,
    target,
    keyPrefix: props.keyPrefix ?? (props.bucket ? `tidemark/${stage}/${plan.name}/` : ''),
    removalPolicy,
    isBucketEmptied: props.bucket === undefined && removalPolicy === RemovalPolicy.DESTROY,
    start: props.start ?? START_AT_HORIZON,
    streamMode,
    shardCount,
    retentionHours: hours ?? streamHours ?? RETENTION_DEFAULT.toHours(),
    batchSize,
    batchWindow: props.batchWindow ?? Duration.seconds(5),
    aggregateMemoryMiB: props.aggregateMemoryMiB ?? 1769,
    aggregateTimeout: props.aggregateTimeout ?? Duration.minutes(5),
    reservedConcurrency: props.reservedConcurrency,
    queryConcurrency: props.queryConcurrency,
    logRetention: props.logRetention ?? RetentionDays.ONE_MONTH,
  };
}

/** As functions and the lock file have it. */
export function startText({ start }: Pick<PipelineSettings, 'start'>): string {
  return start instanceof Date ? start.toISOString() : start;
}

/** Begins the logical ids that must not follow the construct's path: `TidemarkFlights`, at stage dev `TidemarkFlightsDev`. */
export function logicalPrefix({ plan, stage }: Pick<PipelineSettings, 'plan' | 'stage'>): string {
  const name = stage === 'prod' ? plan.name : `${plan.name}-${stage}`;
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return `Tidemark${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`;
}

/** What is kept goes with a deploy that made it and failed: its name would stand in the way of the next. */
function removalDefault(stage: string, target: DeployTarget): RemovalPolicy {
  const isKept = stage !== 'dev' && target === 'aws';
  return isKept ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
}

/** Hours of a stream that this app makes; undefined for an imported one. */
function retentionOf(stream: IStream): number | undefined {
  const resource = stream.node.defaultChild;
  if (!(resource instanceof CfnStream)) return undefined;
  return resource.retentionPeriodHours ?? STREAM_HOURS_DEFAULT;
}

function concrete(region: string): string | undefined {
  return Token.isUnresolved(region) ? undefined : region;
}

/** The prefix stands in policies, where some characters are wildcards. */
function guardKeyPrefix(prefix = ''): Refusal[] {
  if (KEY_PREFIX.test(prefix)) return [];
  const expected = "letters, digits and _ . / -, at the end '/', such as 'tidemark/prod/'";
  return [{ found: `keyPrefix is '${prefix}'`, expected, todo: 'give such a prefix, or none' }];
}

function guardStage(stage: string): Refusal[] {
  if (STAGE.test(stage)) return [];
  const expected = 'letters, digits and -, at most 20: it becomes part of names';
  return [{ found: `stage is '${stage}'`, expected, todo: "give something like 'prod' or 'dev'" }];
}
