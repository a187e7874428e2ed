/**
 * What the infrastructure and the functions agree on: files of an asset, environment variables, metrics, and the properties
 * of the resource that activates a plan. Imported by both sides, so that neither can drift.
 */

/** The functions, each a folder of this one and an asset of its own. */
export const FUNCTION_NAMES = ['aggregate', 'query', 'admin', 'tick', 'heartbeat'] as const;
export type FunctionName = (typeof FUNCTION_NAMES)[number];

/** In each asset, beside `index.mjs`: the pipeline as JSON. */
export const PLAN_FILE = 'plan.json';
export const HANDLER = 'index.handler';

/** Environment variables, read by `compose.ts` alone. */
export const VARIABLE = {
  /** Name of the DynamoDB table. */
  table: 'TIDEMARK_TABLE',
  /** Name of the S3 bucket. */
  bucket: 'TIDEMARK_BUCKET',
  /** What all keys in the bucket begin with; may be empty. */
  keyPrefix: 'TIDEMARK_KEY_PREFIX',
  /** ARN of the Kinesis stream. */
  streamArn: 'TIDEMARK_STREAM_ARN',
  /** Where the pipeline begins: `TRIM_HORIZON`, or a time in ISO 8601. */
  start: 'TIDEMARK_START',
  /** Retention of the stream in hours. */
  retentionHours: 'TIDEMARK_RETENTION_HOURS',
  /** What metrics and logs name the pipeline: its name, and at other stages than prod the stage. */
  service: 'TIDEMARK_SERVICE',
  /** Name of the aggregate function: admin and tick ask it. */
  aggregateFunction: 'TIDEMARK_AGGREGATE_FUNCTION',
} as const;

export const START_AT_HORIZON = 'TRIM_HORIZON';

/** CloudWatch metrics in EMF; the only dimension is the pipeline, since each combination costs. */
export const METRIC_NAMESPACE = 'Tidemark';
/** Powertools' name for it; its value is that of `VARIABLE.service`. */
export const PIPELINE_DIMENSION = 'service';
export const METRIC = {
  // Of each delivery, by the aggregate function.
  recordsFolded: 'RecordsFolded',
  recordsReplayed: 'RecordsReplayed',
  recordsQuarantined: 'RecordsQuarantined',
  recordsLate: 'RecordsLate',
  restores: 'Restores',
  commits: 'Commits',
  commitsRefused: 'CommitsRefused',
  checkpointBytes: 'CheckpointBytes',
  /** Age of a batch's last record when HEAD answers for it. */
  behindMs: 'BehindMs',
  /** Invocations of the aggregate function that threw, `HeldFault` apart. */
  faults: 'Faults',
  /** Invocations that threw `HeldFault`: no alarm counts them. */
  held: 'Held',
  /** Times that what may lie before an old batch had expired before it could be looked at. */
  gapsPossible: 'GapsPossible',
  /** What query, admin, tick and heartbeat could not do. */
  otherFaults: 'OtherFaults',
  // Of the whole pipeline, once a minute, by the tick function.
  /** Age of the oldest record of any shard that no checkpoint holds, brought to the aggregate function or not. */
  checkpointAgeMs: 'CheckpointAgeMs',
  /** Slices of which that age is unknown: they count in it with the most that it may be. */
  slicesUnknown: 'SlicesUnknown',
  stateBytes: 'StateBytes',
  slices: 'Slices',
  /** Slices that are not OPEN. */
  slicesNotOpen: 'SlicesNotOpen',
} as const;

/** Of the custom resource that activates a plan: it changes exactly when the plan does. */
export interface ActivationProperties {
  readonly PlanHash: string;
  /** What becomes of the objects under the key prefix when the resource goes: S3 deletes no bucket that holds any. */
  readonly OnDelete: 'keep' | 'empty';
}
