import { describe, expect, it, vi } from 'vitest';
import { decimalOfHashKey, hashKeyOfPartition } from '../../../adapters/local/stream/hash-range.ts';
import type { LocalStream } from '../../../adapters/local/stream/local-stream.ts';
import { parseSequenceNumber } from '../../../adapters/local/stream/sequence-number.ts';
import { compareSequenceNumbers } from '../../../core/position.ts';
import {
  entry,
  NOW_MS,
  openStream,
  SHARD_0,
  SHARD_1,
  streamPath,
  TestClock,
} from './stream-fixture.ts';

const ALL = { countMax: 10_000, bytesMax: 10_000_000 };
const LOW_HASH = '0';
const HIGH_HASH = String(2n ** 128n - 1n);

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString();

function keysIn(stream: LocalStream, shardId: string): string[] {
  return stream.readFrom(shardId, 1, ALL).records.map((record) => record.partitionKey);
}

describe('appending to the local stream', () => {
  it('answers shard and sequence number of each entry, in the order of the entries', () => {
    const stream = openStream({ shardCount: 2 });
    const keys = Array.from({ length: 50 }, (_, index) => `key-${index}`);
    const appended = stream.append(keys.map((key) => entry(key)));

    expect(appended).toHaveLength(50);
    const expected = keys.map((key) => (hashKeyOfPartition(key) < '8' ? SHARD_0 : SHARD_1));
    expect(appended.map(({ shardId }) => shardId)).toEqual(expected);
    for (const shardId of [SHARD_0, SHARD_1]) {
      const own = appended.filter((record) => record.shardId === shardId);
      expect(own.length).toBeGreaterThan(5);
      own.reduce((previous, record) => {
        expect(compareSequenceNumbers(previous.sequenceNumber, record.sequenceNumber)).toBeLessThan(
          0,
        );
        return record;
      });
    }
  });

  it('brings records back as they came: key, bytes, arrival, sequence number', () => {
    const stream = openStream();
    const data = Uint8Array.from({ length: 256 }, (_, index) => index);
    const [appended] = stream.append([entry('clé\u0000\u{1f6eb}', data)]);
    const { records, nextOrdinal } = stream.readFrom(SHARD_0, 1, ALL);

    expect(nextOrdinal).toBe(2);
    expect(records).toEqual([
      {
        sequenceNumber: appended?.sequenceNumber,
        subSequence: 0,
        partitionKey: 'clé\u0000\u{1f6eb}',
        arrivalMs: NOW_MS,
        data,
      },
    ]);
  });

  it('takes empty data and records of the largest size', () => {
    const stream = openStream();
    const large = new Uint8Array(1024 * 1024).fill(7);
    stream.append([entry('empty', ''), entry('large', large)]);
    const { records } = stream.readFrom(SHARD_0, 1, ALL);
    expect(records[0]?.data.byteLength).toBe(0);
    expect(Buffer.compare(records[1]?.data as Uint8Array, large)).toBe(0);
  });

  it('routes by the explicit hash key where there is one', () => {
    const stream = openStream({ shardCount: 2 });
    const [low, high] = stream.append([
      { ...entry('same'), explicitHashKey: LOW_HASH },
      { ...entry('same'), explicitHashKey: HIGH_HASH },
    ]);
    expect(low?.shardId).toBe(SHARD_0);
    expect(high?.shardId).toBe(SHARD_1);
  });

  it('brings one record to each shard, in one append, by the ends of their ranges', () => {
    const stream = openStream({ shardCount: 256 });
    const shards = stream.shards();
    for (const end of ['start', 'end'] as const) {
      const appended = stream.append(
        shards.map(({ range }) => ({
          ...entry('same'),
          explicitHashKey: decimalOfHashKey(range[end]),
        })),
      );
      expect(appended.map(({ shardId }) => shardId)).toEqual(shards.map(({ shardId }) => shardId));
    }
    for (const { shardId } of shards) expect(stream.tip(shardId).count).toBe(2);
  });

  it('never lets the arrival time of a shard go back, although the clock may', () => {
    const clock = new TestClock();
    const stream = openStream({ clock });
    stream.append([entry('first')]);
    clock.ms -= 60_000;
    stream.append([entry('second')]);
    clock.ms += 60_001;
    stream.append([entry('third')]);
    const arrivals = stream.readFrom(SHARD_0, 1, ALL).records.map((record) => record.arrivalMs);
    expect(arrivals).toEqual([NOW_MS, NOW_MS, NOW_MS + 1]);
  });

  it('is still there after the file is opened again, and goes on behind it', () => {
    const path = streamPath();
    const first = openStream({ path, shardCount: 2 });
    const [before] = first.append([{ ...entry('before'), explicitHashKey: HIGH_HASH }]);
    first.close();

    const second = openStream({ path });
    expect(second.shards()).toEqual(first.shards());
    const [after] = second.append([{ ...entry('after'), explicitHashKey: HIGH_HASH }]);
    expect(keysIn(second, SHARD_1)).toEqual(['before', 'after']);
    expect(
      compareSequenceNumbers(before?.sequenceNumber as string, after?.sequenceNumber as string),
    ).toBeLessThan(0);
  });

  it('tells listeners of each shard that got records, and of no other', async () => {
    const stream = openStream({ shardCount: 2 });
    const listener = vi.fn();
    const stop = stream.onAppend(listener);
    stream.append([
      { ...entry('a'), explicitHashKey: HIGH_HASH },
      { ...entry('b'), explicitHashKey: HIGH_HASH },
    ]);
    await Promise.resolve();
    expect(listener.mock.calls).toEqual([[SHARD_1]]);
    stop();
    stream.append([entry('c')]);
    await Promise.resolve();
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it('shows the tip without reading: newest sequence number, ordinal, count', () => {
    const path = streamPath();
    const stream = openStream({ path });
    expect(stream.tip(SHARD_0)).toEqual({ sequenceNumber: null, ordinal: 0, count: 0 });
    const appended = stream.append([entry('a'), entry('b')]);
    const tip = { sequenceNumber: appended[1]?.sequenceNumber, ordinal: 2, count: 2 };
    expect(stream.tip(SHARD_0)).toEqual(tip);
    stream.close();
    expect(openStream({ path }).tip(SHARD_0)).toEqual(tip);
  });

  it('begins each shard below its first record', () => {
    const stream = openStream();
    const start = stream.shards()[0]?.startingSequenceNumber as string;
    const [first] = stream.append([entry('a')]);
    expect(compareSequenceNumbers(start, first?.sequenceNumber as string)).toBeLessThan(0);
    expect(parseSequenceNumber(start)?.ordinal).toBe(0);
  });
});

describe('reading the local stream', () => {
  const filled = (clock = new TestClock()) => {
    const stream = openStream({ clock, shardCount: 2 });
    const appended = ['a', 'b', 'c', 'd'].map((key) => {
      const [record] = stream.append([{ ...entry(key), explicitHashKey: LOW_HASH }]);
      clock.ms += 1_000;
      return record?.sequenceNumber as string;
    });
    return { stream, appended };
  };

  it('ends a page at the number of records asked for', () => {
    const { stream } = filled();
    const page = stream.readFrom(SHARD_0, 2, { ...ALL, countMax: 2 });
    expect(page.records.map((record) => textOf(record.data))).toEqual(['b', 'c']);
    expect(page.nextOrdinal).toBe(4);
  });

  it('ends a page before the record that would pass the bytes asked for, but never brings none', () => {
    const stream = openStream();
    stream.append([entry('k', 'x'.repeat(99)), entry('k', 'y'.repeat(99)), entry('k', 'z')]);
    const limits = { countMax: 10, bytesMax: 199 };
    expect(stream.readFrom(SHARD_0, 1, limits).nextOrdinal).toBe(2);
    expect(stream.readFrom(SHARD_0, 1, { ...limits, bytesMax: 200 }).nextOrdinal).toBe(3);
    expect(stream.readFrom(SHARD_0, 1, { ...limits, bytesMax: 1 }).nextOrdinal).toBe(2);
  });

  it('locates the oldest, the next, a record, the one after it, and a time', () => {
    const { stream, appended } = filled();
    const at = (from: Parameters<LocalStream['locate']>[1]) => stream.locate(SHARD_0, from);
    const ordinal = (value: number) => ({ outcome: 'located', ordinal: value });
    const second = appended[1] as string;

    expect(at({ kind: 'TRIM_HORIZON' })).toEqual(ordinal(1));
    expect(at({ kind: 'LATEST' })).toEqual(ordinal(5));
    expect(at({ kind: 'AT', sequenceNumber: second })).toEqual(ordinal(2));
    expect(at({ kind: 'AFTER', sequenceNumber: second })).toEqual(ordinal(3));
    expect(at({ kind: 'AT_TIMESTAMP', timestampMs: NOW_MS - 1 })).toEqual(ordinal(1));
    expect(at({ kind: 'AT_TIMESTAMP', timestampMs: NOW_MS + 1_000 })).toEqual(ordinal(2));
    expect(at({ kind: 'AT_TIMESTAMP', timestampMs: NOW_MS + 1_001 })).toEqual(ordinal(3));
    expect(at({ kind: 'AT_TIMESTAMP', timestampMs: NOW_MS + 9_000 })).toEqual(ordinal(5));
  });

  it('locates the starting sequence number of the shard as its beginning', () => {
    const { stream } = filled();
    const sequenceNumber = stream.shards()[0]?.startingSequenceNumber as string;
    const located = stream.locate(SHARD_0, { kind: 'AFTER', sequenceNumber });
    expect(located).toEqual({ outcome: 'located', ordinal: 1 });
  });

  it('knows sequence numbers that are none of the shard', () => {
    const { stream, appended } = filled();
    const reason = (sequenceNumber: string, shardId = SHARD_0) => {
      const located = stream.locate(shardId, { kind: 'AT', sequenceNumber });
      return located.outcome === 'foreign' ? located.reason : located.outcome;
    };
    const first = appended[0] as string;
    const other = openStream({ clock: Object.assign(new TestClock(), { ms: NOW_MS + 1 }) });
    const [foreign] = other.append([entry('a')]);

    expect(reason('12')).toBe('malformed');
    expect(reason(first, SHARD_1)).toBe('other-shard');
    expect(reason(foreign?.sequenceNumber as string)).toBe('other-stream');
    // The ordinal of a record that is there, with another arrival time.
    expect(reason(first.replace(/3045678000000000000$/, '3045679000000000000'))).toBe(
      'other-stream',
    );
    expect(reason(first.replace('0000000000000001', '0000000000000005'))).toBe('not-written-yet');
  });
});

describe('positions of the event source mapping', () => {
  const position = (sequenceNumber: string) => ({ sequenceNumber, subSequence: 2 });

  it('are null until one is saved, and what was saved last afterwards', () => {
    const stream = openStream({ shardCount: 2 });
    expect(stream.mappingPosition(SHARD_1)).toBeNull();
    stream.saveMappingPosition(SHARD_1, position('1'));
    stream.saveMappingPosition(SHARD_1, position('2'));
    expect(stream.mappingPosition(SHARD_1)).toEqual(position('2'));
    expect(stream.mappingPosition(SHARD_0)).toBeNull();
  });

  it('survive a clean end', () => {
    const path = streamPath();
    const stream = openStream({ path });
    stream.saveMappingPosition(SHARD_0, position('7'));
    stream.close();
    expect(openStream({ path }).mappingPosition(SHARD_0)).toEqual(position('7'));
  });

  it('are written with the next append, and after a second without one', () => {
    const path = streamPath();
    const clock = new TestClock();
    const stream = openStream({ path, clock });
    const onDisk = () => {
      const other = openStream({ path });
      const saved = other.mappingPosition(SHARD_0);
      other.close();
      return saved;
    };
    stream.saveMappingPosition(SHARD_0, position('1'));
    expect(onDisk()).toBeNull();
    stream.append([entry('a')]);
    expect(onDisk()).toEqual(position('1'));
    stream.saveMappingPosition(SHARD_0, position('2'));
    expect(onDisk()).toEqual(position('1'));
    clock.ms += 1_000;
    stream.saveMappingPosition(SHARD_0, position('3'));
    expect(onDisk()).toEqual(position('3'));
  });
});
