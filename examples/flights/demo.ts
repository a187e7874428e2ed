/**
 * The main job on real data: every flight goes through the Kinesis API into `tidemark dev`, which is killed twice while
 * records flow; then each group of each view is held against a recount straight from the Parquet file.
 *
 *   node examples/flights/demo.ts [--rows N] [--stay]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, styleText } from 'node:util';
import { kinesisClient } from '../../cli/kinesis-client.ts';
import { callQueryApi } from '../../cli/query-client.ts';
import { RecordProducer } from '../../cli/record-producer.ts';
import { formatTable } from '../../cli/table.ts';
import { DevProcess, type Recovery } from './dev-process.ts';
import { FLIGHT_COUNT, flights } from './flight-rows.ts';
import { Recount, type RowKey, type RowValues } from './recount.ts';

interface Row {
  readonly key: RowKey;
  readonly window: { readonly start: string } | null;
  readonly values: RowValues;
}

interface Answer {
  /** Absent: nothing was waited for. */
  readonly reached?: boolean;
  readonly rows: readonly Row[];
  readonly next: string | null;
}

const SHARDS = 4;
const REQUESTS_MAX = 3;
const VIEWS = ['delay_by_origin', 'busiest_days', 'routes'] as const;
const PIPELINE = fileURLToPath(new URL('./tidemark.config.ts', import.meta.url));

const { values: options } = parseArgs({
  options: { rows: { type: 'string' }, stay: { type: 'boolean', default: false } },
});
const rowCount = Math.min(Number(options.rows ?? FLIGHT_COUNT), FLIGHT_COUNT);
if (!Number.isInteger(rowCount) || rowCount < 1) {
  console.error('--rows takes a whole number from 1');
  process.exit(2);
}
const dataFolder = await mkdtemp(join(tmpdir(), 'tidemark-demo-'));
const dev = new DevProcess({ pipeline: PIPELINE, dataFolder, shards: SHARDS, environments: 1 });
try {
  process.exitCode = (await demo()) ? 0 : 1;
} finally {
  await dev.stop();
  await rm(dataFolder, { recursive: true, force: true });
}

async function demo(): Promise<boolean> {
  const startMs = performance.now();
  await dev.start();
  say(
    `tidemark dev serves ${SHARDS} shards at ${dev.url}; ${amount(rowCount)} flights are on their way`,
  );
  const recoveries: Recovery[] = [];
  const { producer, after, seconds } = await produce(recoveries);
  say(
    `${amount(producer.acknowledgedCount)} records acknowledged in ${seconds.toFixed(1)} s, ${amount(rowCount / seconds)} flights/s, kills included; ${amount(producer.resentCount)} were sent again`,
  );
  const kills = recoveries.map(({ recoveryMs, replayed }, index) => [
    index + 1,
    Math.round(recoveryMs),
    replayed,
  ]);
  console.log(`\n${formatTable(['kill -9', 'recovered after ms', 'records replayed'], kills)}\n`);
  await showAirports(after);
  const agrees = await prove(after);
  dev.samplePeak();
  const ownMib = process.resourceUsage().maxRSS / 1024;
  say(
    `peak memory: tidemark dev ${dev.peakRssMib.toFixed(0)} MiB, this producer and recount ${ownMib.toFixed(0)} MiB; ${((performance.now() - startMs) / 1000).toFixed(0)} s in all`,
  );
  if (options.stay) await stay();
  return agrees;
}

/** Streams all rows, with a kill after each third. */
async function produce(recoveries: Recovery[]) {
  let recovering: Promise<void> = Promise.resolve();
  const client = kinesisClient({ aws: false, endpoint: dev.url });
  const producer = new RecordProducer({
    client,
    stream: 'flights',
    requestsMax: REQUESTS_MAX,
    onFailure: async () => {
      await recovering;
      return true;
    },
  });
  const encoder = new TextEncoder();
  const killAt = [Math.floor(rowCount / 3), Math.floor((rowCount * 2) / 3)];
  const startMs = performance.now();
  const stopProgress = showProgress(producer, startMs);
  for await (const rows of flights(rowCount)) {
    for (const flight of rows) {
      if (flight.id === killAt[0]) {
        killAt.shift();
        // Records go on flowing into the kill, and are sent again once the port answers.
        recovering = dev.killAndRecover().then((recovery) => {
          recoveries.push(recovery);
        });
      }
      await producer.put(flight.origin, encoder.encode(JSON.stringify(flight)));
    }
  }
  await producer.flush();
  await recovering;
  stopProgress();
  client.destroy();
  const after = [...producer.acknowledged].map(([shardId, sequence]) => `${shardId}:${sequence}`);
  return { producer, after, seconds: (performance.now() - startMs) / 1000 };
}

