import { describe, expect, it } from 'vitest';
import { NOW_MS, openStream, SHARD_0, SHARD_1 } from '../../adapters-local/stream-fixture.ts';
import { base64, openApi } from './kinesis-fixture.ts';

const MIB = 1024 * 1024;
const StreamName = 'flights';

/** Four records, a second apart. */
async function filled() {
  const api = openApi({ shardCount: 2 });
  const sequenceNumbers: string[] = [];
  for (const key of ['a', 'b', 'c', 'd']) {
    const input = { StreamName, PartitionKey: key, Data: base64(key), ExplicitHashKey: '0' };
    sequenceNumbers.push((await api.call('PutRecord', input)).body.SequenceNumber);
    api.clock.ms += 1_000;
  }
  const iterator = (ShardIteratorType: string, more: object = {}) =>
    api.call('GetShardIterator', { StreamName, ShardId: SHARD_0, ShardIteratorType, ...more });
  const read = async (ShardIterator: string, more: object = {}) =>
    (await api.call('GetRecords', { ShardIterator, ...more })).body;
  const keysFrom = async (type: string, more: object = {}) => {
    const { body } = await iterator(type, more);
    const { Records } = await read(body.ShardIterator);
    return Records.map((record: { PartitionKey: string }) => record.PartitionKey).join('');
  };
  return { ...api, sequenceNumbers, iterator, read, keysFrom };
}

describe('GetShardIterator', () => {
  it('begins at the oldest record, after the newest, at or after one, or at a time', async () => {
    const { keysFrom, sequenceNumbers } = await filled();
    const second = { StartingSequenceNumber: sequenceNumbers[1] };
    const seconds = NOW_MS / 1000;
    expect(await keysFrom('TRIM_HORIZON')).toBe('abcd');
    expect(await keysFrom('LATEST')).toBe('');
    expect(await keysFrom('AT_SEQUENCE_NUMBER', second)).toBe('bcd');
    expect(await keysFrom('AFTER_SEQUENCE_NUMBER', second)).toBe('cd');
    expect(await keysFrom('AT_TIMESTAMP', { Timestamp: seconds })).toBe('abcd');
    expect(await keysFrom('AT_TIMESTAMP', { Timestamp: seconds + 1.001 })).toBe('cd');
  });

  it('fixes LATEST when it is asked for, not when it is read', async () => {
    const { call, iterator, read } = await filled();
    const { body } = await iterator('LATEST');
    await call('PutRecord', { StreamName, PartitionKey: 'e', Data: '', ExplicitHashKey: '0' });
    expect((await read(body.ShardIterator)).Records).toMatchObject([{ PartitionKey: 'e' }]);
  });

  it('begins at the oldest record that is left when the asked one is trimmed', async () => {
    const { stream, sequenceNumbers, keysFrom } = await filled();
    const position = { sequenceNumber: sequenceNumbers[2] as string, subSequence: 0 };
    await stream.trimBefore(SHARD_0, position);
    expect(await keysFrom('TRIM_HORIZON')).toBe('cd');
    const first = { StartingSequenceNumber: sequenceNumbers[0] };
    expect(await keysFrom('AT_SEQUENCE_NUMBER', first)).toBe('cd');
  });

  it('refuses what does not fit the type', async () => {
    const { iterator, sequenceNumbers } = await filled();
    const sequence = { StartingSequenceNumber: sequenceNumbers[0] };
    const refused = async (type: string, more: object = {}) => {
      const { body } = await iterator(type, more);
      return [body.__type, body.message];
    };
    expect(await refused('AT_SEQUENCE_NUMBER')).toEqual([
      'InvalidArgumentException',
      expect.stringContaining(
        'Request specified AT_SEQUENCE_NUMBER and no StartingSequenceNumber.',
      ),
    ]);
    expect(await refused('LATEST', sequence)).toEqual([
      'InvalidArgumentException',
      expect.stringContaining('Request specified LATEST and also a StartingSequenceNumber.'),
    ]);
    expect(await refused('AT_TIMESTAMP')).toEqual([
      'InvalidArgumentException',
      expect.stringContaining('Must specify timestampInMillis'),
    ]);
    const future = NOW_MS / 1000 + 60;
    expect((await refused('AT_TIMESTAMP', { Timestamp: future }))[1]).toContain(
      'cannot be greater',
    );
    expect((await refused('SOMEWHERE'))[0]).toBe('ValidationException');
    expect((await refused('AT_TIMESTAMP', { Timestamp: 'now' }))[0]).toBe('SerializationException');
  });

  it('refuses sequence numbers of another shard, another stream, the future, or of nobody', async () => {
    const { iterator, sequenceNumbers } = await filled();
    const refused = async (StartingSequenceNumber: string, ShardId = SHARD_0) => {
      const { body } = await iterator('AT_SEQUENCE_NUMBER', { StartingSequenceNumber, ShardId });
      return body;
    };
    const first = sequenceNumbers[0] as string;
    expect(await refused(first, SHARD_1)).toEqual({
      __type: 'InvalidArgumentException',
      message: `Invalid StartingSequenceNumber. It encodes ${SHARD_0}, while it was used in a call to a shard with ${SHARD_1}`,
    });
    expect((await refused('12345')).message).toContain('is invalid.');
    expect((await refused('x')).__type).toBe('ValidationException');
    const future = first.replace('0000000000000001', '0000000000000009');
    expect((await refused(future)).message).toContain('no record has it yet');
    const other = openStream({ clock: { nowMs: () => NOW_MS - 7 } });
    const [foreign] = other.append([
      { partitionKey: 'k', explicitHashKey: null, data: Buffer.of() },
    ]);
    expect((await refused(foreign?.sequenceNumber as string)).message).toContain(
      'did not come from this stream',
    );
  });

  it('knows no other shard', async () => {
    const { iterator } = await filled();
    const { body } = await iterator('LATEST', { ShardId: 'shardId-000000000002' });
    expect(body).toEqual({
      __type: 'ResourceNotFoundException',
      message:
        'Shard shardId-000000000002 in stream flights under account 000000000000 does not exist',
    });
  });
});

