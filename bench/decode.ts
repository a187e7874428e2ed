/**
 * What it costs to get a record's fields: the flights pipeline over records of 200 bytes, beside `JSON.parse` alone, and
 * where event times are text in a zone with summer time.
 *
 *   npm run bench -- decode
 *
 * Figures are the best of several rounds; only ratios within one run mean anything on a shared machine.
 */
import { fileURLToPath } from 'node:url';
import { loadPipelineFile } from '../cli/pipeline-file.ts';
import { createJsonDecoder } from '../core/decode/json-decoder.ts';
import type { RecordFields } from '../core/decode/record-decoder.ts';
import { createWindowAssigner } from '../core/definition/kinds/window-kinds.ts';
import type { Plan } from '../core/definition/plan.ts';

const RECORDS = 20_000;
const RECORD_BYTES = 200;
const ROUNDS = 12;
const FIRST_MS = 978_307_260_000;
const APART_MS = 5_000;

const flights = await loadPipelineFile(
  fileURLToPath(new URL('../examples/flights/tidemark.config.ts', import.meta.url)),
);
const inNewYork: Plan = { ...flights, zone: 'America/New_York' };

const numbers = makeRecords((timeMs) => timeMs);
const texts = makeRecords((timeMs) => new Date(timeMs).toISOString().slice(0, -1));

const parser = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const parse = measure(numbers, (data) => (JSON.parse(parser.decode(data)) as { id: number }).id);
const decode = measure(numbers, decoding(flights));
const decodeText = measure(texts, decoding(inNewYork));
const days = createWindowAssigner(
  { kind: 'tumbling', sizeMs: 86_400_000, days: 1 },
  inNewYork.zone,
);
const times = numbers.map((_, index) => FIRST_MS + index * APART_MS);
const assign = measure(times, (timeMs) => days.startOf(timeMs));

print('JSON.parse alone', parse);
print('decode, time as a number', decode);
print('decode, time as text in New York', decodeText);
print('window of a day in New York', assign);

function makeRecords(timeOf: (timeMs: number) => unknown): Uint8Array[] {
  const encoder = new TextEncoder();
  return Array.from({ length: RECORDS }, (_, id) => {
    const record = {
      id,
      date: timeOf(FIRST_MS + id * APART_MS),
      delay: ((id * 7919) % 200) - 30,
      distance: 100 + ((id * 104_729) % 2500),
      origin: `A${id % 229}`,
      destination: `B${id % 17}`,
      note: '',
    };
    record.note = 'x'.repeat(RECORD_BYTES - JSON.stringify(record).length);
    return encoder.encode(JSON.stringify(record));
  });
}

function decoding(plan: Plan): (data: Uint8Array) => number {
  const decoder = createJsonDecoder(plan);
  const fields: RecordFields = {
    timeMs: null,
    isTimeNumber: false,
    category: null,
    dedupeId: null,
    values: [],
  };
  return (data) => {
    const bad = decoder.decode(data, fields);
    if (bad !== null) throw new Error(bad.detail);
    return fields.timeMs ?? 0;
  };
}

/** Nanoseconds for each of `inputs`, the best of the rounds. */
function measure<Input>(inputs: readonly Input[], work: (input: Input) => number): number {
  let best = Number.POSITIVE_INFINITY;
  let sum = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const startedNs = process.hrtime.bigint();
    for (const input of inputs) sum += work(input);
    best = Math.min(best, Number(process.hrtime.bigint() - startedNs) / inputs.length);
  }
  if (Number.isNaN(sum)) throw new Error('the work had no result');
  return best;
}

function print(name: string, ns: number): void {
  const perSecond = Math.round(1e9 / ns).toLocaleString('en-US');
  console.log(`${name.padEnd(34)} ${ns.toFixed(0).padStart(6)} ns  ${perSecond.padStart(12)} /s`);
}