async function showAirports(after: readonly string[]): Promise<void> {
  const busiest = await rowsOf('delay_by_origin', { order: '-flights', limit: '8' }, after);
  const delayed = await rowsOf('delay_by_origin', { order: '-average', limit: '8' }, after);
  console.log(`The busiest airports\n${chartOf(busiest, 'flights')}\n`);
  console.log(
    `The most delayed airports (mean delay in minutes)\n${chartOf(delayed, 'average')}\n`,
  );
}

function chartOf(rows: readonly Row[], aggregate: string): string {
  const largest = Math.max(...rows.map(({ values }) => Number(values[aggregate])));
  const table = rows.map(({ key, values }) => {
    const share = Number(values[aggregate]) / largest;
    const typical = values['typical'] as Record<string, number>;
    // The mean to a hundredth of a minute: this is a chart.
    const numbers = ['flights', 'average', 'worst'].map(
      (name) => Math.round(Number(values[name]) * 100) / 100,
    );
    return [
      key['origin'] ?? '',
      ...numbers,
      Math.round(typical['0.5'] ?? 0),
      Math.round(typical['0.99'] ?? 0),
      '█'.repeat(Math.max(1, Math.round(share * 30))),
    ];
  });
  return formatTable(['from', 'flights', 'mean', 'worst', 'p50', 'p99', ''], table);
}

/** Holds every group of every view against a recount from the file. */
async function prove(after: readonly string[]): Promise<boolean> {
  const recount = new Recount();
  for await (const rows of flights(rowCount)) for (const flight of rows) recount.add(flight);
  const wrong: string[] = [];
  let checked = 0;
  for (const view of VIEWS) {
    const rows = await allRows(view, after);
    if (rows.length !== recount.groupCount(view)) {
      wrong.push(`${view}: ${rows.length} groups, counted ${recount.groupCount(view)}`);
    }
    for (const { key, window, values } of rows) {
      checked++;
      const why = recount.disagreement(view, key, window?.start ?? null, values);
      if (why !== null) wrong.push(why);
    }
  }
  wrong.push(...dev.failures);
  if (wrong.length === 0) {
    const proof = `Proof: ${amount(checked)} groups of ${VIEWS.length} views agree with a recount of ${amount(recount.count)} rows from the Parquet file.`;
    console.log(styleText('green', proof));
    return true;
  }
  console.error(styleText('red', `${wrong.length} disagreements with the Parquet file:`));
  for (const line of wrong.slice(0, 20)) console.error(`  ${line}`);
  return false;
}

async function allRows(view: string, after: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  let next: string | null = null;
  do {
    const answer: Answer = await ask(
      view,
      { limit: '10000', ...(next === null ? {} : { next }) },
      after,
    );
    rows.push(...answer.rows);
    next = answer.next;
  } while (next !== null);
  return rows;
}

async function rowsOf(
  view: string,
  search: Record<string, string>,
  after: readonly string[],
): Promise<readonly Row[]> {
  return (await ask(view, search, after)).rows;
}

async function ask(
  view: string,
  search: Record<string, string>,
  after: readonly string[],
): Promise<Answer> {
  const query = new URLSearchParams(search);
  if (!query.has('next')) for (const position of after) query.append('after', position);
  const answer = await callQueryApi<Answer>(dev.url, `/v1/views/${view}?${query}`);
  if (answer.reached === false)
    throw new Error('the last acknowledged records were not in the answer in time');
  return answer;
}

function showProgress(producer: RecordProducer, startMs: number): () => void {
  const isTerminal = process.stdout.isTTY;
  let lastCount = 0;
  let lastMs = startMs;
  const print = () => {
    const nowMs = performance.now();
    const rate = ((producer.acknowledgedCount - lastCount) / (nowMs - lastMs)) * 1000;
    lastCount = producer.acknowledgedCount;
    lastMs = nowMs;
    dev.samplePeak();
    const percent = ((100 * lastCount) / rowCount).toFixed(0);
    const line = `${amount(lastCount)} records (${percent} %), ${amount(rate)} records/s`;
    process.stdout.write(isTerminal ? `\r\u001b[K${line}` : `${line}\n`);
  };
  const timer = setInterval(print, isTerminal ? 250 : 3_000);
  return () => {
    clearInterval(timer);
    if (isTerminal) process.stdout.write('\r\u001b[K');
  };
}

async function stay(): Promise<void> {
  say(`the page stays up at ${dev.url}/ until Ctrl-C`);
  await new Promise((resolve) => process.once('SIGINT', resolve));
}

function say(text: string): void {
  console.log(text);
}

function amount(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
