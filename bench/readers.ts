/**
 * Overload by readers: many clients ask for an order over all groups and give up, and ask again. Meanwhile, and right after,
 * how long does a question about one group take?
 *
 *   npm run bench -- readers [groups] [clients] [seconds]
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kinesisClient } from '../cli/kinesis-client.ts';
import { callQueryApi } from '../cli/query-client.ts';
import { RecordProducer } from '../cli/record-producer.ts';
import { DevProcess } from '../examples/flights/dev-process.ts';

const [groups = 200_000, clients = 50, seconds = 20] = process.argv.slice(2).map(Number);
const PATIENCE_MS = 5_000;
const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'));
const pipeline = join(folder, 'pipeline.json');
const views = { by_key: { groupBy: ['key'], aggregates: { count: { count: '*' } } } };
await writeFile(pipeline, JSON.stringify({ name: 'readers', views }));
const dev = new DevProcess({
  pipeline,
  dataFolder: join(folder, 'data'),
  shards: 1,
  environments: 1,
});
await dev.start();
const client = kinesisClient({ aws: false, endpoint: dev.url });
try {
  await fill();
  const alone = await pointQueries(3_000);
  console.log(`alone: a point query takes ${summary(alone)}`);
  let isOver = false;
  const outcomes = new Map<string, number>();
  const scans = Array.from({ length: clients }, async () => {
    while (!isOver) {
      const outcome = await scan();
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  });
  const during = await pointQueries(seconds * 1_000);
  const counts = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  console.log(`beside ${clients} scans of ${groups} groups: ${summary(during)}; scans: ${counts}`);
  isOver = true;
  await Promise.all(scans);
  console.log(`right after: ${summary(await pointQueries(2_000))}`);
} finally {
  client.destroy();
  await dev.stop();
  await rm(folder, { recursive: true, force: true });
}

async function fill(): Promise<void> {
  const producer = new RecordProducer({
    client,
    stream: 'readers',
    requestsMax: 3,
    onFailure: async () => false,
  });
  const encoder = new TextEncoder();
  for (let index = 0; index < groups; index++) {
    await producer.put(`k${index}`, encoder.encode(`{"key":"k${index}"}`));
  }
  await producer.flush();
  const [[shardId, sequence] = []] = producer.acknowledged;
  for (let reached = false; !reached; ) {
    const path = `/v1/views/by_key?key.key=k1&after=${shardId}:${sequence}`;
    ({ reached } = await callQueryApi<{ reached: boolean }>(dev.url, path));
  }
}

/** A status, or that the client gave up. */
async function scan(): Promise<string> {
  try {
    const response = await fetch(`${dev.url}/v1/views/by_key?order=-count&limit=10`, {
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await response.arrayBuffer();
    const retryAfter = response.headers.get('retry-after');
    if (retryAfter !== null) {
      await new Promise((resolve) => setTimeout(resolve, Number(retryAfter) * 1_000));
    }
    return `answered ${response.status}`;
  } catch {
    return 'given up';
  }
}

async function pointQueries(ms: number): Promise<number[]> {
  const taken: number[] = [];
  const endMs = performance.now() + ms;
  for (let index = 0; performance.now() < endMs; index++) {
    const startMs = performance.now();
    await callQueryApi(dev.url, `/v1/views/by_key?key.key=k${index % groups}`);
    taken.push(performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return taken.sort((a, b) => a - b);
}

function summary(sortedMs: readonly number[]): string {
  const at = (share: number) => {
    return Math.round(sortedMs[Math.floor(share * (sortedMs.length - 1))] ?? Number.NaN);
  };
  return `median ${at(0.5)} ms, 99 % ${at(0.99)} ms, worst ${at(1)} ms (${sortedMs.length})`;
}
