/**
 * What a pipeline of one shard costs a month: units by service, and their price. Pure: measured sizes and settings in,
 * lines out. The sum of the lines is the cost; nothing is rounded before it is printed.
 */
import { BATCH_RECORDS_MAX, INVOCATION_PAYLOAD_BYTES_MAX } from '../../core/limits.ts';
import { PRICES } from './price-list.ts';
import type { Charges } from './store-calls.ts';

export interface CostSettings {
  readonly recordsPerSecond: number;
  /** Data and partition key of a record. */
  readonly recordBytes: number;
  readonly batchWindowMs: number;
  readonly memoryMb: number;
  readonly retentionDays: number;
}

export interface InvocationTime {
  /** On one whole core. */
  readonly cpuMs: number;
  /** Calls that nothing else could be done beside. */
  readonly dynamodbRounds: number;
  readonly s3Rounds: number;
}

/** Of one invocation of the aggregate function, on average; bytes of items and objects are what the stores hold at a time. */
export interface InvocationUsage {
  readonly charges: Charges;
  /** Of each invocation that was measured. */
  readonly times: readonly InvocationTime[];
  /** That the function writes into its log, as CloudWatch counts them. */
  readonly logBytes: number;
  /** Bytes of objects that it creates. Each is deleted some day, and kept as a version for a while. */
  readonly objectBytesCreated: number;
  readonly itemBytes: number;
  readonly objectBytes: number;
}

/** How old what an answer holds is, for a reader who asks at any moment. */
export interface AnswerAge {
  readonly medianMs: number;
  readonly worstMs: number;
}

/** `shard`: once for each shard. `pipeline`: once, however many there are. */
export type Scope = 'kinesis' | 'shard' | 'pipeline';

export interface CostLine {
  readonly scope: Scope;
  readonly service: string;
  readonly what: string;
  readonly units: number;
  readonly unit: string;
  /** Of one unit. */
  readonly price: number;
  readonly dollars: number;
}

export const MONTH_HOURS = 730;
const HOUR_S = 3_600;
const MONTH_S = MONTH_HOURS * HOUR_S;
const MONTH_MINUTES = MONTH_HOURS * 60;
const MONTH_DAYS = MONTH_HOURS / 24;
const THOUSAND = 1_000;
const MILLION = 1_000_000;
const GB = 1_000_000_000;
const PUT_UNIT_BYTES = 25 * 1024;
/** What an event has around the base64 of a record's data. */
const EVENT_FRAME_BYTES = 540;
/** Where a function has one whole core. */
const CORE_MB = 1_769;
// A round trip inside a region, as they are commonly seen: our assumption.
const DYNAMODB_ROUND_MS = 6;
const S3_ROUND_MS = 35;
/** What CloudWatch counts for each line beside its text. */
export const LOG_LINE_FRAME_BYTES = 26;
/** Lambda's own lines of an invocation: START, END, REPORT. */
const LAMBDA_LOG_BYTES = 265 + 3 * LOG_LINE_FRAME_BYTES;
/** The tick function's line of metrics, about. */
const TICK_LOG_BYTES = 800 + LOG_LINE_FRAME_BYTES + LAMBDA_LOG_BYTES;
/** What is left of logs once CloudWatch has compressed them, and how long the construct keeps them: our assumption, its default. */
const LOGS_STORED_SHARE = 0.15;
const LOGS_KEPT_MONTHS = 1;
/** Once a minute, the pipeline's look at itself, and its question to each shard. */
const TICK_MS = 200;
const TICK_MEMORY_MB = 512;
/** HEAD, the inbox and, in the status, HEAD once more. */
const TICK_READ_UNITS = 3;
/** The age that it saw. */
const TICK_WRITE_UNITS = 1;
/** How long a version is kept that is not current any more, by the bucket's lifecycle rule. */
export const NONCURRENT_KEPT_DAYS = 2;
/** S3 counts from the midnight that follows: half a day on average. */
const UNTIL_MIDNIGHT_DAYS = 0.5;
/**
 * Kinesis fetches a data key of an encrypted stream about every five minutes, once for each credentials that read or write it.
 * AWS does not say whether for the stream or for each shard: counted for each shard, which is the more.
 */
const DATA_KEYS_A_MONTH = MONTH_MINUTES / 5;
/** The mapping in the aggregate function's role, and the tick function, which looks at each shard. */
const READER_CREDENTIALS = 2;
const PRODUCER_CREDENTIALS = 1;
// What the construct makes for a pipeline. Bucket, table, queue and logs are encrypted by keys whose calls nobody pays for.
export const METRICS = 19;
/** 16 alarms, two of which look at several metrics: each is charged. */
export const ALARM_METRICS = 19;
const DASHBOARDS = 1;

