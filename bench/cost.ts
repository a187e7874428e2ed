/**
 * What a shard costs a month on AWS, above Kinesis itself, with the arithmetic: sizes, calls and time on a core are measured
 * on a live stream of flights that the real function folds, prices and round trips are assumed (bench/cost/).
 *
 *   npm run bench -- cost [records/s] [bytes of a record; 0: a flight as it is] [environments] [memory in MB]
 */
import { fileURLToPath } from 'node:url';
import { loadPipelineFile } from '../cli/pipeline-file.ts';
import { formatTable } from '../cli/table.ts';
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { Plan } from '../core/definition/plan.ts';
import { planToJson } from '../core/definition/plan-json.ts';
import type { StreamRecord } from '../core/ports.ts';
import { FLIGHT_COUNT, type Flight, flights } from '../examples/flights/flight-rows.ts';
import {
  answerAge,
  batchRecords,
  bucketKeyMonthlyDollars,
  type CostSettings,
  flinkMonthlyDollars,
  invocationSeconds,
  monthlyCost,
  totalOf,
  writePerRecordMonthlyDollars,
} from './cost/cost-model.ts';
import { type MeasuredUsage, measureUsage } from './cost/measured-usage.ts';
import { PRICES, PRICES_OF } from './cost/price-list.ts';

const WINDOWS_MS = [1_000, 2_000, 3_000, 4_000, 5_000, 10_000];
const SHOWN_MS = 5_000;
const TARGET_DOLLARS = 20;
/** Long enough for ids to come and go, and for several bases. */
const MINUTES = 12;
const START_MS = Date.UTC(2026, 0, 1, 12);
const FIRST_SEQUENCE_NUMBER = 10n ** 55n;

/** Of what a record has beside the flight. */
const REMARK = 'on time, as filed, no change of gate, crew complete';

const [recordsPerSecond = 1_000, recordBytesWanted = 1_024, environments = 8, memoryMb = 1_769] =
  process.argv.slice(2).map(Number);
const plan = await livePlan();
const records = await liveRecords();
const recordBytes = Math.ceil(
  records.reduce((sum, { data, partitionKey }) => sum + data.length + partitionKey.length, 0) /
    records.length,
);
console.log(
  `flights, live: ${recordsPerSecond} records/s a shard of ${recordBytes} B, three views, ids kept for 5 min\n` +
    `batches to one of ${environments} environments of ${memoryMb} MB at random; prices of ${PRICES_OF}: check them before you rely on them\n`,
);
const runs: { settings: CostSettings; usage: MeasuredUsage; dollars: number }[] = [];
/** A batch that is full before its window ends is the same in every longer one. */
const usageOf = new Map<number, MeasuredUsage>();
for (const batchWindowMs of WINDOWS_MS) {
  const settings = { recordsPerSecond, recordBytes, batchWindowMs, memoryMb, retentionDays: 7 };
  const count = batchRecords(settings);
  const usage = usageOf.get(count) ?? (await measureUsage(plan, records, count, environments));
  usageOf.set(count, usage);
  const dollars = totalOf(monthlyCost(settings, usage), 'shard');
  runs.push({ settings, usage, dollars });
}
printWindows();
printLines();
printOthers();

function printWindows(): void {
  const columns = ['window s', 'batch', 'delta B', 'base B', 'commits a base', 'write units'];
  const rows = runs.map(({ settings, usage, dollars }) => [
    settings.batchWindowMs / 1_000,
    batchRecords(settings),
    Math.round(usage.deltaBytes),
    Math.round(usage.baseBytes),
    rounded(usage.invocations / usage.bases, 1),
    rounded(usage.charges.writeUnits, 2),
    rounded(usage.charges.puts, 2),
    rounded(usage.charges.gets, 2),
    rounded(1_000 * invocationSeconds(settings, usage), 0),
    Math.round(usage.logBytes),
    rounded(answerAge(settings, usage).medianMs / 1_000, 1),
    rounded(answerAge(settings, usage).worstMs / 1_000, 1),
    rounded(dollars, 2),
  ]);
  const perInvocation = ['PUT', 'GET', 'billed ms', 'log B', 'age s', 'worst s', '$ a shard'];
  console.log(formatTable([...columns, ...perInvocation], rows));
  console.log(
    "\nage: of what an answer holds, at the median and at worst of what was measured; Lambda's poll of the shard, up to 1 s, comes on top",
  );
  const own = totalOf(linesOf(0), 'pipeline');
  console.log(`\nunder $${TARGET_DOLLARS} a shard and month above Kinesis itself:`);
  console.log(`  the shard alone                              ${leastWindow(0)}`);
  console.log(`  with the pipeline's own $${own.toFixed(2)} on one shard   ${leastWindow(own)}`);
}

