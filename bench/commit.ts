/**
 * What a commit costs in the owner's memory: the delta of what changed, and its becoming committed, per changed entry and for
 * states of different sizes. Parts, stores and a restore are in `growth`.
 *
 *   npm run bench -- commit [changed entries]
 */
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
  times.sort((a, b) => a - b);
  const median = times[ROUNDS >> 1] as number;
  const entries = Math.min(changed, size);
  console.log(
    `${String(size).padStart(9)} entries   delta and commit ${median.toFixed(1)} ms, ${((median * 1e6) / entries).toFixed(0)} ns an entry, slowest ${(times.at(-1) as number).toFixed(1)} ms`,
  );
}

function fold(state: SliceState, device: number): void {
  state.fold(deviceRecord(++sequence, device, 7));
}