/** Records of one batch: what the window brings, what Lambda takes, what its payload holds. */
export function batchRecords(settings: CostSettings): number {
  const { recordsPerSecond, recordBytes, batchWindowMs } = settings;
  const eventBytes = EVENT_FRAME_BYTES + (4 * recordBytes) / 3;
  const fits = Math.floor(INVOCATION_PAYLOAD_BYTES_MAX / eventBytes);
  const waited = Math.floor((recordsPerSecond * batchWindowMs) / THOUSAND);
  return Math.max(1, Math.min(waited, BATCH_RECORDS_MAX, fits));
}

export function monthlyCost(settings: CostSettings, usage: InvocationUsage): CostLine[] {
  const invocations = invocationsOf(settings);
  return [
    ...kinesisLines(settings),
    ...storeLines(invocations, usage),
    ...computeLines(invocations, settings, usage),
    ...pipelineLines(),
  ];
}

export function totalOf(lines: readonly CostLine[], ...scopes: readonly Scope[]): number {
  return lines.reduce((sum, { scope, dollars }) => sum + (scopes.includes(scope) ? dollars : 0), 0);
}

/** Seconds that Lambda charges for one invocation of the aggregate function, on average. */
export function invocationSeconds(settings: CostSettings, { times }: InvocationUsage): number {
  return times.reduce((sum, time) => sum + secondsOf(settings, time), 0) / times.length;
}

/**
 * A record waits until its batch is full or its window over, and for the invocation that folds it; an answer right after that
 * is as old as the invocation took, right before the next one a batch older.
 */
export function answerAge(settings: CostSettings, usage: InvocationUsage): AnswerAge {
  const batchMs = (batchRecords(settings) * THOUSAND) / settings.recordsPerSecond;
  const slowest = usage.times.reduce((most, time) => Math.max(most, secondsOf(settings, time)), 0);
  return {
    medianMs: batchMs / 2 + THOUSAND * invocationSeconds(settings, usage),
    worstMs: batchMs + THOUSAND * slowest,
  };
}

/** Of a bucket that is encrypted with a key of one's own, where it has no bucket keys: each PUT and GET asks KMS. */
export function bucketKeyMonthlyDollars(settings: CostSettings, { charges }: InvocationUsage) {
  const calls = invocationsOf(settings) * (charges.puts + charges.gets);
  return (calls / THOUSAND) * PRICES.kms.thousandRequests;
}

function invocationsOf(settings: CostSettings): number {
  return (settings.recordsPerSecond * MONTH_S) / batchRecords(settings);
}

function secondsOf({ memoryMb }: CostSettings, time: InvocationTime): number {
  const cpuMs = time.cpuMs * Math.max(1, CORE_MB / memoryMb);
  const waitMs = time.dynamodbRounds * DYNAMODB_ROUND_MS + time.s3Rounds * S3_ROUND_MS;
  return (cpuMs + waitMs) / THOUSAND;
}

/** Managed Service for Apache Flink: `kpus` for the application, and one for its orchestration. */
export function flinkMonthlyDollars(kpus: number): number {
  const { kpuHour, runningGbMonth, runningGbPerKpu } = PRICES.flink;
  return (kpus + 1) * kpuHour * MONTH_HOURS + kpus * runningGbPerKpu * runningGbMonth;
}

/** A function that updates one item of at most 1 KiB for each record and view: the writes alone. */
export function writePerRecordMonthlyDollars(recordsPerSecond: number, views: number): number {
  const writes = recordsPerSecond * views * MONTH_S;
  return (writes * PRICES.dynamodb.millionWriteUnits) / MILLION;
}

function kinesisLines({ recordsPerSecond, recordBytes, retentionDays }: CostSettings): CostLine[] {
  const { shardHour, extendedRetentionShardHour, millionPutUnits } = PRICES.kinesis;
  const putUnits = recordsPerSecond * MONTH_S * Math.ceil(recordBytes / PUT_UNIT_BYTES);
  const extendedHours = retentionDays > 1 ? MONTH_HOURS : 0;
  const of = lineOf('kinesis', 'Kinesis');
  return [
    of('shard', MONTH_HOURS, 'shard hours', shardHour),
    of('records put', putUnits / MILLION, 'M payload units', millionPutUnits),
    of('retention', extendedHours, 'shard hours', extendedRetentionShardHour),
    keyLine('kinesis', "a producer's data keys", PRODUCER_CREDENTIALS),
  ];
}

