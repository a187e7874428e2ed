import { describe, expect, it } from 'vitest';
import { KinesisShardDirectory } from '../../../adapters/aws/kinesis/kinesis-shard-directory.ts';
import type { KinesisTips } from '../../../adapters/aws/kinesis/kinesis-tips.ts';
import type { ShardList, StreamShard } from '../../../adapters/aws/kinesis/shard-list.ts';
import { TransientFault } from '../../../core/faults.ts';
import { SHARD_LIST_AGE_MS_MAX } from '../../../core/limits.ts';

function directoryOf(shardIds: string[]) {
  const world = { nowMs: 1_000_000, lists: 0, isBusy: false };
  const list = async () => {
    world.lists++;
    if (world.isBusy) throw new TransientFault('the stream is busy');
    return shardIds.map(
      (shardId) => ({ shardId, range: { start: '0', end: 'f' }, isOpen: false }) as StreamShard,
    );
  };
  const directory = new KinesisShardDirectory({
    shards: { list } as ShardList,
    tips: {} as KinesisTips,
    summary: { streamId: async () => '0'.repeat(16) },
    clock: { nowMs: () => world.nowMs },
  });
  return { world, directory };
}

describe('the shards of a stream on AWS', () => {
  it('are listed anew once the list is too old, closed ones too', async () => {
    const shardIds = ['shardId-1'];
    const { world, directory } = directoryOf(shardIds);
    expect(await directory.shardIds()).toEqual(['shardId-1']);
    shardIds.push('shardId-2');
    world.nowMs += SHARD_LIST_AGE_MS_MAX - 1;
    expect(await directory.shardIds()).toEqual(['shardId-1']);
    expect(world.lists).toBe(1);
    world.nowMs += 1;
    expect(await directory.shardIds()).toEqual(['shardId-1', 'shardId-2']);
    // A clock that was set back says nothing of the list's age.
    world.nowMs -= 3_600_000;
    await directory.shardIds();
    expect(world.lists).toBe(3);
    shardIds.push('shardId-3');
    expect(await directory.shardIds()).not.toContain('shardId-3');
    expect(await directory.shardIds(0)).toContain('shardId-3');
  });

  it('are not said from an old list where the stream does not answer', async () => {
    const { world, directory } = directoryOf(['shardId-1']);
    await directory.shardIds();
    world.nowMs += SHARD_LIST_AGE_MS_MAX;
    world.isBusy = true;
    await expect(directory.shardIds()).rejects.toThrow(TransientFault);
  });
});
