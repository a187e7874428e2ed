/**
 * From the base64 of an event's record to keyed state, one view: what one core folds, beside the parse of the JSON alone.
 *
 *   npm run bench -- fold [records]
 */
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { Plan } from '../core/definition/plan.ts';
import { SliceImage } from '../core/state/slice-image.ts';
import { SliceState } from '../core/state/slice-state.ts';
import { devicePlan, streamRecord } from './devices/device-pipeline.ts';

const ROUNDS = 7;
const KEYS = 10_000;
const BATCH = 10_000;
const SHARD = 'shardId-000000000000';
const count = Number(process.argv[2] ?? 200_000);

const plan = devicePlan();
const dedupePlan = devicePlan({ dedupe: { id: 'id', within: '1h' } });
const encoded = Array.from({ length: count }, (_, index) =>
  Buffer.from(recordText(index)).toString('base64'),
);
const bytes = Buffer.from(encoded[0] as string, 'base64').length;
console.log(
  `${count} records of about ${bytes} B, ${KEYS} keys, batches of ${BATCH}, best and median of ${ROUNDS} rounds`,
);

const parse = measure(() => {
  let sum = 0;
  for (const text of encoded) {
    sum += (JSON.parse(Buffer.from(text, 'base64').toString('utf8')) as { amount: number }).amount;
  }
  return sum;
});
report('base64 + JSON.parse only', parse, parse);
report(
  'base64 → state',
  measure(() => foldAll(plan, false)),
  parse,
);
report(
  'base64 → state, with dedupe by id',
  measure(() => foldAll(dedupePlan, false)),
  parse,
);
report(
  'base64 → state → delta, committed',
  measure(() => foldAll(plan, true)),
  parse,
);

function recordText(index: number): string {
  return JSON.stringify({
    id: index,
    t: 1_700_000_000_000 + index,
    device: `device-${(index * 7919) % KEYS}`,
    amount: (index * 31) % 1000,
    status: 200,
    region: 'eu-central-1',
    firmware: '4.17.2-rc1',
    path: '/telemetry/upload/part',
    ok: true,
  });
}

function foldAll(used: Plan, withDelta: boolean): number {
  const state = new SliceState(new SliceImage(used), createJsonDecoder(used), SHARD);
  let deltaBytes = 0;
  for (const [index, text] of encoded.entries()) {
    state.fold(streamRecord(index, Buffer.from(text, 'base64')));
    if (withDelta && (index + 1) % BATCH === 0) {
      deltaBytes += state.encodeDelta().bytes.length;
      state.commit();
    }
  }
  return deltaBytes;
}

function measure(run: () => number): number[] {
  run();
  return Array.from({ length: ROUNDS }, () => {
    const startMs = performance.now();
    run();
    return performance.now() - startMs;
  }).sort((a, b) => a - b);
}

function report(name: string, timesMs: readonly number[], baseline: readonly number[]): void {
  const [best = 0] = timesMs;
  const median = timesMs[Math.floor(timesMs.length / 2)] ?? 0;
  const ratio = best / (baseline[0] ?? 1);
  const rate = (ms: number) => Math.round(count / (ms / 1000)).toLocaleString('en-US');
  console.log(
    `${name.padEnd(36)} best ${rate(best)}/s, median ${rate(median)}/s, ${ratio.toFixed(2)} × the parse`,
  );
}
