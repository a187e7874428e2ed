import { describe, expect, it } from 'vitest';
import { TransientFault } from '../../../../core/faults.ts';
import { SHARD_0, SHARD_1 } from '../../adapters-local/stream-fixture.ts';
import { base64, openApi } from './kinesis-fixture.ts';

const MIB = 1024 * 1024;
const ALL = { countMax: 10_000, bytesMax: 100 * MIB };
const StreamName = 'flights';

const entry = (PartitionKey: unknown, Data: unknown = base64('x'), more = {}) => ({
  PartitionKey,
  Data,
  ...more,
});

describe('PutRecords', () => {
  it('answers each record with its shard and sequence number, none failed', async () => {
    const { call, stream } = openApi({ shardCount: 2 });
    const Records = ['a', 'b', 'c'].map((key) => entry(key, base64(`data of ${key}`)));
    const { status, body, headers } = await call('PutRecords', { StreamName, Records });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/x-amz-json-1.1');
    expect(headers['x-amzn-requestid']).toMatch(/^[0-9a-f-]{36}$/);
    // MD5 of a is 0c…, of b 92…, of c 4a….
    expect(body).toEqual({
      FailedRecordCount: 0,
      Records: [SHARD_0, SHARD_1, SHARD_0].map((ShardId) => ({
        ShardId,
        SequenceNumber: expect.stringMatching(/^49[0-9]{54}$/),
      })),
    });
    const { records } = stream.readFrom(SHARD_0, 1, ALL);
    expect(records.map(({ data }) => `${Buffer.from(data)}`)).toEqual(['data of a', 'data of c']);
    expect(records[1]?.sequenceNumber).toBe(body.Records[2].SequenceNumber);
  });

  it('refuses a partition key that is no Unicode, with all that came with it', async () => {
    const { call, stream } = openApi();
    const Records = [entry('good'), entry('\ud800')];
    const { status, body } = await call('PutRecords', { StreamName, Records });
    expect([status, body.__type]).toEqual([400, 'SerializationException']);
    expect(stream.tip(SHARD_0).count).toBe(0);
  });

  it('takes 500 records and refuses 501 and none', async () => {
    const { call, stream } = openApi();
    const records = (count: number) => Array.from({ length: count }, (_, at) => entry(`k${at}`));
    const of = (count: number) => call('PutRecords', { StreamName, Records: records(count) });
    expect((await of(500)).body.Records).toHaveLength(500);
    expect((await of(501)).body).toEqual({
      __type: 'ValidationException',
      message:
        "1 validation error detected: Value at 'records' failed to satisfy constraint: Member must have length less than or equal to 500",
    });
    expect((await of(0)).body.message).toContain(
      "Value '[]' at 'records' failed to satisfy constraint: Member must have length greater than or equal to 1",
    );
    expect(stream.tip(SHARD_0).count).toBe(500);
  });

  it('takes a request of exactly 10 MiB of data and keys and refuses one byte more', async () => {
    const { call } = openApi();
    const Records = Array.from({ length: 10 }, () => entry('é', base64(Buffer.alloc(MIB - 2))));
    expect((await call('PutRecords', { StreamName, Records })).status).toBe(200);
    const more = [...Records, entry('k', '')];
    const { body } = await call('PutRecords', { StreamName, Records: more });
    expect(body.__type).toBe('InvalidArgumentException');
    expect(body.message).toContain('Records size exceeds 10 MiB limit: 10485761 bytes');
  });

  it('refuses a request whole if one of its records is wrong, and says which', async () => {
    const { call, stream } = openApi();
    const put = async (wrong: unknown) =>
      (await call('PutRecords', { StreamName, Records: [entry('good'), wrong] })).body;
    expect(await put(entry('k', base64(Buffer.alloc(MIB + 1))))).toEqual({
      __type: 'ValidationException',
      message:
        "1 validation error detected: Value at 'records.2.member.data' failed to satisfy constraint: Member must have length less than or equal to 1048576",
    });
    expect((await put(entry(''))).message).toContain(
      "Value '' at 'records.2.member.partitionKey' failed to satisfy constraint: Member must have length greater than or equal to 1",
    );
    expect((await put(entry('k'.repeat(257)))).message).toContain(
      "'records.2.member.partitionKey'",
    );
    expect((await put({ PartitionKey: 'k' })).message).toContain(
      "Value null at 'records.2.member.data' failed to satisfy constraint: Member must not be null",
    );
    expect(await put(entry(7))).toEqual({
      __type: 'SerializationException',
      message: 'records.2.member.partitionKey: NUMBER_VALUE cannot be converted to String',
    });
    expect((await put('text')).__type).toBe('SerializationException');
    expect((await put(null)).__type).toBe('SerializationException');
    expect(stream.tip(SHARD_0).count).toBe(0);
  });

  it('reports two wrong members at once', async () => {
    const { call } = openApi();
    const { body } = await call('PutRecords', { StreamName, Records: [{}] });
    expect(body.message).toMatch(
      /^2 validation errors detected: Value null at 'records.1.member.data'.*; Value null at/,
    );
  });

  it('takes null for an absent explicit hash key, and members that it does not know', async () => {
    const { call } = openApi();
    const Records = [entry('k', base64('x'), { ExplicitHashKey: null, Unknown: 1 })];
    expect((await call('PutRecords', { StreamName, Records })).status).toBe(200);
  });

  it('routes by explicit hash key and refuses one beyond 2^128 - 1', async () => {
    const { call } = openApi({ shardCount: 2 });
    const put = (ExplicitHashKey: string) =>
      call('PutRecords', { StreamName, Records: [entry('k', base64('x'), { ExplicitHashKey })] });
    expect((await put('0')).body.Records[0].ShardId).toBe(SHARD_0);
    expect((await put(String(2n ** 128n - 1n))).body.Records[0].ShardId).toBe(SHARD_1);
    expect((await put(String(2n ** 128n))).body).toEqual({
      __type: 'InvalidArgumentException',
      message: `Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. Specified value was ${2n ** 128n}`,
    });
    expect((await put('01')).body.__type).toBe('ValidationException');
  });

  it.each(['a', 'YQ=', 'YQ==YQ==', 'Y Q=', 'Y-_=', 'YQ*=', '====', 'é===', 'YWJj\n'])(
    'refuses %j, which is no base64',
    async (Data) => {
      const { call, stream } = openApi();
      const { body } = await call('PutRecords', { StreamName, Records: [entry('k', Data)] });
      expect(body.__type).toBe('SerializationException');
      expect(stream.tip(SHARD_0).count).toBe(0);
    },
  );

  it('decodes every length of data', async () => {
    const { call, stream } = openApi();
    const lengths = [0, 1, 2, 3, 4, 5, 31, 32, 33];
    const all = lengths.map((length) => Buffer.alloc(length, 0xfb));
    await call('PutRecords', { StreamName, Records: all.map((data) => entry('k', base64(data))) });
    const { records } = stream.readFrom(SHARD_0, 1, ALL);
    expect(records.map(({ data }) => base64(data))).toEqual(all.map(base64));
  });
});

