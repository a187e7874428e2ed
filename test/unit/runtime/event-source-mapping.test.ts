import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LocalRecordSource } from '../../../adapters/local/stream/local-record-source.ts';
import { LocalStream } from '../../../adapters/local/stream/local-stream.ts';
import { InvariantFault, TransientFault } from '../../../core/faults.ts';
import { type Position, START } from '../../../core/position.ts';
import type { AggregateAnswer, AggregatePayload } from '../../../runtime/aggregate-environment.ts';
import { InvocationError } from '../../../runtime/environment-pool.ts';
import {
  EventSourceMapping,
  type EventSourceMappingOptions,
} from '../../../runtime/event-source-mapping.ts';

const SHARD = 'shardId-000000000000';
const HOUR_MS = 3_600_000;

let folder: string;
let stream: LocalStream;
let source: LocalRecordSource;
let nowMs: number;
let mappings: EventSourceMapping[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-mapping-'));
  nowMs = 1_767_225_600_000;
  mappings = [];
  open();
  // Each wait is over as soon as nothing else is to be done.
  vi.useFakeTimers().setTimerTickMode('nextTimerAsync');
});

afterEach(async () => {
  for (const mapping of mappings) await mapping.stop();
  vi.useRealTimers();
  source.close();
  stream.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(): void {
  const path = join(folder, 'stream.db');
  stream = LocalStream.open({ path, name: 'trial', clock: { nowMs: () => nowMs } });
  source = LocalRecordSource.open(path);
}

function append(from: number, count: number): void {
  const entries = Array.from({ length: count }, (_, index) => ({
    partitionKey: 'key',
    explicitHashKey: null,
    data: Buffer.from(String(from + index)),
  }));
  stream.append(entries);
}

/** HEAD answers for everything: the saved position decides. */
const NOTHING_BEHIND = new Map([[SHARD, { sequenceNumber: '9'.repeat(56), subSequence: 0 }]]);

type Judge = (numbers: readonly number[]) => string | null;

/** Stands for the environments: notes each batch that came, and fails those that `judge` objects to. */
class TrialPool {
  readonly batches: number[][] = [];
  readonly failed: number[][] = [];
  readonly limits: number[] = [];
  running = 0;
  runningMax = 0;
  delayMs = 0;
  judge: Judge = () => null;

  async invoke(payload: unknown): Promise<AggregateAnswer> {
    const request = payload as AggregatePayload;
    if (request.kind !== 'records') throw new Error('unexpected');
    this.limits.push(request.limit);
    this.running++;
    this.runningMax = Math.max(this.runningMax, this.running);
    try {
      await new Promise((resolve) => setTimeout(resolve, this.delayMs));
      return await this.#deliver(request.shardId, request.after, request.limit);
    } finally {
      this.running--;
    }
  }

  get delivered(): number[] {
    return this.batches.flat();
  }

  async #deliver(shardId: string, after: Position, limit: number): Promise<AggregateAnswer> {
    const read = await source.readAfter(shardId, after, limit);
    if (read.outcome !== 'records') return { outcome: 'trimmed' };
    const last = read.records.at(-1);
    if (last === undefined) return { outcome: 'nothing' };
    const numbers = read.records.map(({ data }) => Number(Buffer.from(data).toString()));
    const objection = this.judge(numbers);
    if (objection !== null) {
      this.failed.push(numbers);
      const failure = { name: 'TransientFault', message: objection, hint: null, stack: null };
      throw new InvocationError(failure);
    }
    this.batches.push(numbers);
    const { sequenceNumber, subSequence } = last;
    return {
      outcome: 'delivered',
      count: numbers.length,
      last: { sequenceNumber, subSequence },
      rewoundTo: null,
      lostParts: 0,
    };
  }
}

interface Failure {
  readonly message: string;
  readonly retryInMs: number;
}

function map(pool: TrialPool, options: Partial<EventSourceMappingOptions> = {}) {
  const failures: Failure[] = [];
  const mapping = new EventSourceMapping({
    stream,
    pool,
    batchWindowMs: 0,
    delivered: NOTHING_BEHIND,
    cursorOf: async () => START,
    onFailure: (_, { message }, retryInMs) => failures.push({ message, retryInMs }),
    ...options,
  });
  mappings.push(mapping);
  return { mapping, failures };
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => from + index);

describe('an event source mapping', () => {
  it('brings every record once and in order, one batch of a shard at a time', async () => {
    const pool = new TrialPool();
    pool.delayMs = 5;
    append(0, 25_000);
    const { mapping } = map(pool);
    append(25_000, 10);

    expect(await mapping.caughtUp(SHARD, 5_000)).toBe(true);
    append(25_010, 10);
    expect(await mapping.caughtUp(SHARD, 5_000)).toBe(true);
    expect(pool.delivered).toEqual(numbers(0, 25_020));
    expect(pool.batches.map(({ length }) => length)).toEqual([10_000, 10_000, 5_010, 10]);
    expect(pool.runningMax).toBe(1);
    expect(mapping.pendingCount).toBe(0);
  });

  it('waits the batch window for more records', async () => {
    const pool = new TrialPool();
    const { mapping } = map(pool, { batchWindowMs: 300 });
    append(0, 3);
    await new Promise((resolve) => setTimeout(resolve, 50));
    append(3, 3);
    expect(pool.batches).toEqual([]);

    await mapping.caughtUp(SHARD, 5_000);
    expect(pool.batches).toEqual([numbers(0, 6)]);
  });

  it('does not wait for more of what was there before it began', async () => {
    const pool = new TrialPool();
    append(0, 3);
    const beganMs = performance.now();
    const { mapping } = map(pool, { batchWindowMs: 60_000 });

    expect(await mapping.caughtUp(SHARD, 5_000)).toBe(true);
    expect(pool.batches).toEqual([numbers(0, 3)]);

    append(3, 3);
    expect(await mapping.caughtUp(SHARD, 90_000)).toBe(true);
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(60_000);
    expect(pool.batches).toEqual([numbers(0, 3), numbers(3, 6)]);
  });

  it('does not wait once the batch is full', async () => {
    const pool = new TrialPool();
    const { mapping } = map(pool, { batchWindowMs: 60_000 });
    append(0, 10_001);
    while (pool.batches.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));

    expect(pool.batches).toEqual([numbers(0, 10_000)]);
    expect(mapping.pendingCount).toBe(1);
  });

  it('cuts a failed batch in half until it isolates the record, and lets none overtake it', async () => {
    const pool = new TrialPool();
    let patience = 3;
    // Record 5 fails alone three times more.
    pool.judge = (batch) => {
      if (!batch.includes(5)) return null;
      return batch.length > 1 || patience-- > 0 ? 'record 5 is bad' : null;
    };
    append(0, 8);
    const { mapping, failures } = map(pool);

    expect(await mapping.caughtUp(SHARD, 9_000)).toBe(true);
    expect(pool.delivered).toEqual(numbers(0, 8));
    expect(pool.failed[0]).toEqual(numbers(0, 8));
    expect(pool.failed.filter((batch) => batch.length === 1)).toEqual([[5], [5], [5]]);
    expect(pool.batches).toContainEqual([5]);
    expect(failures[0]).toEqual({ message: 'record 5 is bad', retryInMs: 100 });
    // Alone it fails three times in a row: each wait is twice the one before.
    expect(failures.slice(-3).map(({ retryInMs }) => retryInMs)).toEqual([200, 400, 800]);
  });

  it('does not go back to full batches at once after one that failed', async () => {
    const pool = new TrialPool();
    pool.judge = (batch) => (batch.length > 2_500 ? 'too much' : null);
    append(0, 10_000);
    const { mapping, failures } = map(pool);

    expect(await mapping.caughtUp(SHARD, 9_000)).toBe(true);
    expect(pool.delivered).toEqual(numbers(0, 10_000));
    expect(pool.limits.slice(0, 5)).toEqual([10_000, 5_000, 2_500, 5_000, 2_500]);
    expect(failures.length).toBeLessThanOrEqual(5);
  });

  it('begins where HEAD ends when that lies behind the saved position', async () => {
    const pool = new TrialPool();
    append(0, 10);
    await map(pool).mapping.caughtUp(SHARD, 2_000);
    await mappings.pop()?.stop();
    const read = await source.readAfter(SHARD, START, 4);
    const third = read.outcome === 'records' ? read.records[3] : undefined;

    for (const [delivered, from] of [
      [new Map([[SHARD, third as Position]]), 4],
      [new Map<string, Position>(), 0],
    ] as const) {
      const again = new TrialPool();
      await map(again, { delivered }).mapping.caughtUp(SHARD, 2_000);
      await mappings.pop()?.stop();
      expect(again.delivered).toEqual(numbers(from, 10));
    }
  });

  it('lets something else have its turn between two batches, and none at the same time', async () => {
    const pool = new TrialPool();
    append(0, 3);
    const { mapping } = map(pool, { batchWindowMs: 20 });
    let running = 0;
    const seen: number[] = [];
    const turns = [1, 2, 3].map((turn) =>
      mapping.inTurn(SHARD, async () => {
        running++;
        await new Promise((resolve) => setTimeout(resolve, 5));
        seen.push(running);
        running--;
        return turn;
      }),
    );
    const failing = mapping.inTurn(SHARD, () => Promise.reject(new Error('no')));

    await expect(failing).rejects.toThrow('no');
    expect(await Promise.all(turns)).toEqual([1, 2, 3]);
    expect(seen).toEqual([1, 1, 1]);
    expect(await mapping.caughtUp(SHARD, 2_000)).toBe(true);
    expect(pool.delivered).toEqual(numbers(0, 3));
  });

  it('goes on waiting for a batch to fill after somebody had a turn', async () => {
    const pool = new TrialPool();
    const { mapping } = map(pool, { batchWindowMs: 400 });
    append(0, 3);
    await mapping.inTurn(SHARD, async () => {});
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(pool.batches).toEqual([]);
    append(3, 1);

    expect(await mapping.caughtUp(SHARD, 2_000)).toBe(true);
    expect(pool.batches).toEqual([numbers(0, 4)]);
  });

  it('gives a turn while a batch waits to come again, and lets it wait on', async () => {
    const pool = new TrialPool();
    pool.judge = () => (pool.failed.length < 5 ? 'not yet' : null);
    append(0, 1);
    const { mapping, failures } = map(pool);
    while (failures.length < 4) await new Promise((resolve) => setTimeout(resolve, 5));
    // The next try is 800 ms away, and the turn comes before it.
    const taken = await mapping.inTurn(SHARD, async () => pool.limits.length);

    expect(taken).toBe(4);
    expect(await mapping.caughtUp(SHARD, 30_000)).toBe(true);
  });

  it('brings records again after a crash, from the position that was saved last', async () => {
    const pool = new TrialPool();
    append(0, 10);
    await map(pool).mapping.caughtUp(SHARD, 2_000);
    // Rides on the next append; what follows it is saved nowhere when the process dies.
    append(10, 5);
    await mappings[0]?.caughtUp(SHARD, 2_000);
    await mappings.pop()?.stop();
    const crashed = stream;
    source.close();
    open();

    const again = new TrialPool();
    await map(again).mapping.caughtUp(SHARD, 2_000);
    expect(pool.delivered).toEqual(numbers(0, 15));
    expect(again.delivered).toEqual(numbers(10, 15));
    crashed.close();
  });

  it("goes on at HEAD's cursor where the saved position was trimmed", async () => {
    const first = new TrialPool();
    append(0, 10);
    const { mapping } = map(first);
    await mapping.caughtUp(SHARD, 2_000);
    await mappings.pop()?.stop();
    append(10, 30);
    const read = await source.readAfter(SHARD, START, 40);
    if (read.outcome !== 'records') throw new Error(read.outcome);
    const cursor = read.records[34] as Position;
    nowMs += 25 * HOUR_MS;
    expect(await stream.trimExpired(nowMs, new Map([[SHARD, cursor]]))).toBe(35);

    const again = new TrialPool();
    const resumed = map(again, { cursorOf: async () => cursor });
    expect(await resumed.mapping.caughtUp(SHARD, 2_000)).toBe(true);
    expect(again.delivered).toEqual(numbers(35, 40));
    expect(resumed.failures).toEqual([]);
  });

  it('reports a gap, and brings nothing, where records are gone that no checkpoint holds', async () => {
    append(0, 10);
    const read = await source.readAfter(SHARD, START, 10);
    if (read.outcome !== 'records') throw new Error(read.outcome);
    await stream.trimBefore(SHARD, read.records[5] as Position);

    const pool = new TrialPool();
    const { mapping, failures } = map(pool, { cursorOf: async () => START });
    expect(await mapping.caughtUp(SHARD, 250)).toBe(false);
    expect(pool.delivered).toEqual([]);
    expect(failures[0]?.message).toContain(`the records of ${SHARD} after 0 are gone`);
    // It waits between attempts.
    expect(pool.limits.length).toBeLessThan(5);
  });

  it('waits and tries again when HEAD cannot be read', async () => {
    append(0, 10);
    const read = await source.readAfter(SHARD, START, 10);
    if (read.outcome !== 'records') throw new Error(read.outcome);
    const { records } = read;
    await stream.trimBefore(SHARD, records[5] as Position);
    let attempts = 0;
    const cursorOf = async (): Promise<Position> => {
      if (attempts++ === 0) throw new TransientFault('checkpoint.db is locked');
      return records[4] as Position;
    };

    const pool = new TrialPool();
    const { mapping, failures } = map(pool, { cursorOf });
    expect(await mapping.caughtUp(SHARD, 3_000)).toBe(true);
    expect(failures.map(({ message }) => message)).toEqual(['checkpoint.db is locked']);
    expect(pool.delivered).toEqual(numbers(5, 10));
  });

  it('starts no invocation after stop, and waits for the one that runs', async () => {
    const pool = new TrialPool();
    pool.delayMs = 100;
    append(0, 20_000);
    const { mapping } = map(pool);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await mapping.stop();

    expect(pool.batches.map(({ length }) => length)).toEqual([10_000]);
    append(20_000, 1);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(pool.batches).toHaveLength(1);
    expect(await mapping.caughtUp(SHARD, 1_000)).toBe(false);
  });

  it('stops at once while it waits to try again', async () => {
    const pool = new TrialPool();
    pool.judge = () => 'never';
    append(0, 1);
    const { mapping, failures } = map(pool);
    while (failures.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
    await mapping.stop();

    expect(failures).toHaveLength(3);
  });

  it('knows no shard but those of its stream', async () => {
    const { mapping } = map(new TrialPool());

    await expect(mapping.caughtUp('shardId-000000000009', 10)).rejects.toThrow(InvariantFault);
  });
});
