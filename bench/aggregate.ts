/**
 * What a slot of each aggregate costs: time of one `add`, `merge`, `encode` and `decode`, and
 * memory. Quantiles beside `@datadog/sketches-js`, in the same process.
 *
 *   npm run bench -- aggregate
 *
 * Each case runs in a process of its own, so that none pays for what the compiler learned from
 * another; "mixed" is an `add` where one call site has seen all kinds, as in a pipeline with many
 * views. Times are medians of several rounds; only ratios within one run mean anything on a shared
 * machine.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { DDSketch } from '@datadog/sketches-js';
import type { AccumulatorColumn } from '../core/aggregate/column.ts';
import { ByteReader, ByteWriter } from '../core/bytes.ts';
import { type AggregateKind, aggregateOf } from '../core/definition/kinds/aggregate-kinds.ts';

type Random = () => number;
/** By heading: nanoseconds of one operation, or bytes. */
type Figures = Record<string, number>;

const VALUES = 1 << 16;
const ROUNDS = 25;
const SLOTS = 10_000;
/** Values that each slot gets where memory is measured. */
const VALUES_PER_SLOT = [3, 100, 1000];
const MEMORY = VALUES_PER_SLOT.map((count) => `B of ${count}`);
const HEADINGS = ['add', 'mixed', '10k slots', 'merge', 'encode', 'decode', 'B encoded', ...MEMORY];

const MAKERS: Record<string, (random: Random) => number> = {
  integers: (random) => Math.floor(random() * 2000) - 200,
  cents: (random) => Math.round(random() * 1e5) / 100,
  'any scale': (random) => (random() - 0.5) * 10 ** (random() * 80),
  latencies: (random) => Math.exp(3 + 1.2 * normal(random)),
};

const CASES: readonly (readonly [kind: AggregateKind, maker: string])[] = [
  ['count', 'integers'],
  ['min', 'integers'],
  ['max', 'integers'],
  ['sum', 'integers'],
  ['mean', 'integers'],
  ['sum', 'cents'],
  ['mean', 'cents'],
  ['sum', 'any scale'],
  ['quantile', 'integers'],
  ['quantile', 'latencies'],
];

const [work, maker] = process.argv.slice(2);
if (work === undefined) main();
else console.log(JSON.stringify(work === 'mixed' ? mixedTimes() : measured(work, maker as string)));

function main(): void {
  console.log(
    `ns per operation (median of ${ROUNDS} rounds); memory in bytes a slot after n values,`,
  );
  console.log('measured, and in brackets what heapBytes says\n');
  print('aggregate', 'values', HEADINGS);
  const mixed = run('mixed');
  for (const [index, [kind, name]] of CASES.entries()) {
    const [own, peer] = run(kind, name);
    printFigures(kind, name, { ...own, ...mixed[index] });
    if (peer !== undefined) printFigures('sketches-js', name, peer);
  }
}

/** What this script answers in a process of its own. */
function run(...args: string[]): Figures[] {
  const script = fileURLToPath(import.meta.url);
  const output = execFileSync(process.execPath, ['--expose-gc', script, ...args]);
  return JSON.parse(output.toString()) as Figures[];
}

function measured(kind: string, name: string): Figures[] {
  const figures = { ...columnTimes(kind as AggregateKind, name), ...columnMemory(kind, name) };
  return kind === 'quantile' ? [figures, { ...peerTimes(name), ...peerMemory(name) }] : [figures];
}

function columnTimes(kind: AggregateKind, name: string): Figures {
  const data = valuesOf(name);
  const column = columnOf(kind, SLOTS + 1);
  const target = columnOf(kind, SLOTS);
  const writer = new ByteWriter();
  return {
    add: median(VALUES, () => {
      for (let index = 0; index < VALUES; index++) column.add(SLOTS, data[index] as number);
    }),
    '10k slots': median(VALUES, () => {
      for (let index = 0; index < VALUES; index++) column.add(index % SLOTS, data[index] as number);
    }),
    merge: median(SLOTS, () => {
      for (let slot = 0; slot < SLOTS; slot++) target.merge(slot, column, slot);
    }),
    encode: median(SLOTS, () => {
      writer.clear();
      for (let slot = 0; slot < SLOTS; slot++) column.encode(slot, writer);
    }),
    decode: median(SLOTS, () => {
      const reader = new ByteReader(writer.peek());
      for (let slot = 0; slot < SLOTS; slot++) target.decode(slot, reader);
    }),
    'B encoded': writer.length / SLOTS,
  };
}