describe('GetRecords', () => {
  it('brings records as Kinesis shows them, and says how far behind the reader is', async () => {
    const { iterator, read, sequenceNumbers } = await filled();
    const { body } = await iterator('TRIM_HORIZON');
    const first = await read(body.ShardIterator, { Limit: 1 });
    expect(first.Records).toEqual([
      {
        SequenceNumber: sequenceNumbers[0],
        ApproximateArrivalTimestamp: NOW_MS / 1000,
        Data: base64('a'),
        PartitionKey: 'a',
      },
    ]);
    expect(first.MillisBehindLatest).toBe(4_000);
    const rest = await read(first.NextShardIterator);
    expect(rest.Records).toHaveLength(3);
    expect(rest.MillisBehindLatest).toBe(0);
    const none = await read(rest.NextShardIterator);
    expect(none).toMatchObject({ Records: [], MillisBehindLatest: 0 });
    expect(none.NextShardIterator).toEqual(expect.any(String));
  });

  it('brings each record once by following iterators, whatever comes in between', async () => {
    const { call, iterator, read } = await filled();
    let { ShardIterator } = (await iterator('TRIM_HORIZON')).body;
    let keys = '';
    for (const key of ['e', 'f', 'g', 'h', 'i', 'j']) {
      await call('PutRecord', { StreamName, PartitionKey: key, Data: '', ExplicitHashKey: '0' });
      const page = await read(ShardIterator, { Limit: 2 });
      keys += page.Records.map((record: { PartitionKey: string }) => record.PartitionKey).join('');
      ShardIterator = page.NextShardIterator;
    }
    expect(keys).toBe('abcdefghij');
  });

  it('ends a page at 10 MiB', async () => {
    const { call, read } = openApi12();
    const data = base64(Buffer.alloc(MIB - 1));
    for (let count = 0; count < 12; count++) {
      await call('PutRecord', { StreamName, PartitionKey: 'k', Data: data });
    }
    const first = await read('TRIM_HORIZON');
    expect(first.Records).toHaveLength(10);
    expect(
      (await call('GetRecords', { ShardIterator: first.NextShardIterator })).body.Records,
    ).toHaveLength(2);
  });

  it('refuses iterators after five minutes, not at five minutes', async () => {
    const { clock, iterator, read } = await filled();
    const { ShardIterator } = (await iterator('TRIM_HORIZON')).body;
    clock.ms += 300_000;
    expect((await read(ShardIterator)).Records).toHaveLength(4);
    clock.ms += 1;
    expect(await read(ShardIterator)).toEqual({
      __type: 'ExpiredIteratorException',
      message:
        'Iterator expired. The iterator was created at time Fri Jan 02 03:04:09 UTC 2026 while right now it is Fri Jan 02 03:09:09 UTC 2026 which is further in the future than the tolerated delay of 300000 milliseconds.',
    });
  });

  it('refuses iterators that nobody gave out, that were changed, or are of another stream', async () => {
    const { call, iterator, read } = await filled();
    const { ShardIterator } = (await iterator('TRIM_HORIZON')).body;
    const bytes = Buffer.from(ShardIterator, 'base64');
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] as number) ^ 1;
      expect((await read(base64(changed))).message).toBe('Invalid ShardIterator.');
    }
    expect((await read('nonsense')).__type).toBe('InvalidArgumentException');
    expect((await read('')).__type).toBe('ValidationException');
    expect((await read('x'.repeat(513))).__type).toBe('ValidationException');
    expect((await call('GetRecords', {})).body.__type).toBe('ValidationException');

    const later = openApi({ clock: { nowMs: () => NOW_MS + 1 } });
    const { body } = await later.call('GetRecords', { ShardIterator });
    expect(body.__type).toBe('ResourceNotFoundException');
  });

  it('refuses limits beyond 1 to 10,000, and the ARN of another stream', async () => {
    const { iterator, read } = await filled();
    const { ShardIterator } = (await iterator('TRIM_HORIZON')).body;
    expect((await read(ShardIterator, { Limit: 0 })).__type).toBe('ValidationException');
    expect((await read(ShardIterator, { Limit: 10_001 })).__type).toBe('ValidationException');
    const arn = 'arn:aws:kinesis:eu-central-1:000000000000:stream/other';
    expect((await read(ShardIterator, { StreamARN: arn })).__type).toBe(
      'ResourceNotFoundException',
    );
  });
});

function openApi12() {
  const api = openApi();
  const read = async (ShardIteratorType: string) => {
    const input = { StreamName, ShardId: SHARD_0, ShardIteratorType };
    const { body } = await api.call('GetShardIterator', input);
    return (await api.call('GetRecords', body)).body;
  };
  return { ...api, read };
}
