/**
 * From SIGKILL to the first right answer, while records flow: how long, how old the checkpoint was, how many records were
 * replayed.
 *
 *   npm run bench -- restart [records before the kill]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kinesisClient } from '../cli/kinesis-client.ts';
import { callQueryApi } from '../cli/query-client.ts';
import { RecordProducer } from '../cli/record-producer.ts';
import { DevProcess } from '../examples/flights/dev-process.ts';
import { flights } from '../examples/flights/flight-rows.ts';

const KILLS = 5;
const rowCount = Number(process.argv[2] ?? 200_000);
const pipeline = fileURLToPath(new URL('../examples/flights/tidemark.config.ts', import.meta.url));
const dataFolder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'));
const dev = new DevProcess({ pipeline, dataFolder, shards: 4, environments: 1 });
await dev.start();
const client = kinesisClient({ aws: false, endpoint: dev.url });
let restarted: Promise<void> = Promise.resolve();
const producer = new RecordProducer({
  client,
  stream: 'flights',
  requestsMax: 3,
  onFailure: async () => {
    await restarted;
    return true;
  },
});
const encoder = new TextEncoder();
const answersMs: number[] = [];
try {
  const step = Math.floor(rowCount / KILLS);
  for await (const rows of flights(rowCount)) {
    for (const flight of rows) {
      if (flight.id % step === step - 1 && answersMs.length < KILLS) {
        restarted = killAndAsk();
        await restarted;
      }
      await producer.put(flight.origin, encoder.encode(JSON.stringify(flight)));
    }
  }
  await producer.flush();
} finally {
  client.destroy();
  await dev.stop();
  await rm(dataFolder, { recursive: true, force: true });
}
answersMs.sort((a, b) => a - b);
const [least, median, most] = [0, Math.floor(answersMs.length / 2), answersMs.length - 1].map(
  (index) => Math.round(answersMs[index] ?? 0),
);
console.log(
  `SIGKILL → first answer that holds every acknowledged record: min ${least} ms, median ${median} ms, max ${most} ms (${answersMs.length} kills)`,
);

/** Kills it in the middle of requests, starts it again and asks for what was acknowledged before. */
async function killAndAsk(): Promise<void> {
  const after = [...producer.acknowledged].map(([shardId, sequence]) => `${shardId}:${sequence}`);
  const startMs = performance.now();
  const { replayed } = await dev.killAndRecover();
  const query = new URLSearchParams({ limit: '1' });
  for (const position of after) query.append('after', position);
  const { reached } = await callQueryApi<{ reached: boolean }>(
    dev.url,
    `/v1/views/delay_by_origin?${query}`,
  );
  if (!reached) throw new Error('an acknowledged record is missing from the answer');
  const ms = performance.now() - startMs;
  answersMs.push(ms);
  console.log(`answered ${Math.round(ms)} ms after the kill, ${replayed} records replayed`);
}
