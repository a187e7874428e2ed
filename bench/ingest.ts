/**
 * What the Kinesis API takes in: PutRecords of 500 records of 200 bytes by the official SDK with its default HTTP handler,
 * each answered when it is on disk. Server and producer are processes of their own.
 *
 *   npm run bench -- ingest [calls] [in flight] [shards]
 *   npm run bench -- ingest [calls] [in flight] http://127.0.0.1:4580 flights     against a running `tidemark dev`
 *
 * Prints records/s, the time of a call, and the processor time that a call costs on either side.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { LocalStream } from '../adapters/local/stream/local-stream.ts';
import { PortServer } from '../runtime/http/port-server.ts';
import { kinesisRoute } from '../runtime/kinesis-api/kinesis-api.ts';

const CALLS_DEFAULT = 600;
const IN_FLIGHT_DEFAULT = 4;
const SHARDS_DEFAULT = 4;
const WARM_UP_CALLS = 100;
const RECORDS_PER_CALL = 500;
const RECORD_BYTES = 200;
const STREAM = 'bench';

interface Production {
  readonly seconds: number;
  readonly callMs: number[];
  readonly cpuMsPerCall: number;
}

const [role, ...rest] = process.argv.slice(2);
if (role === 'serve') await serve(rest[0] as string, Number(rest[1]));
else if (role === 'produce') await produce(rest);
else await measure(process.argv.slice(2));

async function measure(args: readonly string[]): Promise<void> {
  const calls = Number(args[0] ?? CALLS_DEFAULT);
  const inFlight = Number(args[1] ?? IN_FLIGHT_DEFAULT);
  const target = args[2] ?? String(SHARDS_DEFAULT);
  if (target.startsWith('http')) {
    print(calls, inFlight, await runProducer(calls, inFlight, target, args[3] ?? STREAM));
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  const server = start('serve', [join(folder, 'stream.db'), target]);
  try {
    const url = await firstLine(server);
    print(calls, inFlight, await runProducer(calls, inFlight, url, STREAM));
    const ended = firstLine(server);
    server.kill('SIGTERM');
    const cpuMs = Number(await ended) / (calls + WARM_UP_CALLS);
    process.stdout.write(`server's processor time      ${cpuMs.toFixed(2)} ms a call\n`);
  } finally {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runProducer(
  calls: number,
  inFlight: number,
  url: string,
  stream: string,
): Promise<Production> {
  const producer = start('produce', [String(calls), String(inFlight), url, stream]);
  return JSON.parse(await firstLine(producer)) as Production;
}

function print(calls: number, inFlight: number, { seconds, callMs, cpuMsPerCall }: Production) {
  const sorted = [...callMs].sort((a, b) => a - b);
  const quantile = (rank: number) =>
    (sorted[Math.floor(rank * (sorted.length - 1))] as number).toFixed(1);
  const rate = Math.round((calls * RECORDS_PER_CALL) / seconds).toLocaleString('en');
  process.stdout.write(
    `records/s                    ${rate} (${calls} calls of ${RECORDS_PER_CALL} × ${RECORD_BYTES} B, ${inFlight} in flight)\n` +
      `time of a call               p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms\n` +
      `producer's processor time    ${cpuMsPerCall.toFixed(2)} ms a call\n`,
  );
}

async function serve(path: string, shardCount: number): Promise<void> {
  const clock = { nowMs: () => Date.now() };
  const stream = LocalStream.open({ path, name: STREAM, shardCount, clock });
  const server = await PortServer.listen({
    port: 0,
    routes: [kinesisRoute({ stream, clock, region: 'us-east-1' })],
    onError: (error) => {
      throw error;
    },
  });
  const cpuStart = process.cpuUsage();
  process.stdout.write(`${server.url}\n`);
  await once(process, 'SIGTERM');
  await server.close();
  stream.close();
  process.stdout.write(`${cpuMsSince(cpuStart)}\n`);
}

async function produce(args: readonly string[]): Promise<void> {
  const [calls, inFlight] = [Number(args[0]), Number(args[1])];
  const client = new KinesisClient({
    endpoint: args[2] as string,
    region: 'us-east-1',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
  });
  const run = async (count: number): Promise<number[]> => {
    const callMs: number[] = [];
    let next = 0;
    const writer = async () => {
      while (next < count) {
        const Records = makeRecords(next++);
        const startMs = performance.now();
        const command = new PutRecordsCommand({ StreamName: args[3] as string, Records });
        const { FailedRecordCount } = await client.send(command);
        if (FailedRecordCount !== 0) throw new Error(`${FailedRecordCount} records failed`);
        callMs.push(performance.now() - startMs);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, writer));
    return callMs;
  };
  await run(WARM_UP_CALLS);
  const cpuStart = process.cpuUsage();
  const startMs = performance.now();
  const callMs = await run(calls);
  const seconds = (performance.now() - startMs) / 1000;
  const production: Production = { seconds, callMs, cpuMsPerCall: cpuMsSince(cpuStart) / calls };
  process.stdout.write(`${JSON.stringify(production)}\n`);
  client.destroy();
}

/** JSON that the flights pipeline of the examples can fold; each record differs, as real ones do. */
function makeRecords(call: number) {
  return Array.from({ length: RECORDS_PER_CALL }, (_, index) => {
    const id = call * RECORDS_PER_CALL + index;
    const fields = `{"id":${id},"date":${Date.now()},"delay":${id % 90},"distance":${id % 3000},"origin":"A${id % 300}","destination":"B${id % 300}","note":"`;
    const data = `${fields.padEnd(RECORD_BYTES - 2, 'x')}"}`;
    return { PartitionKey: `A${id % 300}`, Data: Buffer.from(data) };
  });
}

function cpuMsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

function start(role: string, args: readonly string[]) {
  return spawn(process.execPath, [fileURLToPath(import.meta.url), role, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function firstLine(child: ReturnType<typeof start>): Promise<string> {
  const lines = createInterface(child.stdout);
  return new Promise((resolve, reject) => {
    lines.once('line', resolve);
    lines.once('close', () => reject(new Error('a process ended before it answered')));
  });
}
