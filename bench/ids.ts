/**
 * What dedupe ids cost as more of them are kept, at the same rate of new ones: an owner's batch (fold, delta, parts and HEAD over
 * stores in memory), what its bases write, its memory, and a restore. Ids expire as fast as they come.
 *
 *   npm run bench -- ids [records a batch] [ids …]
 */
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import { parsePlan } from '../core/definition/parse-plan.ts';
import type { Plan } from '../core/definition/plan.ts';
import { SliceImage } from '../core/state/slice-image.ts';
import { SliceState } from '../core/state/slice-state.ts';
import { streamRecord } from './devices/device-pipeline.ts';
import { SHARD, TimedOwner } from './timed-owner.ts';

const ROUNDS = 300;
const FILL = 10_000;
const [batchText = '2000', ...sizeTexts] = process.argv.slice(2);
const batchRecords = Number(batchText);
const sizes = sizeTexts.length === 0 ? [100_000, 1_000_000, 5_000_000] : sizeTexts.map(Number);

console.log(`batches of ${batchRecords} records with new ids, ${ROUNDS} of them; milliseconds`);
for (const size of sizes) {
  memory(size);
  await pauses(size);
}

/** One record a millisecond, one group: the state is the ids. */
function planFor(size: number): Plan {
  const parsed = parsePlan({
    name: 'ids',
    time: { field: 't', lateness: '1s', skew: 'none' },
    dedupe: { id: 'id', within: `${size}ms` },
    views: { all: { aggregates: { records: { count: '*' } } } },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.plan;
}

function recordAt(index: number) {
  const text = `{"id":"id-${index}","t":${1_700_000_000_000 + index}}`;
  return streamRecord(index, new TextEncoder().encode(text));
}

function memory(size: number): void {
  const plan = planFor(size);
  const beforeBytes = arrayBytes();
  const state = new SliceState(new SliceImage(plan), createJsonDecoder(plan), SHARD);
  for (let index = 0; index < size; index++) {
    state.fold(recordAt(index));
    if (index % FILL === FILL - 1) state.commit();
  }
  state.commit();
  const perId = ((arrayBytes() - beforeBytes) / size).toFixed(1);
  const own = (state.heapBytes() / size).toFixed(1);
  console.log(
    `${String(size).padStart(9)} ids   ${perId} B an id in memory, own estimate ${own} B`,
  );
}

async function pauses(size: number): Promise<void> {
  const plan = planFor(size);
  const owner = await TimedOwner.of(plan, { retentionGraceMs: 60_000 });
  let sequence = 0;
  const deliver = (count: number) => {
    owner.ports.clock.advance(5_000);
    return owner.deliver(Array.from({ length: count }, () => recordAt(++sequence)));
  };
  for (let left = size; left > 0; left -= FILL) await deliver(Math.min(left, FILL));
  const tooks: number[] = [];
  const saved: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const batch = await deliver(batchRecords);
    tooks.push(batch.tookMs);
    saved.push(batch.savedBytes);
  }
  const restoreMs = await owner.restoreMs();
  tooks.sort((a, b) => a - b);
  const at = (share: number) => (tooks[Math.floor(share * (ROUNDS - 1))] as number).toFixed(1);
  const kib = (bytes: number) => `${(bytes / 1024).toFixed(0)} KiB`;
  const meanBytes = saved.reduce((sum, bytes) => sum + bytes, 0) / ROUNDS;
  console.log(
    `              a batch: median ${at(0.5)}, 99 % ${at(0.99)}, longest ${at(1)}` +
      `   written ${kib(meanBytes)} on average, ${kib(Math.max(...saved))} at most` +
      `   restore ${restoreMs.toFixed(0)}`,
  );
}

/** Of what typed arrays hold, which is where ids are. */
function arrayBytes(): number {
  if (globalThis.gc === undefined) throw new Error('run with node --expose-gc');
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().arrayBuffers;
}
