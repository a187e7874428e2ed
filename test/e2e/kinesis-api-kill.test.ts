import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { describe, expect, it } from 'vitest';
import { LocalStream } from '../../adapters/local/stream/local-stream.ts';
import { systemClock } from './kinesis-api-fixture.ts';

const SERVER = new URL('./kinesis-api-process.ts', import.meta.url).pathname;
/** Records that a server answers for before it is killed. */
const ANSWERED_MIN = 1_000;
const ALL = { countMax: 1_000_000, bytesMax: 1_000_000_000 };

describe('a server that is killed while records flow', () => {
  it('has every record that it answered for, in order, and none twice', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-kill-'));
    const path = join(folder, 'stream.db');
    const answered: { shardId: string; sequenceNumber: string; data: string }[] = [];
    try {
      for (let round = 0; round < 3; round++) {
        answered.push(...(await putUntilKilled(path, round)));
      }
      const stream = LocalStream.open({ path, name: 'flights', clock: systemClock });
      const kept = new Map<string, string>();
      for (const { shardId } of stream.shards()) {
        const { records } = stream.readFrom(shardId, 1, ALL);
        const numbers = records.map(({ sequenceNumber }) => BigInt(sequenceNumber));
        expect(
          numbers.every((number, at) => at === 0 || number > (numbers[at - 1] as bigint)),
        ).toBe(true);
        for (const { sequenceNumber, data } of records) {
          kept.set(`${shardId} ${sequenceNumber}`, Buffer.from(data).toString());
        }
      }
      stream.close();
      expect(answered.length).toBeGreaterThanOrEqual(3 * ANSWERED_MIN);
      const lost = answered.filter(
        ({ shardId, sequenceNumber, data }) => kept.get(`${shardId} ${sequenceNumber}`) !== data,
      );
      expect(lost).toEqual([]);
      expect(new Set(kept.values()).size).toBe(kept.size);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Puts records from several writers, kills the server amid them, and returns what it had answered. */
async function putUntilKilled(path: string, round: number) {
  const server = spawn(process.execPath, [SERVER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(server.stdout), 'line')) as [string];
  const client = new KinesisClient({
    endpoint: line,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
    maxAttempts: 1,
  });
  const answered: { shardId: string; sequenceNumber: string; data: string }[] = [];
  let killed = false;
  const write = async (writer: number) => {
    for (let call = 0; !killed; call++) {
      const data = Array.from({ length: 100 }, (_, index) => `${round}/${writer}/${call}/${index}`);
      const Records = data.map((text) => ({ PartitionKey: text, Data: Buffer.from(text) }));
      const command = new PutRecordsCommand({ StreamName: 'flights', Records });
      const answer = await client.send(command).catch((error: unknown) => {
        if (killed) return null;
        throw error;
      });
      for (const [index, { ShardId, SequenceNumber }] of (answer?.Records ?? []).entries()) {
        answered.push({
          shardId: ShardId as string,
          sequenceNumber: SequenceNumber as string,
          data: data[index] as string,
        });
      }
    }
  };
  const writers = Promise.all([0, 1, 2].map(write));
  // Amid the answers, however slow the machine is.
  while (answered.length < ANSWERED_MIN) await new Promise((resolve) => setTimeout(resolve, 20));
  killed = true;
  server.kill('SIGKILL');
  await writers;
  if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  client.destroy();
  return answered;
}
