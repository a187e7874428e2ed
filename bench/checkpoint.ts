/**
 * What a checkpoint writes after 1 % of the entries changed, against a full one; and what the state costs per entry, in
 * memory and as bytes.
 *
 *   npm run bench -- checkpoint [entries]
 */
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import { SliceImage } from '../core/state/slice-image.ts';
import { SliceState } from '../core/state/slice-state.ts';
import { devicePlan, deviceRecord } from './devices/device-pipeline.ts';

const entryCount = Number(process.argv[2] ?? 200_000);
const plan = devicePlan();

const beforeBytes = heapBytes();
const state = new SliceState(new SliceImage(plan), createJsonDecoder(plan), 'shardId-000000000000');
let sequence = 0;
for (let device = 0; device < entryCount; device++) {
  fold(device);
  if (device % 10_000 === 9_999) state.commit();
}
state.commit();
const afterBytes = heapBytes();

const fullBytes = state.encodeWhole().length;
for (let device = 0; device < entryCount; device += 100) fold(device);
const deltaBytes = state.encodeDelta().bytes.length;

const perEntry = (bytes: number) => (bytes / entryCount).toFixed(1);
console.log(`${entryCount} entries, keys of 13 characters, count, sum, min, max`);
console.log(`full checkpoint     ${fullBytes} B, ${perEntry(fullBytes)} B an entry`);
console.log(
  `after 1 % changed   ${deltaBytes} B, ${((100 * deltaBytes) / fullBytes).toFixed(2)} % of it`,
);
console.log(
  `in memory           ${perEntry(afterBytes - beforeBytes)} B an entry, own estimate ${perEntry(state.heapBytes())} B`,
);

function fold(device: number): void {
  state.fold(deviceRecord(++sequence, device, 6));
}

function heapBytes(): number {
  if (globalThis.gc === undefined) throw new Error('run with node --expose-gc');
  globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
