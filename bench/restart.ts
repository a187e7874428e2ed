/**
 * What `tidemark dev` takes of memory with many keys, and how long it is from SIGKILL to the first right answer while records
 * flow: how long until it could serve, how many records were replayed.
 *
 *   npm run bench -- restart [keys] [records before each kill]
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { kinesisClient } from '../cli/kinesis-client.ts';
import { callQueryApi } from '../cli/query-client.ts';
import { RecordProducer } from '../cli/record-producer.ts';
import { DevProcess } from '../examples/flights/dev-process.ts';
import { deviceRecord, devicesPipeline } from './devices/device-pipeline.ts';

const KILLS = 5;
const SAMPLE_MS = 200;
/** Without records, before the memory counts as steady. */
const QUIET_MS = 5_000;
const [keyCount = 10_000, killRecords = 8_000] = process.argv.slice(2).map(Number);
const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'));
const pipeline = join(folder, 'pipeline.json');
await writeFile(pipeline, JSON.stringify(devicesPipeline({ stream: 'devices' })));
const dataFolder = join(folder, 'data');
const dev = new DevProcess({ pipeline, dataFolder, shards: 4, environments: 1 });
await dev.start();
const client = kinesisClient({ aws: false, endpoint: dev.url });
let restarted: Promise<unknown> = Promise.resolve();
const producer = new RecordProducer({
  client,
  stream: 'devices',
  requestsMax: 3,
  onFailure: async () => {
    await restarted;
    return true;
  },
});
let sequence = 0;
const sampled: number[] = [];
const sampling = setInterval(() => sampled.push(dev.rssMib()), SAMPLE_MS);
try {
  const beganMs = performance.now();
  await put(keyCount);
  await producer.flush();
  await ask(positions());
  console.log(`${keyCount} keys after ${seconds(performance.now() - beganMs)} s`);
  printMemory('while they came');
  await sleep(QUIET_MS);
  printMemory('then, without records');
  const answersMs: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    await put(killRecords);
    answersMs.push(await killAndAsk());
  }
  await producer.flush();
  await ask(positions());
  printMemory('killed and started again');
  await sleep(QUIET_MS);
  printMemory('then, without records');
  answersMs.sort((a, b) => a - b);
  const [least, median, most] = [0, Math.floor(KILLS / 2), KILLS - 1].map((index) =>
    seconds(answersMs[index] ?? 0),
  );
  console.log(
    `SIGKILL → first answer that holds every acknowledged record: min ${least} s, median ${median} s, max ${most} s (${KILLS} kills)`,
  );
} finally {
  clearInterval(sampling);
  client.destroy();
  await dev.stop();
  await rm(folder, { recursive: true, force: true });
}

/** Of what was sampled since the last time. */
function printMemory(when: string): void {
  const samples = sampled.splice(0);
  const [median, most] = [0.5, 1].map((share) => {
    const sorted = samples.toSorted((a, b) => a - b);
    return (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(0);
  });
  console.log(
    `memory ${when}: median ${median} MiB, last ${(samples.at(-1) ?? 0).toFixed(0)}, most ${most}`,
  );
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}

/** Puts so many records: each of the next device, so that as many as there are keys make all of them. */
async function put(recordCount: number): Promise<void> {
  for (let index = 0; index < recordCount; index++) {
    const { data } = deviceRecord(sequence, (sequence * 104_729) % keyCount, 8);
    await producer.put(String(sequence++), data);
  }
}

/** Kills it in the middle of requests, starts it again and asks for what was acknowledged before. */
async function killAndAsk(): Promise<number> {
  const after = positions();
  const beganMs = performance.now();
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const recovery = dev.killAndRecover(resolve);
  restarted = recovery;
  await ready;
  const readyMs = performance.now() - beganMs;
  await ask(after);
  const tookMs = performance.now() - beganMs;
  const { replayed } = await recovery;
  console.log(
    `served ${seconds(readyMs)} s after the kill, answered after ${seconds(tookMs)} s, ${replayed} records to replay`,
  );
  return tookMs;
}

function positions(): string[] {
  return [...producer.acknowledged].map(([shardId, position]) => `${shardId}:${position}`);
}

async function ask(after: readonly string[]): Promise<void> {
  const query = new URLSearchParams({ 'key.device': 'device-00000000' });
  for (const position of after) query.append('after', position);
  const path = `/v1/views/by_device?${query}`;
  const { reached } = await callQueryApi<{ reached: boolean }>(dev.url, path);
  if (!reached) throw new Error('an acknowledged record is missing from the answer');
}