function leastWindow(ownDollars: number): string {
  const met = runs.find(({ dollars }) => dollars + ownDollars < TARGET_DOLLARS);
  if (met === undefined) return 'none of these windows';
  return `from a window of ${met.settings.batchWindowMs / 1_000} s on`;
}

function printLines(): void {
  const shown = runs.findIndex(({ settings }) => settings.batchWindowMs === SHOWN_MS);
  const lines = linesOf(shown);
  console.log(`\na month with a window of ${SHOWN_MS / 1_000} s, units × price:`);
  const rows = lines.map(({ scope, service, what, units, unit, price, dollars }) => [
    scope,
    `${service} ${what}`,
    `${Number(units.toPrecision(4)).toLocaleString('en-US')} ${unit}`,
    `$${price}`,
    dollars.toFixed(2),
  ]);
  const sums = (['kinesis', 'shard', 'pipeline'] as const).map((scope) => [
    scope,
    'all',
    '',
    '',
    totalOf(lines, scope).toFixed(2),
  ]);
  console.log(formatTable(['for each', 'what', 'units', 'price', '$'], [...rows, ...sums]));
}

function printOthers(): void {
  const shown = runs.find(({ settings }) => settings.batchWindowMs === SHOWN_MS);
  if (shown === undefined) throw new Error('the window that is shown was not measured');
  const flink = flinkMonthlyDollars(1);
  const own = totalOf(monthlyCost(shown.settings, shown.usage), 'pipeline');
  const perRecord = writePerRecordMonthlyDollars(recordsPerSecond, plan.views.length);
  const bucketKey = bucketKeyMonthlyDollars(shown.settings, shown.usage);
  const { ownKeyMonth } = PRICES.kms;
  console.log(
    [
      `\na bucket of yours whose key is yours too: $${ownKeyMonth.toFixed(2)} for the key, and without bucket keys $${bucketKey.toFixed(2)} a shard for calls of KMS`,
      '\nthe same work elsewhere, a month, Kinesis apart:',
      `  Managed Service for Apache Flink, 1 KPU and 1 for orchestration   $${flink.toFixed(2)}, cheaper from ${Math.ceil((flink - own) / shown.dollars)} shards on if that one KPU is enough for them`,
      `  a DynamoDB write for each record and view, writes alone            $${perRecord.toFixed(2)} a shard`,
    ].join('\n'),
  );
}

function linesOf(index: number) {
  const run = runs[index];
  if (run === undefined) throw new Error('nothing was measured');
  return monthlyCost(run.settings, run.usage);
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** The example's views; time and ids as a live stream has them, where 7 days of ids would be 600 million. */
async function livePlan(): Promise<Plan> {
  const path = fileURLToPath(new URL('../examples/flights/tidemark.config.ts', import.meta.url));
  const parsed = parsePlan({
    ...planToJson(await loadPipelineFile(path)),
    time: { field: 'date', unit: 'ms', zone: 'UTC', lateness: '1m', skew: '10m' },
    dedupe: { id: 'id', within: '5m' },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

/** Flights that leave as they arrive. */
async function liveRecords(): Promise<StreamRecord[]> {
  const encoder = new TextEncoder();
  const made: StreamRecord[] = [];
  const count = Math.min(FLIGHT_COUNT, recordsPerSecond * 60 * MINUTES);
  for await (const rows of flights(count)) {
    for (const flight of rows) {
      const arrivalMs = START_MS + Math.floor((made.length * 1_000) / recordsPerSecond);
      made.push({
        sequenceNumber: String(FIRST_SEQUENCE_NUMBER + BigInt(made.length)),
        subSequence: 0,
        partitionKey: flight.origin,
        arrivalMs,
        data: encoder.encode(recordText({ ...flight, date: arrivalMs })),
      });
    }
  }
  return made;
}

/** The flight, and beside it as many remarks as make the record as large as wanted, its partition key included. */
function recordText(flight: Flight): string {
  const text = JSON.stringify(flight);
  let missing = recordBytesWanted - text.length - flight.origin.length;
  let remarks = '';
  for (let count = 0; missing > 0; count++) {
    const frame = `,"remark_${count}":""`;
    const value = REMARK.slice(0, Math.max(0, missing - frame.length)).padEnd(1);
    const remark = `${frame.slice(0, -1)}${value}"`;
    remarks += remark;
    missing -= remark.length;
  }
  return `${text.slice(0, -1)}${remarks}}`;
}
