import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalStream } from '../../../adapters/local/stream/local-stream.ts';
import { isHeartbeat } from '../../../core/state/heartbeat.ts';
import { Heartbeats, heartbeatIntervalMs } from '../../../runtime/heartbeats.ts';

const MINUTE_MS = 60_000;
let folder: string;
let stream: LocalStream;
let heartbeats: Heartbeats;
let failures: unknown[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-heartbeats-'));
  const path = join(folder, 'stream.db');
  stream = LocalStream.open({
    path,
    name: 'trial',
    shardCount: 3,
    maxPages: 40,
    clock: { nowMs: () => Date.now() },
  });
  failures = [];
  heartbeats = new Heartbeats(stream, (error) => failures.push(error));
});

afterEach(() => {
  heartbeats.stop();
  stream.close();
  rmSync(folder, { recursive: true, force: true });
});

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const counts = () => stream.shards().map(({ shardId }) => stream.tip(shardId).count);

describe('heartbeats', () => {
  it.each([
    [10 * MINUTE_MS, 30_000],
    [MINUTE_MS, 30_000],
    [10_000, 5_000],
    [1, 100],
  ])('of an idle time of %s ms come every %s ms', (idleMs, intervalMs) => {
    expect(heartbeatIntervalMs(idleMs)).toBe(intervalMs);
  });

  it('go into every shard, and end when no plan wants them', async () => {
    heartbeats.follow(200);
    expect(counts()).toEqual([0, 0, 0]);
    while (counts()[0] === 0) await pause(10);
    heartbeats.follow(null);
    const reached = counts();
    await pause(250);

    expect(reached).toEqual([1, 1, 1]);
    expect(counts()).toEqual(reached);
    for (const { shardId } of stream.shards()) {
      const { records } = stream.readFrom(shardId, 1, { countMax: 10, bytesMax: 1_000 });
      expect(records.map(({ data }) => isHeartbeat(data))).toEqual([true]);
    }
  });

  it('that the disk does not take are told of, and tried again', async () => {
    const large = { partitionKey: 'k', explicitHashKey: null, data: Buffer.alloc(7_000) };
    expect(() => {
      for (;;) stream.append([large]);
    }).toThrow();
    const small = { ...large, data: Buffer.alloc(20) };
    expect(() => {
      for (;;) stream.append([small]);
    }).toThrow();
    heartbeats.follow(200);
    while (failures.length < 2) await pause(10);

    expect(failures[0]).toMatchObject({ name: 'TransientFault' });
  });
});
