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

/** Of one invocation of the aggregate function, on average; bytes are what the stores hold at a time. */
export interface InvocationUsage {
  readonly charges: Charges;
  /** On one whole core. */
  readonly cpuMs: number;
  /** Calls that nothing else could be done beside. */
  readonly dynamodbRounds: number;
  readonly s3Rounds: number;
  readonly itemBytes: number;
  readonly objectBytes: number;
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
/** An invocation's log: our two lines (measured: 1,150 B) and Lambda's own, with what CloudWatch adds to each. */
const LOG_BYTES = 1_800;
/** Once a minute, the pipeline's look at itself, and its question to each shard. */
const TICK_MS = 200;
const TICK_MEMORY_MB = 512;
/** HEAD, the inbox and, in the status, HEAD once more. */
const TICK_READ_UNITS = 3;
// What the construct makes for a pipeline. Its keys are AWS's own, which cost nothing.
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
  const invocations = (settings.recordsPerSecond * MONTH_S) / batchRecords(settings);
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

/** Seconds that Lambda charges for one invocation of the aggregate function. */
export function invocationSeconds({ memoryMb }: CostSettings, usage: InvocationUsage): number {
  const cpuMs = usage.cpuMs * Math.max(1, CORE_MB / memoryMb);
  const waitMs = usage.dynamodbRounds * DYNAMODB_ROUND_MS + usage.s3Rounds * S3_ROUND_MS;
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
  ];
}

function storeLines(invocations: number, usage: InvocationUsage): CostLine[] {
  const { charges, itemBytes, objectBytes } = usage;
  const { dynamodb: db, s3: objects } = PRICES;
  const of = lineOf('shard', 'DynamoDB');
  const inS3 = lineOf('shard', 'S3');
  const writes = invocations * charges.writeUnits;
  const reads = invocations * charges.readUnits + MONTH_MINUTES * TICK_READ_UNITS;
  const storedPrice = db.storedGbMonth + db.recoverableGbMonth;
  return [
    of('writes', writes / MILLION, 'M write units', db.millionWriteUnits),
    of('reads', reads / MILLION, 'M read units', db.millionReadUnits),
    of('storage', itemBytes / GB, 'GB months, recoverable', storedPrice),
    inS3('writes', (invocations * charges.puts) / THOUSAND, 'k PUT, LIST', objects.thousandPuts),
    inS3('reads', (invocations * charges.gets) / THOUSAND, 'k GET', objects.thousandGets),
    inS3('storage', objectBytes / GB, 'GB months', objects.storedGbMonth),
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
  const { ingestedGb } = PRICES.cloudwatch;
  return [
    of('requests', requests / MILLION, 'M requests', millionRequests),
    of('compute', seconds * gb, 'GB seconds', gbSecond),
    lineOf('shard', 'CloudWatch')('logs', (requests * LOG_BYTES) / GB, 'GB', ingestedGb),
  ];
}

function pipelineLines(): CostLine[] {
  const { metricMonth, alarmMonth, dashboardMonth, ingestedGb } = PRICES.cloudwatch;
  const { gbSecond, millionRequests } = PRICES.lambda;
  const tickGbSeconds = (MONTH_MINUTES * TICK_MS * TICK_MEMORY_MB) / 1024 / THOUSAND;
  const watch = lineOf('pipeline', 'CloudWatch');
  const tick = lineOf('pipeline', 'Lambda');
  return [
    watch('metrics', METRICS, 'metrics', metricMonth),
    watch('alarms', ALARM_METRICS, 'alarm metrics', alarmMonth),
    watch('dashboard', DASHBOARDS, 'dashboards', dashboardMonth),
    watch("tick's logs", (MONTH_MINUTES * LOG_BYTES) / GB, 'GB', ingestedGb),
    tick("tick's requests", MONTH_MINUTES / MILLION, 'M requests', millionRequests),
    tick('tick', tickGbSeconds, 'GB seconds', gbSecond),
  ];
}

function lineOf(scope: Scope, service: string) {
  return (what: string, units: number, unit: string, price: number): CostLine => {
    return { scope, service, what, units, unit, price, dollars: units * price };
  };
}
