/**
 * A world for one slice: a log, stores, environments that may die, and an event source that brings batches at least once,
 * with other boundaries each time, to whichever environment. After every write a reader checks what HEAD says against the
 * log's prefix up to its cursor.
 */
import { MemoryPorts } from '../../adapters/memory/memory-ports.ts';
import { Aggregator } from '../../core/aggregator.ts';
import { readBlob } from '../../core/checkpoint/blobs.ts';
import { type Head, headItem, parseHead } from '../../core/checkpoint/head.ts';
import { type Checkpoint, restore } from '../../core/checkpoint/restore.ts';
import { RunReader } from '../../core/checkpoint/run.ts';
import { createJsonDecoder } from '../../core/decode/json-decoder.ts';
import { BehindFault, TransientFault } from '../../core/faults.ts';
import type { Knobs } from '../../core/knobs.ts';
import type { StreamRecord } from '../../core/ports.ts';
import { comparePositions } from '../../core/position.ts';
import { mergeClosedEntries } from '../../core/state/closed-entries.ts';
import { decodeGroupKey } from '../../core/state/group-key.ts';
import { type ClosedEntry, closedEntriesOf } from '../../core/state/slice-image.ts';
import { ViewTable } from '../../core/state/view-table.ts';
import { Crash, type FaultKind, FaultSwitch } from './fault-switch.ts';
import {
  type Recount,
  recount,
  SHARD,
  SLICE,
  type SmallRecord,
  smallPlan,
  toStreamRecord,
} from './small-log.ts';

export interface WorldOptions {
  readonly log: readonly (SmallRecord | null)[];
  readonly faults?: ReadonlyMap<number, FaultKind>;
  readonly environments?: number;
  /** Sizes of the batches, over and over. */
  readonly batchSizes?: readonly number[];
  readonly knobs?: Partial<Knobs>;
  /** After so many batches, an environment answers for the next one without a checkpoint, as `deliver` does. */
  readonly deliverEvery?: number;
}

const STEPS_MAX = 2_000;

export class World {
  readonly records: StreamRecord[];
  readonly stores: MemoryPorts;
  readonly faultSwitch: FaultSwitch;
  /** Epochs at which a reader looked. */
  readonly epochsSeen = new Set<number>();
  /** The environment that works, and where its batch began. */
  #running = 0;
  #batchStart = 0;
  #environments: Aggregator[];
  readonly #options: Required<Omit<WorldOptions, 'faults' | 'knobs'>>;
  readonly #recounts = new Map<number, Recount>();

