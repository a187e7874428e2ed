/**
 * The guarantees of `TipMarks`, for every implementation.
 */
import { expect } from 'vitest';
import type { TipMark, TipMarks } from '../../adapters/aws/kinesis/tip-marks.ts';
import { START } from '../../core/position.ts';
import { type Contract, describeContract, type World } from './contract.ts';

const SHARD = 'shardId-000000000007';

function markAfter(sequenceNumber: string, atMs: number): TipMark {
  return { after: { sequenceNumber, subSequence: 0 }, atMs, keptMs: 82_800_000, oldest: null };
}

const startMark = (atMs: number, oldest: string | null): TipMark => ({
  after: START,
  atMs,
  keptMs: 601_200_000,
  oldest,
});

export interface TipMarksWorld extends World<TipMarks> {
  /** The same data, as a pipeline of another stream reaches them. */
  connectOther(): Promise<TipMarks>;
}

export function tipMarksContract(contract: Contract<TipMarksWorld>): void {
  describeContract('TipMarks', contract, (test) => {
    test('a shard has no mark before the first', async (world) => {
      const marks = await world.connect();
      expect(await marks.read(SHARD, START)).toBeNull();
      expect(await marks.read(SHARD, markAfter('7', 0).after)).toBeNull();
    });

    test('a mark comes back whole, to every connection', async (world) => {
      const marks = await world.connect();
      const long = '9'.repeat(56);
      await marks.put(SHARD, markAfter(long, 1_767_323_045_678));
      await marks.put(SHARD, startMark(1_767_323_045_679, long));
      const other = await world.connect();
      const { after } = markAfter(long, 0);
      expect(await other.read(SHARD, after)).toEqual(markAfter(long, 1_767_323_045_678));
      expect(await other.read(SHARD, START)).toEqual(startMark(1_767_323_045_679, long));
    });

    test('a mark speaks of its own position and shard only', async (world) => {
      const marks = await world.connect();
      await marks.put(SHARD, markAfter('7', 1));
      expect(await marks.read(SHARD, markAfter('8', 0).after)).toBeNull();
      expect(await marks.read(SHARD, START)).toBeNull();
      expect(await marks.read('shardId-000000000008', markAfter('7', 0).after)).toBeNull();
    });

    test('a position inside a record is at the record', async (world) => {
      const marks = await world.connect();
      await marks.put(SHARD, markAfter('7', 1));
      expect(await marks.read(SHARD, { sequenceNumber: '7', subSequence: 3 })).toEqual(
        markAfter('7', 1),
      );
    });

    test('the newest mark stays, whichever comes last; that of the start stays beside it', async (world) => {
      const marks = await world.connect();
      await marks.put(SHARD, startMark(1, null));
      await marks.put(SHARD, markAfter('7', 10));
      await marks.put(SHARD, markAfter('9', 20));
      await marks.put(SHARD, markAfter('7', 15));
      expect(await marks.read(SHARD, markAfter('7', 0).after)).toBeNull();
      expect(await marks.read(SHARD, markAfter('9', 0).after)).toEqual(markAfter('9', 20));
      expect(await marks.read(SHARD, START)).toEqual(startMark(1, null));
    });

    test('create leaves what is there, put replaces it', async (world) => {
      const marks = await world.connect();
      expect(await marks.create(SHARD, startMark(5, null))).toBe('created');
      expect(await marks.create(SHARD, startMark(6, '7'))).toBe('exists');
      expect(await marks.read(SHARD, START)).toEqual(startMark(5, null));
      await marks.put(SHARD, startMark(6, '7'));
      expect(await marks.read(SHARD, START)).toEqual(startMark(6, '7'));
    });

    test('a mark of another stream counts as none, and neither is written over the other', async (world) => {
      const [marks, others] = [await world.connect(), await world.connectOther()];
      await others.put(SHARD, startMark(50, '3'));
      await others.put(SHARD, markAfter('7', 50));
      expect(await marks.read(SHARD, START)).toBeNull();
      expect(await marks.read(SHARD, markAfter('7', 0).after)).toBeNull();
      expect(await marks.create(SHARD, startMark(5, null))).toBe('created');
      await marks.put(SHARD, markAfter('7', 6));
      expect(await marks.read(SHARD, START)).toEqual(startMark(5, null));
      expect(await marks.read(SHARD, markAfter('7', 0).after)).toEqual(markAfter('7', 6));
      expect(await others.read(SHARD, START)).toEqual(startMark(50, '3'));
    });
  });
}
