import type { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { describe, expect, it } from 'vitest';
import { AwsCalls } from '../../../adapters/aws/aws-calls.ts';
import { HeartbeatWriter } from '../../../adapters/aws/kinesis/heartbeat-writer.ts';
import { heartbeatFor } from '../../../core/state/heartbeat.ts';

const STREAM = 'arn:aws:kinesis:eu-west-1:000000000000:stream/visits';

/** A stream whose shards refuse the heartbeats that `refuses` names, by call and hash key. */
function writerTo(refuses: (call: number, hashKey: string) => boolean) {
  const calls: string[][] = [];
  const send = async ({ input }: PutRecordsCommand) => {
    const keys = (input.Records ?? []).map(({ ExplicitHashKey = '' }) => ExplicitHashKey);
    calls.push(keys);
    const Records = keys.map((key) =>
      refuses(calls.length, key)
        ? { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'full' }
        : { SequenceNumber: '1', ShardId: 'x' },
    );
    return { Records };
  };
  const client = { send } as unknown as KinesisClient;
  const awsCalls = new AwsCalls({ timeLeftMs: () => 60_000, pauseMs: 1 });
  return { writer: new HeartbeatWriter({ client, streamArn: STREAM, calls: awsCalls }), calls };
}

const entries = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    heartbeatFor({ start: index.toString(16).padStart(32, '0'), end: 'f'.repeat(32) }),
  );

describe('heartbeats into a stream', () => {
  it('go in as few requests as Kinesis takes', async () => {
    const { writer, calls } = writerTo(() => false);
    await writer.put(entries(1_100));
    expect(calls.map((keys) => keys.length)).toEqual([500, 500, 100]);
    expect(new Set(calls.flat()).size).toBe(1_100);
  });

  it('are tried again where a shard was full, and nowhere else', async () => {
    const { writer, calls } = writerTo((call, key) => call === 1 && key === '2');
    await writer.put(entries(4));
    expect(calls).toEqual([['0', '1', '2', '3'], ['2']]);
  });

  it('fail by name where a shard stays full', async () => {
    const { writer } = writerTo((_, key) => key === '2');
    await expect(writer.put(entries(3))).rejects.toMatchObject({
      name: 'TransientFault',
      message: expect.stringContaining('1 of 3 shards took no heartbeat'),
    });
  });
});
