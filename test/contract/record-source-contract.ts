/**
 * The guarantees of `RecordSource`, for every implementation.
 */
import { expect } from 'vitest';
import { StreamMismatchFault } from '../../core/faults.ts';
import type { RecordSource, StreamRecord } from '../../core/ports.ts';
import { comparePositions, isSequenceNumber, type Position, START } from '../../core/position.ts';
import { bytesOf, type Contract, describeContract, type World } from './contract.ts';

/** A stream of two shards that a test fills and trims. */
export interface StreamWorld extends World<RecordSource> {
  readonly shardIds: readonly [string, string];
  /** Adds records to a shard, in order; resolves to them as the stream has them. */
  append(shardId: string, datas: readonly Uint8Array[]): Promise<StreamRecord[]>;
  /** Removes the records up to and including `to`. */
  trim(shardId: string, to: Position): Promise<void>;
}

function numbered(count: number, first = 0): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => bytesOf(`record ${first + index}`));
}

function positionOf({ sequenceNumber, subSequence }: Position): Position {
  return { sequenceNumber, subSequence };
}

function nth(records: readonly StreamRecord[], index: number): StreamRecord {
  return records[index] as StreamRecord;
}

export function recordSourceContract(contract: Contract<StreamWorld>): void {
  describeContract('RecordSource', contract, (test) => {
    test('a shard without records is at its tip', async (world) => {
      const source = await world.connect();
      expect(await source.readAfter(world.shardIds[0], START, 10)).toEqual({
        outcome: 'records',
        origin: 'stream',
        records: [],
        reachedTip: true,
      });
    });

    test('records come whole and in order', async (world) => {
      const source = await world.connect();
      const [shardId] = world.shardIds;
      const datas = [new Uint8Array(0), Uint8Array.from({ length: 256 }, (_, byte) => byte)];
      const appended = await world.append(shardId, [...datas, ...numbered(3)]);
      expect(await source.readAfter(shardId, START, 10)).toEqual({
        outcome: 'records',
        origin: 'stream',
        records: appended,
        reachedTip: true,
      });
      expect(appended.map(({ data }) => data)).toEqual([...datas, ...numbered(3)]);
    });

    test('positions of a shard are sequence numbers that ascend', async (world) => {
      const [shardId] = world.shardIds;
      const records = [
        ...(await world.append(shardId, numbered(12))),
        ...(await world.append(shardId, numbered(3, 12))),
      ];
      for (const [index, record] of records.entries()) {
        expect(isSequenceNumber(record.sequenceNumber)).toBe(true);
        const previous = index === 0 ? START : nth(records, index - 1);
        expect(comparePositions(record, previous)).toBeGreaterThan(0);
      }
    });

    test('a read goes on directly after any position', async (world) => {
      const source = await world.connect();
      const [shardId] = world.shardIds;
      const records = await world.append(shardId, numbered(12));
      for (const [index, record] of records.entries()) {
        expect(await source.readAfter(shardId, positionOf(record), 100)).toEqual({
          outcome: 'records',
          origin: 'stream',
          records: records.slice(index + 1),
          reachedTip: true,
        });
      }
    });

    test('reads of any limit tile the shard, and only the last reaches the tip', async (world) => {
      const source = await world.connect();
      const [shardId] = world.shardIds;
      const records = await world.append(shardId, numbered(25));
      for (const limit of [1, 4, 5, 24, 25, 26]) {
        const read: StreamRecord[] = [];
        for (;;) {
          const answer = await source.readAfter(shardId, read.at(-1) ?? START, limit);
          if (answer.outcome !== 'records') throw new Error('nothing was trimmed');
          read.push(...answer.records);
          expect(answer.records.length).toBeLessThanOrEqual(limit);
          expect(answer.reachedTip).toBe(read.length === records.length);
          if (answer.reachedTip) break;
          expect(answer.records.length).toBeGreaterThan(0);
        }
        expect(read).toEqual(records);
      }
    });

    test('a reader at the tip sees what is appended later', async (world) => {
      const source = await world.connect();
      const [shardId] = world.shardIds;
      const before = await world.append(shardId, numbered(2));
      const tip = positionOf(nth(before, 1));
      expect(await source.readAfter(shardId, tip, 10)).toMatchObject({
        records: [],
        reachedTip: true,
      });
      const later = await world.append(shardId, numbered(3, 2));
      expect(await source.readAfter(shardId, tip, 10)).toEqual({
        outcome: 'records',
        origin: 'stream',
        records: later,
        reachedTip: true,
      });
    });

    test('shards have logs of their own', async (world) => {
      const source = await world.connect();
      const [one, other] = world.shardIds;
      const ours = await world.append(one, numbered(3));
      const theirs = await world.append(other, numbered(2, 100));
      await world.trim(one, nth(ours, 0));
      expect(await source.readAfter(other, START, 10)).toMatchObject({ records: theirs });
      expect(await source.readAfter(one, nth(ours, 0), 10)).toMatchObject({
        records: ours.slice(1),
      });
    });

    test('a read before what was trimmed says so and names the oldest that is left', async (world) => {
      const source = await world.connect();
      const [shardId] = world.shardIds;
      const records = await world.append(shardId, numbered(5));
      await world.trim(shardId, nth(records, 2));
      const trimmed = { outcome: 'trimmed', oldest: positionOf(nth(records, 3)) };
      expect(await source.readAfter(shardId, START, 10)).toEqual(trimmed);
      expect(await source.readAfter(shardId, nth(records, 0), 10)).toEqual(trimmed);
      expect(await source.readAfter(shardId, nth(records, 1), 10)).toEqual(trimmed);
    });

    test('a read directly after the last trimmed record misses nothing', async (world) => {
      const source = await world.connect();
      const [shardId] = world.shardIds;
      const records = await world.append(shardId, numbered(5));
      await world.trim(shardId, nth(records, 2));
      expect(await source.readAfter(shardId, nth(records, 2), 10)).toEqual({
        outcome: 'records',
        origin: 'stream',
        records: records.slice(3),
        reachedTip: true,
      });
    });

    test('a shard that was trimmed to its end has no oldest, and goes on', async (world) => {
      const source = await world.connect();
      const [shardId] = world.shardIds;
      const records = await world.append(shardId, numbered(3));
      const last = positionOf(nth(records, 2));
      await world.trim(shardId, last);
      expect(await source.readAfter(shardId, START, 10)).toEqual({
        outcome: 'trimmed',
        oldest: null,
      });
      expect(await source.readAfter(shardId, last, 10)).toEqual({
        outcome: 'records',
        origin: 'stream',
        records: [],
        reachedTip: true,
      });
      const later = await world.append(shardId, numbered(2, 3));
      expect(comparePositions(nth(later, 0), last)).toBeGreaterThan(0);
      expect(await source.readAfter(shardId, last, 10)).toMatchObject({ records: later });
      expect(await source.readAfter(shardId, START, 10)).toEqual({
        outcome: 'trimmed',
        oldest: positionOf(nth(later, 0)),
      });
    });

    test('a position after the newest record is refused: the stream is older than who asks', async (world) => {
      const [shardId] = world.shardIds;
      const records = await world.append(shardId, numbered(3));
      const { sequenceNumber } = nth(records, 2);
      const source = await world.connect();
      for (const ahead of [1n, 2n ** 60n]) {
        const after = { sequenceNumber: String(BigInt(sequenceNumber) + ahead), subSequence: 0 };
        await expect(source.readAfter(shardId, after, 10)).rejects.toThrow(StreamMismatchFault);
      }
    });

    test('a position between two records is refused: another record was there', async (world) => {
      const [shardId] = world.shardIds;
      const records = await world.append(shardId, numbered(3));
      const other = BigInt(nth(records, 1).sequenceNumber) - 1n;
      if (other <= BigInt(nth(records, 0).sequenceNumber)) return;
      const after = { sequenceNumber: String(other), subSequence: 0 };
      const source = await world.connect();
      await expect(source.readAfter(shardId, after, 10)).rejects.toThrow(StreamMismatchFault);
    });

    test('changing bytes that were given out changes nothing stored', async (world) => {
      const source = await world.connect();
      const [shardId] = world.shardIds;
      await world.append(shardId, [bytesOf('content')]);
      const answer = await source.readAfter(shardId, START, 1);
      if (answer.outcome === 'records') nth(answer.records, 0).data.fill(0);
      expect(await source.readAfter(shardId, START, 1)).toMatchObject({
        records: [{ data: bytesOf('content') }],
      });
    });

    test('what was appended is there after a restart', async (world) => {
      const [shardId] = world.shardIds;
      const records = await world.append(shardId, numbered(5));
      await world.trim(shardId, nth(records, 1));
      await world.disconnect();
      const source = await world.connect();
      expect(await source.readAfter(shardId, START, 10)).toEqual({
        outcome: 'trimmed',
        oldest: positionOf(nth(records, 2)),
      });
      expect(await source.readAfter(shardId, nth(records, 1), 10)).toMatchObject({
        records: records.slice(2),
      });
    });
  });
}