function mixedTimes(): Figures[] {
  const columns = CASES.map(([kind]) => columnOf(kind, 1));
  const data = CASES.map(([, name]) => valuesOf(name));
  const addAll = (case_: number): void => {
    const column = columns[case_] as AccumulatorColumn;
    const values = data[case_] as number[];
    for (let index = 0; index < VALUES; index++) column.add(0, values[index] as number);
  };
  for (let round = 0; round < 3; round++) for (const index of CASES.keys()) addAll(index);
  return CASES.map((_, index) => ({ mixed: median(VALUES, () => addAll(index)) }));
}

function peerTimes(name: string): Figures {
  const data = valuesOf(name);
  const sketch = peerSketch();
  const sketches = Array.from({ length: SLOTS }, peerSketch);
  return {
    add: median(VALUES, () => {
      for (let index = 0; index < VALUES; index++) sketch.accept(data[index] as number);
    }),
    '10k slots': median(VALUES, () => {
      for (let index = 0; index < VALUES; index++) {
        (sketches[index % SLOTS] as DDSketch).accept(data[index] as number);
      }
    }),
    merge: median(SLOTS, () => {
      for (const other of sketches) sketch.merge(other);
    }),
  };
}

function columnMemory(kind: string, name: string): Figures {
  return memoryOf((count, next) => {
    const column = columnOf(kind as AggregateKind, SLOTS);
    for (let slot = 0; slot < SLOTS; slot++) {
      for (let index = 0; index < count; index++) column.add(slot, next());
    }
    return column;
  }, name);
}

function peerMemory(name: string): Figures {
  return memoryOf((count, next) => {
    const sketches = Array.from({ length: SLOTS }, peerSketch);
    for (const sketch of sketches)
      for (let index = 0; index < count; index++) sketch.accept(next());
    return sketches;
  }, name);
}

/**
 * Bytes a slot of what `fill` makes; where that says its own size, under the heading with `said`.
 */
function memoryOf(
  fill: (count: number, next: () => number) => AccumulatorColumn | DDSketch[],
  name: string,
): Figures {
  const data = valuesOf(name);
  const figures: Figures = {};
  // A call of its own for each, so that nothing still refers to the one before.
  const measure = (count: number, heading: string): void => {
    let value = 0;
    const before = usedBytes();
    const filled = fill(count, () => data[value++ % VALUES] as number);
    figures[heading] = (usedBytes() - before) / SLOTS;
    if ('heapBytes' in filled) figures[`${heading} said`] = filled.heapBytes() / SLOTS;
  };
  for (const [index, count] of VALUES_PER_SLOT.entries()) measure(count, MEMORY[index] as string);
  return figures;
}

function usedBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function columnOf(kind: AggregateKind, slots: number): AccumulatorColumn {
  const column = aggregateOf(kind).createColumn();
  column.grow(slots);
  return column;
}

function peerSketch(): DDSketch {
  return new DDSketch({ relativeAccuracy: 0.01 });
}

/** Median nanoseconds of one of the operations that a round does. */
function median(operations: number, round: () => void): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    round();
    return ((performance.now() - start) * 1e6) / operations;
  });
  return times.sort((a, b) => a - b)[ROUNDS >> 1] as number;
}

function valuesOf(name: string): number[] {
  const random = seeded(1);
  const make = MAKERS[name] as (random: Random) => number;
  return Array.from({ length: VALUES }, () => make(random));
}

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Uniform numbers in [0, 1) from a 32-bit xorshift. */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

function printFigures(aggregate: string, values: string, figures: Figures): void {
  const cells = HEADINGS.map((heading) => {
    const figure = figures[heading];
    if (figure === undefined) return '';
    const said = figures[`${heading} said`];
    if (said !== undefined) return `${figure.toFixed(0)} (${said.toFixed(0)})`;
    return figure.toFixed(MEMORY.includes(heading) ? 0 : 1);
  });
  print(aggregate, values, cells);
}

function print(aggregate: string, values: string, cells: readonly string[]): void {
  const row = cells.map((cell, index) => cell.padStart(index < 7 ? 10 : 14));
  console.log(aggregate.padEnd(12) + values.padEnd(10) + row.join(''));
}
