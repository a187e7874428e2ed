/**
 * What a commit costs in the owner's memory: the delta of what changed, and its becoming committed, per changed entry and for
 * states of different sizes; what a whole base costs beside it, and to restore it.
 *
 *   npm run bench -- commit [changed entries]
 */
import { ByteReader } from '../core/bytes.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import { SliceImage } from '../core/state/slice-image.ts';
import { SliceState } from '../core/state/slice-state.ts';
import { devicePlan, deviceRecord } from './devices/device-pipeline.ts';

const SIZES = [10_000, 100_000, 1_000_000];
const ROUNDS = 15;
const changed = Number(process.argv[2] ?? 10_000);
const plan = devicePlan();
let sequence = 0;

console.log(
  `${changed} changed entries a commit, keys of 14 characters, count, sum, min, max; median and slowest of ${ROUNDS}`,
);
for (const size of SIZES) measure(size);

function measure(size: number): void {
  const state = new SliceState(
    new SliceImage(plan),
    createJsonDecoder(plan),
    'shardId-000000000000',
  );
  for (let device = 0; device < size; device++) {
    fold(state, device);
    if (device % changed === changed - 1) state.commit();
  }
  state.commit();
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (let index = 0; index < changed; index++) fold(state, (round * 7919 + index * 31) % size);
    const beganMs = performance.now();
    state.encodeDelta();
    state.commit();
    times.push(performance.now() - beganMs);
  }
  const beganMs = performance.now();
  const base = state.encodeWhole();
  const baseMs = performance.now() - beganMs;
  const restoreBeganMs = performance.now();
  new SliceImage(plan).apply(new ByteReader(base));
  const restoreMs = performance.now() - restoreBeganMs;
  times.sort((a, b) => a - b);
  const median = times[ROUNDS >> 1] as number;
  const entries = Math.min(changed, size);
  console.log(
    `${String(size).padStart(9)} entries   delta and commit ${median.toFixed(1)} ms, ${((median * 1e6) / entries).toFixed(0)} ns an entry, slowest ${(times.at(-1) as number).toFixed(1)} ms` +
      `   base ${baseMs.toFixed(0)} ms, ${((baseMs * 1e6) / size).toFixed(0)} ns an entry, ${base.length} B` +
      `   restore ${restoreMs.toFixed(0)} ms, ${(size / restoreMs / 1000).toFixed(2)} M entries/s`,
  );
}

function fold(state: SliceState, device: number): void {
  state.fold(deviceRecord(++sequence, device, 7));
}
