/**
 * `tidemark dev`'s parts over one data folder, in one thread: the machine's clock is set while they run, and between two runs.
 * What was put is shown all the same.
 */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { LocalStream } from '../../../adapters/local/stream/local-stream.ts';
import { Aggregator } from '../../../core/aggregator.ts';
import { parseHead } from '../../../core/checkpoint/head.ts';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { Position } from '../../../core/position.ts';
import { START } from '../../../core/position.ts';
import { Queries } from '../../../core/query/queries.ts';
import { activatePlan } from '../../../core/task/plan-activation.ts';
import { openLocalPorts, systemClock } from '../../../runtime/local-ports.ts';
import { SliceHeads } from '../../../runtime/slice-heads.ts';
import { temporaryFolder } from '../adapters-local/temporary-folder.ts';
import { planOf } from '../state/fold-fixture.ts';

const HOUR_MS = 3_600_000;
const NOON_MS = 1_800_000_000_000;
const SHARD = 'shardId-000000000000';
const PLENTY = () => 60_000;

const plan = planOf({
  name: 'shop',
  stream: 'shop',
  time: { field: 't', lateness: '0s', skew: 'none' },
  views: { total: { aggregates: { records: { count: '*' } } } },
});

class DevParts {
  readonly #folder: string;
  #running: Awaited<ReturnType<DevParts['open']>> | null = null;
  #mapped: Position = START;
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async open() {
    const path = join(this.#folder, 'stream.db');
    const stream = LocalStream.open({ path, name: 'shop', shardCount: 1, clock: systemClock });
    const ports = await openLocalPorts(this.#folder);
    const heads = (await ports.heads.listHeads()).map(parseHead);
    const objects = ports.blobs.objects;
    const context = { registry: ports.plans, heads, objects, nowMs: systemClock.nowMs() };
    const { ordinal } = await activatePlan(plan, context);
    await new SliceHeads(stream, ports.heads, objects).open(ordinal, plan.hash);
    const environment = new Aggregator(plan, createJsonDecoder(plan), ports);
    return { stream, ports, environment, queries: new Queries(plan, ports) };
  }

  async start(): Promise<void> {
    this.#running = await this.open();
  }

  stop(): void {
    this.#running?.stream.close();
    this.#running?.ports.close();
    this.#running = null;
  }

  get parts() {
    if (this.#running === null) throw new Error('it does not run');
    return this.#running;
  }

  /** The sequence number of a new record. */
  put(): string {
    const data = new TextEncoder().encode(JSON.stringify({ t: this.#count++ }));
    const entry = { partitionKey: 'p', explicitHashKey: null, data };
    return this.parts.stream.append([entry])[0]?.sequenceNumber as string;
  }

  /** What the event source mapping does, and a tick. */
  async run(): Promise<void> {
    const { ports, environment } = this.parts;
    const read = await ports.source.readAfter(SHARD, this.#mapped, 100);
    if (read.outcome !== 'records') throw new Error('trimmed');
    if (read.records.length > 0) await environment.deliver(SHARD, read.records, PLENTY);
    this.#mapped = read.records.at(-1) ?? this.#mapped;
    await environment.tick(SHARD, PLENTY);
  }

  async answer(after: string) {
    const { queries } = this.parts;
    const view = await queries.view('total', [['after', `${SHARD}:${after}`]]);
    const status = await queries.status();
    if (!view.ok || !status.ok) throw new Error('no answer');
    const { reached, incomplete, rows } = view.value;
    const { behindMs, checkpointAgeMs } = status.value.slices[0]!;
    return { reached, incomplete, records: rows[0]?.values['records'], behindMs, checkpointAgeMs };
  }
}

async function started(): Promise<DevParts> {
  const dev = new DevParts(await temporaryFolder());
  await dev.start();
  onTestFinished(() => dev.stop());
  return dev;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOON_MS });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each([
  ['30 s back', -30_000],
  ['26 h back', -26 * HOUR_MS],
  ['years back, to where it was never set', -NOON_MS + 1],
  ['26 h ahead', 26 * HOUR_MS],
])('after the clock was set %s', (_, stepMs) => {
  it.each(['while it runs', 'between two runs'])('%s, what is put is shown', async (when) => {
    const dev = await started();
    dev.put();
    await dev.run();
    vi.setSystemTime(NOON_MS + stepMs);
    if (when === 'between two runs') {
      dev.stop();
      await dev.start();
    }
    for (let records = 2; records < 5; records++) {
      const last = dev.put();
      await dev.run();
      const answer = await dev.answer(last);
      const whole = { reached: true, incomplete: ['no-windows'] };
      expect(answer).toMatchObject({ ...whole, records, behindMs: 0 });
      vi.advanceTimersByTime(100);
    }
  });

  it('what is not in yet is not said to be', async () => {
    const dev = await started();
    dev.put();
    await dev.run();
    vi.setSystemTime(NOON_MS + stepMs);
    const { reached, incomplete, behindMs } = await dev.answer(dev.put());
    expect(reached).toBe(false);
    expect(incomplete).toEqual(['no-windows', 'not-reached']);
    expect(behindMs).not.toBe(0);
  });
});