function keyLine(scope: Scope, what: string, credentials: number): CostLine {
  const calls = credentials * DATA_KEYS_A_MONTH;
  const { thousandRequests } = PRICES.kms;
  return lineOf(scope, 'KMS')(what, calls / THOUSAND, 'k requests', thousandRequests);
}

function storeLines(invocations: number, usage: InvocationUsage): CostLine[] {
  const { charges, itemBytes, objectBytes, objectBytesCreated } = usage;
  const { dynamodb: db, s3: objects } = PRICES;
  const of = lineOf('shard', 'DynamoDB');
  const inS3 = lineOf('shard', 'S3');
  const writes = invocations * charges.writeUnits;
  const ages = MONTH_MINUTES * TICK_WRITE_UNITS;
  const versionDays = NONCURRENT_KEPT_DAYS + UNTIL_MIDNIGHT_DAYS;
  const versionBytes = (invocations / MONTH_DAYS) * objectBytesCreated * versionDays;
  const reads = invocations * charges.readUnits + MONTH_MINUTES * TICK_READ_UNITS;
  const storedPrice = db.storedGbMonth + db.recoverableGbMonth;
  return [
    of('writes', writes / MILLION, 'M write units', db.millionWriteUnits),
    of("ticks' ages", ages / MILLION, 'M write units', db.millionWriteUnits),
    of('reads', reads / MILLION, 'M read units', db.millionReadUnits),
    of('storage', itemBytes / GB, 'GB months, recoverable', storedPrice),
    inS3('writes', (invocations * charges.puts) / THOUSAND, 'k PUT, LIST', objects.thousandPuts),
    inS3('reads', (invocations * charges.gets) / THOUSAND, 'k GET', objects.thousandGets),
    inS3('storage', objectBytes / GB, 'GB months', objects.storedGbMonth),
    inS3('deleted versions', versionBytes / GB, 'GB months', objects.storedGbMonth),
    keyLine('shard', "the readers' data keys", READER_CREDENTIALS),
  ];
}

function computeLines(
  invocations: number,
  settings: CostSettings,
  usage: InvocationUsage,
): CostLine[] {
  const { gbSecond, millionRequests } = PRICES.lambda;
  const requests = invocations + MONTH_MINUTES;
  const gb = settings.memoryMb / 1024;
  const seconds =
    invocations * invocationSeconds(settings, usage) + (MONTH_MINUTES * TICK_MS) / THOUSAND;
  const of = lineOf('shard', 'Lambda');
  return [
    of('requests', requests / MILLION, 'M requests', millionRequests),
    of('compute', seconds * gb, 'GB seconds', gbSecond),
    ...logLines('shard', '', requests * (usage.logBytes + LAMBDA_LOG_BYTES)),
  ];
}

/** `whose` begins the lines' names. */
function logLines(scope: Scope, whose: string, bytes: number): CostLine[] {
  const { ingestedGb, storedGbMonth } = PRICES.cloudwatch;
  const storedBytes = bytes * LOGS_STORED_SHARE * LOGS_KEPT_MONTHS;
  const of = lineOf(scope, 'CloudWatch');
  return [
    of(`${whose}logs`, bytes / GB, 'GB', ingestedGb),
    of(`${whose}logs kept`, storedBytes / GB, 'GB months, compressed', storedGbMonth),
  ];
}

function pipelineLines(): CostLine[] {
  const { metricMonth, alarmMonth, dashboardMonth } = PRICES.cloudwatch;
  const { gbSecond, millionRequests } = PRICES.lambda;
  const tickGbSeconds = (MONTH_MINUTES * TICK_MS * TICK_MEMORY_MB) / 1024 / THOUSAND;
  const watch = lineOf('pipeline', 'CloudWatch');
  const tick = lineOf('pipeline', 'Lambda');
  return [
    watch('metrics', METRICS, 'metrics', metricMonth),
    watch('alarms', ALARM_METRICS, 'alarm metrics', alarmMonth),
    watch('dashboard', DASHBOARDS, 'dashboards', dashboardMonth),
    ...logLines('pipeline', "tick's ", MONTH_MINUTES * TICK_LOG_BYTES),
    tick("tick's requests", MONTH_MINUTES / MILLION, 'M requests', millionRequests),
    tick('tick', tickGbSeconds, 'GB seconds', gbSecond),
  ];
}

function lineOf(scope: Scope, service: string) {
  return (what: string, units: number, unit: string, price: number): CostLine => {
    return { scope, service, what, units, unit, price, dollars: units * price };
  };
}