  constructor(options: WorldOptions) {
    this.#options = {
      log: options.log,
      environments: options.environments ?? 2,
      batchSizes: options.batchSizes ?? [2, 1, 3],
      deliverEvery: options.deliverEvery ?? 0,
    };
    this.records = options.log.map(toStreamRecord);
    this.stores = new MemoryPorts(1_000_000, {
      chainLengthMax: 4,
      runFanIn: 2,
      retentionGraceMs: 3_000,
      replayChunkRecords: 2,
      ...options.knobs,
    });
    for (const record of this.records) this.stores.source.append(SHARD, record);
    this.faultSwitch = new FaultSwitch(
      options.faults ?? new Map(),
      () => this.checkReader(),
      () => this.#overtake(),
    );
    this.#environments = Array.from({ length: this.#options.environments }, () =>
      this.#newEnvironment(),
    );
  }

  /** Delivers the whole log, whatever goes wrong, then checks the final answer. */
  async run(): Promise<void> {
    let next = 0;
    for (let step = 0; next < this.records.length; step++) {
      if (step > STEPS_MAX) throw new Error(`no end after ${STEPS_MAX} invocations`);
      this.stores.clock.advance(1_000);
      const size = this.#options.batchSizes[step % this.#options.batchSizes.length] as number;
      // The event source may be behind what it was told: it brings some records again.
      const from = Math.max(0, next - (step % 3));
      const batch = this.records.slice(from, next + size);
      this.#batchStart = from;
      const { deliverEvery } = this.#options;
      const done =
        deliverEvery > 0 && step % deliverEvery === deliverEvery - 1
          ? await this.#deliverOnly(batch)
          : await this.#invoke(step % this.#environments.length, batch);
      if (done) next = Math.min(this.records.length, next + size);
    }
    await this.#settle();
    await this.#checkEnd();
  }

  async head(): Promise<Head | null> {
    const item = await this.stores.heads.readHead(SLICE);
    return item === null ? null : parseHead(item);
  }

  /** What HEAD says now must be the fold of exactly the records up to its cursor. */
  async checkReader(): Promise<void> {
    const head = await this.head();
    if (head === null) return;
    this.epochsSeen.add(head.epoch);
    const checkpoint = await restore(smallPlan, head, this.stores.blobs);
    const prefix = this.records.filter((record) => comparePositions(record, head.cursor) <= 0);
    const expected = this.#recountOf(prefix.length);
    expectEqual(await this.#answers(checkpoint), answersOf(expected), `epoch ${head.epoch}`);
    expectEqual(head.counts, expected.counts, `counts of epoch ${head.epoch}`);
  }

  #newEnvironment(): Aggregator {
    const ports = this.faultSwitch.wrap(this.stores);
    return new Aggregator(smallPlan, createJsonDecoder(smallPlan), ports);
  }

  /** True if the invocation answered; otherwise it comes again. A null batch asks for a checkpoint. */
  async #invoke(index: number, batch: readonly StreamRecord[] | null): Promise<boolean> {
    const environment = this.#environments[index] as Aggregator;
    this.#running = index;
    try {
      if (batch === null) await environment.checkpoint(SHARD, () => 60_000);
      else await environment.deliver(SHARD, batch, () => 60_000);
      return true;
    } catch (error) {
      if (error instanceof Crash) this.#environments[index] = this.#newEnvironment();
      else if (!(error instanceof TransientFault || error instanceof BehindFault)) throw error;
      return false;
    }
  }

  /** While one environment is held up, another is brought its batch too, with what follows it. */
  async #overtake(): Promise<void> {
    const held = this.#running;
    const batch = this.records.slice(this.#batchStart, this.#batchStart + 5);
    await this.#invoke((held + 1) % this.#environments.length, batch);
    this.#running = held;
  }

  /** An environment that keeps the batch in memory, answers for it in HEAD, and is never seen again. */
  async #deliverOnly(batch: readonly StreamRecord[]): Promise<boolean> {
    const head = await this.head();
    const last = batch.at(-1);
    if (head === null || last === undefined) return false;
    if (comparePositions(last, head.delivered) <= 0) return true;
    const { sequenceNumber, subSequence, arrivalMs } = last;
    const next: Head = {
      ...head,
      revision: head.revision + 1,
      nonce: this.stores.nonces.nonce(),
      delivered: { sequenceNumber, subSequence },
      deliveredArrivalMs: arrivalMs,
    };
    const answer = await this.stores.heads.writeHead(headItem(next), head.revision);
    return answer.outcome === 'applied';
  }

  /** One more delivery of the last batch, until it is answered: what was only delivered is folded by then. */
  async #settle(): Promise<void> {
    for (const batch of [this.records.slice(-2), null]) {
      for (let attempt = 0; attempt < 10; attempt++) {
        if (await this.#invoke(0, batch)) break;
      }
    }
  }

  async #checkEnd(): Promise<void> {
    await this.checkReader();
    const head = (await this.head()) as Head;
    const last = this.records.at(-1) as StreamRecord;
    expectEqual(head.cursor.sequenceNumber, last.sequenceNumber, 'final cursor');
    const listed = await this.stores.quarantine.list(null, 1_000);
    expectEqual(
      listed.map(({ sequenceNumber }) => sequenceNumber),
      this.#recountOf(this.records.length).quarantined,
      'quarantine',
    );
    for (const record of listed) {
      const original = this.records.find((r) => r.sequenceNumber === record.sequenceNumber);
      expectEqual([...record.data], [...(original as StreamRecord).data], 'quarantined bytes');
    }
  }

  #recountOf(length: number): Recount {
    let known = this.#recounts.get(length);
    if (known === undefined) {
      known = recount(this.#options.log.slice(0, length));
      this.#recounts.set(length, known);
    }
    return known;
  }

  /** Every group of every view: open, closed since the base, and in runs. */
  async #answers({ image, manifest }: Checkpoint): Promise<Record<string, unknown>> {
    const answers: Record<string, unknown> = {};
    for (const [index, view] of smallPlan.views.entries()) {
      const source = image.source().views[index] as { open: Parameters<typeof closedEntriesOf>[1] };
      const entries: ClosedEntry[] = [
        ...closedEntriesOf(view, source.open),
        ...(image.closed[index] as ClosedEntry[]),
      ];
      for (const run of manifest.runs) {
        const bytes = await readBlob(this.stores.blobs, SLICE, run);
        const reader = new RunReader(SLICE, run, async (from, to) => bytes.subarray(from, to));
        entries.push(...(await reader.entries(view)));
      }
      answers[view.name] = Object.fromEntries(
        mergeClosedEntries(view, entries).map((entry) => {
          const table = new ViewTable(view);
          const slot = table.insert(0, '');
          table.decode(slot, entry.accumulators);
          const [key] = decodeGroupKey(entry.key);
          const group = view.window.kind === 'all' ? `${key}` : `${key}@${entry.windowStartMs}`;
          const results = table.results(slot).map(({ value }) => value);
          return [group, results.filter((value) => typeof value === 'number')];
        }),
      );
    }
    return answers;
  }
}

/** Largest, count, sum: the order of the aggregates' names. */
function answersOf({ groups }: Recount): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(groups).map(([view, all]) => [
      view,
      Object.fromEntries(
        Object.entries(all).map(([group, amounts]) => [
          group,
          [Math.max(...amounts), amounts.length, exactSum(amounts)],
        ]),
      ),
    ]),
  );
}

/** Rounded once: amounts are multiples of 2^-60 at least, so BigInt holds them exactly. */
function exactSum(amounts: readonly number[]): number {
  const SCALE = 2 ** 60;
  return Number(amounts.reduce((sum, amount) => sum + BigInt(amount * SCALE), 0n)) / SCALE;
}

function expectEqual(found: unknown, expected: unknown, what: string): void {
  const [a, b] = [canonical(found), canonical(expected)];
  if (a !== b) throw new Error(`${what}\n  found    ${a}\n  expected ${b}`);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
