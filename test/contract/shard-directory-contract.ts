/**
 * The guarantees of `ShardDirectory`, and what a `RecordSource` says of a shard that is not in it, for every implementation.
 */
import { expect } from 'vitest';
import { SHARD_LIST_AGE_MS_MAX } from '../../core/limits.ts';
import type { RecordSource, ShardDirectory } from '../../core/ports.ts';
import { START } from '../../core/position.ts';
import { bytesOf, type Contract, describeContract, type World } from './contract.ts';

export interface Directory {
  readonly shards: ShardDirectory;
  readonly source: RecordSource;
}

/** A stream of two shards. */
export interface DirectoryWorld extends World<Directory> {
  readonly shardIds: readonly [string, string];
  append(shardId: string, data: Uint8Array): Promise<unknown>;
  /** Closes the shard; two others take its place. */
  split(shardId: string): Promise<void>;
  /** Lets the directories' clock go on. */
  pass(ms: number): void;
  /** A connection to another stream of the same name. */
  connectOther(): Promise<Directory>;
  /** A shard that the stream does not have, or no longer. */
  readonly goneShardId: string;
}

export function shardDirectoryContract(contract: Contract<DirectoryWorld>): void {
  describeContract('ShardDirectory', contract, (test) => {
    test('every shard is listed once, without a record too, whoever asks', async (world) => {
      for (const { shards } of [await world.connect(), await world.connect()]) {
        expect([...(await shards.shardIds())].sort()).toEqual([...world.shardIds].sort());
      }
    });

    test('records change nothing of the list', async (world) => {
      const { shards } = await world.connect();
      const before = await shards.shardIds();
      for (const shardId of world.shardIds) await world.append(shardId, bytesOf('x'));
      world.pass(SHARD_LIST_AGE_MS_MAX);
      expect(await shards.shardIds()).toEqual(before);
    });

    test('a shard that is listed can be read from its beginning', async (world) => {
      const { shards, source } = await world.connect();
      await world.append(world.shardIds[0], bytesOf('x'));
      for (const shardId of await shards.shardIds()) {
        const count = shardId === world.shardIds[0] ? 1 : 0;
        const read = await source.readAfter(shardId, START, 10);
        expect(read).toMatchObject({ outcome: 'records', records: { length: count } });
      }
    });

    test('ranges are 32 hex digits each, tile all hash keys, and stay', async (world) => {
      const { shards } = await world.connect();
      const ranges = await Promise.all(world.shardIds.map((shardId) => shards.hashRange(shardId)));
      let next = 0n;
      for (const { start, end } of [...ranges].sort((a, b) => (a.start < b.start ? -1 : 1))) {
        expect([start, end].join()).toMatch(/^[0-9a-f]{32},[0-9a-f]{32}$/);
        expect(BigInt(`0x${start}`)).toBe(next);
        next = BigInt(`0x${end}`) + 1n;
      }
      expect(next).toBe(2n ** 128n);
      const other = await world.connect();
      expect(await other.shards.hashRange(world.shardIds[0])).toEqual(ranges[0]);
    });

    test('a stream has one id, whoever asks, and another stream of its name another', async (world) => {
      const { shards } = await world.connect();
      const id = await shards.streamId();
      expect(id).toMatch(/^[0-9a-f]{16}$/);
      expect(await (await world.connect()).shards.streamId()).toBe(id);
      const other = await world.connectOther();
      expect(await other.shards.streamId()).not.toBe(id);
    });

    test('shards and their id are the same after a restart', async (world) => {
      const before = await world.connect();
      const said = [await before.shards.streamId(), await before.shards.shardIds()];
      await world.disconnect();
      const after = await world.connect();
      expect([await after.shards.streamId(), await after.shards.shardIds()]).toEqual(said);
    });

    test('a closed shard stays listed beside its children, which are listed in time', async (world) => {
      const { shards } = await world.connect();
      const [closed, sibling] = world.shardIds;
      const parent = await shards.hashRange(closed);
      await shards.shardIds();
      await world.split(closed);
      world.pass(SHARD_LIST_AGE_MS_MAX);
      for (const asked of [shards, (await world.connect()).shards]) {
        const listed = await asked.shardIds();
        expect(listed).toHaveLength(4);
        expect(listed).toEqual(expect.arrayContaining([closed, sibling]));
        const children = listed.filter((id) => id !== closed && id !== sibling);
        const ranges = await Promise.all(children.map((id) => asked.hashRange(id)));
        ranges.sort((a, b) => (a.start < b.start ? -1 : 1));
        expect([ranges[0]?.start, ranges[1]?.end]).toEqual([parent.start, parent.end]);
        expect(await asked.hashRange(closed)).toEqual(parent);
      }
    });

    test('a shard that the stream does not have is not listed, has no range, and is gone to readers', async (world) => {
      const { shards, source } = await world.connect();
      const { goneShardId } = world;
      expect(await shards.shardIds()).not.toContain(goneShardId);
      await expect(shards.hashRange(goneShardId)).rejects.toThrow(goneShardId);
      for (const after of [START, { sequenceNumber: '495', subSequence: 0 }]) {
        expect(await source.readAfter(goneShardId, after, 10)).toEqual({ outcome: 'gone' });
      }
    });
  });
}