describe('PutRecord', () => {
  it('answers shard and sequence number', async () => {
    const { call, stream } = openApi();
    const { body } = await call('PutRecord', { StreamName, ...entry('k') });
    expect(body).toEqual({
      ShardId: SHARD_0,
      SequenceNumber: stream.tip(SHARD_0).sequenceNumber,
    });
  });

  it('limits data and partition key to 1 MiB together', async () => {
    const { call } = openApi();
    const put = (bytes: number, key: string) =>
      call('PutRecord', { StreamName, ...entry(key, base64(Buffer.alloc(bytes))) });
    expect((await put(MIB - 2, 'é')).status).toBe(200);
    expect((await put(MIB - 1, 'é')).body).toEqual({
      __type: 'InvalidArgumentException',
      message:
        'Record size of 1048577 bytes, data and partition key together, exceeds the limit of 1048576 bytes.',
    });
    expect((await put(MIB + 1, 'k')).body.__type).toBe('ValidationException');
  });

  it('takes a sequence number for ordering if it is one', async () => {
    const { call } = openApi();
    const put = (SequenceNumberForOrdering: string) =>
      call('PutRecord', { StreamName, ...entry('k'), SequenceNumberForOrdering });
    const { body: first } = await call('PutRecord', { StreamName, ...entry('k') });
    const { body: second } = await put(first.SequenceNumber);
    expect(BigInt(second.SequenceNumber) > BigInt(first.SequenceNumber)).toBe(true);
    expect((await put('123')).body).toMatchObject({
      __type: 'InvalidArgumentException',
      message: expect.stringContaining('ExclusiveMinimumSequenceNumber 123'),
    });
    expect((await put('x')).body.__type).toBe('ValidationException');
  });

  it('fails with a transient fault when the disk is full', async () => {
    const { call, stream } = openApi({ maxPages: 40 });
    const put = () =>
      call('PutRecord', { StreamName, ...entry('k', base64(Buffer.alloc(200_000))) });
    await put();
    await expect(put()).rejects.toThrow(TransientFault);
    expect(stream.tip(SHARD_0).count).toBe(1);
  });
});
