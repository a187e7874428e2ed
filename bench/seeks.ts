/**
 * What a reader without an image of a slice takes for a question, by seeks and by restoring the slice first; and what it reads.
 * The stores are in memory: on AWS each read takes 10 to 100 ms more.
 *
 *   npm run bench -- seeks [entries] [slices]
 */
import { MemoryPorts } from '../adapters/memory/memory-ports.ts';
import { Aggregator } from '../core/aggregator.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { BlobStore, StreamRecord } from '../core/ports.ts';
import { Queries, type QueryPorts } from '../core/query/queries.ts';
import type { ViewAnswer } from '../core/query/view-answer.ts';
import { devicePlan } from './devices/device-pipeline.ts';

const BATCH = 10_000;
const CHECKPOINTS = 20;
const [entries = 1_000_000, slices = 4] = process.argv.slice(2).map(Number);
const plan = devicePlan();
const view = plan.views[0]?.name ?? '';
const ports = new MemoryPorts(1_000_000);
const owner = new Aggregator(plan, createJsonDecoder(plan), ports);
const ends = Array.from({ length: slices }, () => 0);
const read = { calls: 0, bytes: 0 };

await ports.plans.activate({ ordinal: 1, hash: plan.hash, pipeline: '{}' });
for (let from = 0; from < entries; from += BATCH) {
  const devices = Array.from({ length: Math.min(BATCH, entries - from) }, (_, index) => {
    return ((from + index) * 7_919) % entries;
  });
  await deliver((from / BATCH) % slices, devices);
}
// Each writes some of the parts anew: as a slice is that has grown for a while, and then changes little.
for (let round = 0; round < CHECKPOINTS; round++) {
  for (let slice = 0; slice < slices; slice++) {
    await owner.checkpoint(shardOf(slice), () => 600_000);
  }
}
for (let slice = 0; slice < slices; slice++) await deliver(slice, [1, 2, 3]);
console.log(`${entries} entries in ${slices} slices`);

const key = `device-${String(entries >> 1).padStart(7, '0')}`;
await compare('first page of 10', { limit: '10' });
await compare('first page of 500', { limit: '500' });
await compare('one key', { 'key.device': key });
await compare('a prefix of 100', { prefix: key.slice(0, -2) });
await compare('next of 500, in an environment of its own', { limit: '500' }, true);
await allPages();

async function deliver(slice: number, devices: readonly number[]): Promise<void> {
  const records = devices.map((device): StreamRecord => {
    const sequence = ++(ends as number[])[slice]!;
    const id = `device-${String(device).padStart(7, '0')}`;
    const data = new TextEncoder().encode(
      JSON.stringify({ t: 1_000, device: id, amount: device % 1_000 }),
    );
    return {
      sequenceNumber: String(sequence),
      subSequence: 0,
      partitionKey: id,
      arrivalMs: ports.clock.nowMs(),
      data,
    };
  });
  for (const record of records) ports.source.append(shardOf(slice), record);
  await owner.deliver(shardOf(slice), records, () => 600_000);
}

function shardOf(slice: number): string {
  return `shardId-${String(slice).padStart(12, '0')}`;
}

/** Without an image. `restores`: as all readers did. */
function reader(restores: boolean): Queries {
  const { items, objects } = ports.blobs;
  const asked: QueryPorts = {
    ...ports,
    blobs: { items: counted(items), objects: counted(objects) },
  };
  return new Queries(plan, { ...asked, seeking: restores ? 'never' : 'by-bytes' });
}

function counted<T extends BlobStore>(store: T): T {
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>;
      if (name !== 'read' && name !== 'readRange') return method.bind(target);
      return async (...given: unknown[]) => {
        const bytes = (await method.apply(target, given)) as Uint8Array | null;
        read.calls++;
        read.bytes += bytes?.length ?? 0;
        return bytes;
      };
    },
  });
}

async function compare(
  what: string,
  asking: Record<string, string>,
  isNext = false,
): Promise<void> {
  const first = isNext ? await ask(reader(false), asking) : null;
  // The slices move on.
  if (isNext) for (let slice = 0; slice < slices; slice++) await deliver(slice, [5]);
  const asked = first === null ? asking : { ...asking, next: first.next ?? '' };
  const [seeks, restores] = [await measure(false, asked), await measure(true, asked)];
  if (JSON.stringify(seeks.answer) !== JSON.stringify(restores.answer)) {
    throw new Error(`${what}: other rows`);
  }
  console.log(`  ${what}: ${seeks.text}; restored first: ${restores.text}`);
}

async function measure(restores: boolean, asking: Record<string, string>) {
  const taken: number[] = [];
  let answer: unknown;
  for (let round = 0; round < 3; round++) {
    const queries = reader(restores);
    Object.assign(read, { calls: 0, bytes: 0 });
    const beganMs = performance.now();
    answer = (await ask(queries, asking)).rows;
    taken.push(performance.now() - beganMs);
  }
  const [, medianMs = 0] = taken.sort((a, b) => a - b);
  const mib = (read.bytes / 2 ** 20).toFixed(1);
  return { answer, text: `${medianMs.toFixed(0)} ms, ${read.calls} reads of ${mib} MiB` };
}

/** In one environment, whose image moves on between the pages. */
async function allPages(): Promise<void> {
  const queries = reader(false);
  Object.assign(read, { calls: 0, bytes: 0 });
  const beganMs = performance.now();
  let [pages, rows, next] = [0, 0, ''];
  do {
    const page = await ask(queries, { limit: '10000', ...(next === '' ? {} : { next }) });
    pages++;
    rows += page.rows.length;
    next = page.next ?? '';
    if (pages === 1) for (let slice = 0; slice < slices; slice++) await deliver(slice, [7]);
  } while (next !== '');
  const seconds = ((performance.now() - beganMs) / 1_000).toFixed(2);
  const mib = (read.bytes / 2 ** 20).toFixed(0);
  console.log(
    `  all ${pages} pages, ${rows} rows: ${seconds} s, ${read.calls} reads of ${mib} MiB`,
  );
}

async function ask(queries: Queries, asking: Record<string, string>): Promise<ViewAnswer> {
  const answer = await queries.view(view, Object.entries(asking));
  if (!answer.ok) throw new Error(answer.problem.detail);
  return answer.value;
}
