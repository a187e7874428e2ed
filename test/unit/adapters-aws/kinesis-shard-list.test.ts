import { ExpiredNextTokenException, type KinesisClient } from '@aws-sdk/client-kinesis';
import { describe, expect, it } from 'vitest';
import { AwsCalls } from '../../../adapters/aws/aws-calls.ts';
import { ShardList } from '../../../adapters/aws/kinesis/shard-list.ts';
import { InvariantFault, TransientFault } from '../../../core/faults.ts';
import { canonicalSequenceNumber } from '../../../core/position.ts';
import { ARN } from './fake-kinesis.ts';

const SHARDS = [
  {
    ShardId: 'shardId-000000000002',
    HashKeyRange: { StartingHashKey: '255', EndingHashKey: String((1n << 128n) - 1n) },
    SequenceNumberRange: { StartingSequenceNumber: '0012' },
    ParentShardId: 'shardId-000000000000',
    AdjacentParentShardId: 'shardId-000000000001',
  },
  {
    ShardId: 'shardId-000000000001',
    HashKeyRange: { StartingHashKey: '0', EndingHashKey: '254' },
    SequenceNumberRange: { StartingSequenceNumber: '7', EndingSequenceNumber: '9' },
  },
];

/** Lists one shard a page; the tokens of the first `expiries` expire. */
function listWith(expiries: number) {
  const inputs: unknown[] = [];
  const send = async ({ input }: { input: { NextToken?: string } }) => {
    inputs.push(input);
    if (input.NextToken === undefined) return { Shards: SHARDS.slice(0, 1), NextToken: 'one' };
    if (expiries-- > 0) {
      throw new ExpiredNextTokenException({ message: 'late', $metadata: { httpStatusCode: 400 } });
    }
    return { Shards: SHARDS.slice(1) };
  };
  const client = { send } as unknown as KinesisClient;
  const calls = new AwsCalls({ timeLeftMs: () => 60_000, pauseMs: 0 });
  return { inputs, list: () => new ShardList({ client, calls, streamArn: ARN }).list() };
}

describe('ShardList', () => {
  it('has the shards of all pages by id, with range, state and parents', async () => {
    const { inputs, list } = listWith(0);
    expect(await list()).toEqual([
      {
        shardId: 'shardId-000000000001',
        range: { start: '0'.repeat(32), end: '000000000000000000000000000000fe' },
        isOpen: false,
        parents: [],
        sequenceDigits: 1,
      },
      {
        shardId: 'shardId-000000000002',
        range: { start: '000000000000000000000000000000ff', end: 'f'.repeat(32) },
        isOpen: true,
        parents: ['shardId-000000000000', 'shardId-000000000001'],
        sequenceDigits: 4,
      },
    ]);
    expect(inputs).toEqual([
      { StreamARN: ARN, MaxResults: 1_000 },
      { NextToken: 'one', MaxResults: 1_000 },
    ]);
  });

  it('starts over when a token has expired, and has no shard twice', async () => {
    const { inputs, list } = listWith(2);
    expect((await list()).map(({ shardId }) => shardId)).toEqual([
      'shardId-000000000001',
      'shardId-000000000002',
    ]);
    expect(inputs).toHaveLength(6);
  });

  it('does not start over for ever', async () => {
    await expect(listWith(3).list()).rejects.toThrow(TransientFault);
  });
});

describe('canonicalSequenceNumber', () => {
  it('takes zeros from the front and leaves the rest', () => {
    expect(canonicalSequenceNumber('000120')).toBe('120');
    expect(canonicalSequenceNumber('120')).toBe('120');
    expect(canonicalSequenceNumber('00')).toBe('0');
  });

  it.each(['', '12a', '-1', '1'.repeat(57)])('refuses %j', (text) => {
    expect(() => canonicalSequenceNumber(text)).toThrow(InvariantFault);
  });
});
