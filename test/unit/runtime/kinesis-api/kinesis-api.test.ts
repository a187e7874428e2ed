import { describe, expect, it } from 'vitest';
import { NOW_MS, SHARD_0 } from '../../adapters-local/stream-fixture.ts';
import { base64, openApi } from './kinesis-fixture.ts';

const JSON_TYPE = 'application/x-amz-json-1.1';
const ARN = 'arn:aws:kinesis:eu-central-1:000000000000:stream/flights';
const target = (operation: string) => `Kinesis_20131202.${operation}`;

describe('requests to the Kinesis API', () => {
  it.each([
    '',
    'ListStreams',
    'Kinesis_20131202',
    'Kinesis_20131202.',
    'Kinesis_20131202.Nothing',
    'DynamoDB_20120810.ListTables',
  ])('with the target %j are of an unknown operation', async (name) => {
    const { send } = openApi();
    const reply = await send({ 'content-type': JSON_TYPE, 'x-amz-target': name }, '{}');
    expect(reply.status).toBe(400);
    expect(reply.body.__type).toBe('UnknownOperationException');
    expect(reply.body.message).toContain('PutRecords');
    expect(reply.headers['x-amzn-errortype']).toBe('UnknownOperationException');
    expect(reply.headers['x-amzn-requestid']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('of another content type are refused, with a hint for CBOR', async () => {
    const { send } = openApi();
    const headers = { 'x-amz-target': target('ListStreams') };
    const cbor = await send({ ...headers, 'content-type': 'application/x-amz-cbor-1.1' }, '');
    expect(cbor.status).toBe(415);
    expect(cbor.body.message).toContain('AWS_CBOR_DISABLE');
    expect((await send(headers, '{}')).status).toBe(415);
    const withCharset = { ...headers, 'content-type': `${JSON_TYPE}; charset=utf-8` };
    expect((await send(withCharset, '{}')).status).toBe(200);
  });

  it.each(['', '{', 'null', '[]', '"text"', '1'])(
    'with the body %j cannot be deserialized',
    async (body) => {
      const { send } = openApi();
      const headers = { 'content-type': JSON_TYPE, 'x-amz-target': target('ListStreams') };
      expect((await send(headers, body)).body.__type).toBe('SerializationException');
    },
  );

  it('name the stream by name, by ARN or by both', async () => {
    const { call } = openApi();
    const summary = async (address: object) => (await call('DescribeStreamSummary', address)).body;
    for (const address of [
      { StreamName: 'flights' },
      { StreamARN: ARN },
      { StreamARN: ARN.replace('eu-central-1', 'us-east-1') },
      { StreamName: 'flights', StreamARN: ARN },
    ]) {
      expect((await summary(address)).StreamDescriptionSummary.StreamARN).toBe(ARN);
    }
    expect(await summary({})).toMatchObject({ __type: 'InvalidArgumentException' });
    expect(await summary({ StreamName: 'other' })).toEqual({
      __type: 'ResourceNotFoundException',
      message: 'Stream other under account 000000000000 not found. The stream here is flights.',
    });
    expect(await summary({ StreamARN: `${ARN}2` })).toMatchObject({
      __type: 'ResourceNotFoundException',
    });
    expect(await summary({ StreamName: 'flights', StreamARN: `${ARN}2` })).toMatchObject({
      __type: 'InvalidArgumentException',
    });
    expect(await summary({ StreamARN: 'flights' })).toMatchObject({
      __type: 'ValidationException',
    });
    expect(await summary({ StreamName: 'a b' })).toEqual({
      __type: 'ValidationException',
      message:
        "1 validation error detected: Value 'a b' at 'streamName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
    });
    expect(await summary({ StreamName: 5 })).toMatchObject({ __type: 'SerializationException' });
  });

  it('that put are always answered, as they may not be sent again; what was read can be asked for again', async () => {
    const { call } = openApi();
    const put = await call('PutRecord', { StreamName: 'flights', PartitionKey: 'a', Data: '' });
    const entry = { PartitionKey: 'a', Data: base64('1') };
    const puts = await call('PutRecords', { StreamName: 'flights', Records: [entry] });
    const listed = await call('ListStreams', {});

    expect([put, puts, listed]).toMatchObject([
      { status: 200, tellsEffect: true },
      { status: 200, tellsEffect: true },
      { status: 200, tellsEffect: false },
    ]);
  });

  it('that the port refuses are answered in the words of Kinesis', async () => {
    const { route } = openApi();
    const worded = (status: number) => {
      const answer = route.refuse?.({ status, code: 'any', detail: 'because' });
      return [answer?.status, JSON.parse(answer?.body as string)];
    };
    const message = 'because';
    expect(worded(403)).toEqual([403, { __type: 'AccessDeniedException', message }]);
    expect(worded(413)).toEqual([413, { __type: 'RequestEntityTooLargeException', message }]);
    expect(worded(503)).toEqual([503, { __type: 'ServiceUnavailableException', message }]);
    expect(worded(500)).toEqual([500, { __type: 'InternalFailureException', message }]);
  });
});

describe('DescribeStream', () => {
  it('shows the stream and its shards, page by page', async () => {
    const { call, stream } = openApi({ shardCount: 3 });
    const { body } = await call('DescribeStream', { StreamName: 'flights', Limit: 2 });
    expect(body.StreamDescription).toEqual({
      StreamName: 'flights',
      StreamARN: ARN,
      StreamStatus: 'ACTIVE',
      StreamModeDetails: { StreamMode: 'PROVISIONED' },
      RetentionPeriodHours: 24,
      StreamCreationTimestamp: NOW_MS / 1000,
      EnhancedMonitoring: [{ ShardLevelMetrics: [] }],
      EncryptionType: 'NONE',
      HasMoreShards: true,
      Shards: [
        {
          ShardId: 'shardId-000000000000',
          HashKeyRange: {
            StartingHashKey: '0',
            EndingHashKey: '113427455640312821154458202477256070484',
          },
          SequenceNumberRange: {
            StartingSequenceNumber: stream.shards()[0]?.startingSequenceNumber,
          },
        },
        expect.objectContaining({ ShardId: 'shardId-000000000001' }),
      ],
    });
    const { body: rest } = await call('DescribeStream', {
      StreamName: 'flights',
      ExclusiveStartShardId: 'shardId-000000000001',
    });
    expect(rest.StreamDescription.HasMoreShards).toBe(false);
    expect(rest.StreamDescription.Shards).toHaveLength(1);
  });

  it.each([0, 10_001, -1])('refuses the limit %s', async (Limit) => {
    const { call } = openApi();
    const { body } = await call('DescribeStream', { StreamName: 'flights', Limit });
    expect(body.message).toContain(`Value '${Limit}' at 'limit' failed to satisfy constraint`);
  });
});

describe('ListStreams', () => {
  it('lists the one stream, unless it lies before the start', async () => {
    const { call } = openApi();
    const { body } = await call('ListStreams', {});
    expect(body).toMatchObject({
      StreamNames: ['flights'],
      HasMoreStreams: false,
      StreamSummaries: [{ StreamName: 'flights', StreamARN: ARN, StreamStatus: 'ACTIVE' }],
    });
    const { body: after } = await call('ListStreams', { ExclusiveStartStreamName: 'flights' });
    expect(after).toEqual({ StreamNames: [], StreamSummaries: [], HasMoreStreams: false });
  });
});

describe('ListShards', () => {
  const ids = (shards: { ShardId: string }[]) =>
    shards.map(({ ShardId }) => Number(ShardId.slice(8)));

  it('lists all shards in pages', async () => {
    const { call } = openApi({ shardCount: 5 });
    const { body: first } = await call('ListShards', { StreamName: 'flights', MaxResults: 2 });
    expect(ids(first.Shards)).toEqual([0, 1]);
    const { body: second } = await call('ListShards', {
      NextToken: first.NextToken,
      MaxResults: 2,
    });
    expect(ids(second.Shards)).toEqual([2, 3]);
    const { body: last } = await call('ListShards', { NextToken: second.NextToken });
    expect(ids(last.Shards)).toEqual([4]);
    expect(last).not.toHaveProperty('NextToken');
  });

  it('refuses tokens that are old, made up or come with a stream', async () => {
    const { call, clock } = openApi({ shardCount: 2 });
    const { body } = await call('ListShards', { StreamName: 'flights', MaxResults: 1 });
    const { NextToken } = body;
    const type = async (input: object) => (await call('ListShards', input)).body.__type;
    expect(await type({ NextToken, StreamName: 'flights' })).toBe('InvalidArgumentException');
    expect(await type({ NextToken: 'abcd' })).toBe('InvalidArgumentException');
    expect(await type({})).toBe('InvalidArgumentException');
    clock.ms += 300_001;
    expect(await type({ NextToken })).toBe('ExpiredNextTokenException');
  });

  it('filters', async () => {
    const { call } = openApi({ shardCount: 3 });
    const list = async (ShardFilter: object) =>
      (await call('ListShards', { StreamName: 'flights', ShardFilter })).body;
    const seconds = NOW_MS / 1000;
    expect(ids((await list({ Type: 'AT_LATEST' })).Shards)).toEqual([0, 1, 2]);
    expect(ids((await list({ Type: 'AFTER_SHARD_ID', ShardId: SHARD_0 })).Shards)).toEqual([1, 2]);
    expect(ids((await list({ Type: 'AT_TIMESTAMP', Timestamp: seconds })).Shards)).toHaveLength(3);
    expect(ids((await list({ Type: 'AT_TIMESTAMP', Timestamp: seconds - 1 })).Shards)).toEqual([]);
    expect((await list({ Type: 'AFTER_SHARD_ID' })).__type).toBe('InvalidArgumentException');
    expect((await list({ Type: 'AT_TIMESTAMP' })).__type).toBe('InvalidArgumentException');
    expect((await list({ Type: 'ODD' })).message).toContain("Value 'ODD' at 'shardFilter.type'");
  });
});

describe('partition keys', () => {
  it('come back as they went in, whatever their characters', async () => {
    const { call } = openApi();
    const keys = ['__proto__', '"\\', '\u{1f6eb}', 'tab\t', '\u2028', 'a\u0000b'];
    const Records = keys.map((PartitionKey) => ({ PartitionKey, Data: base64('x') }));
    await call('PutRecords', { StreamName: 'flights', Records });
    const { body: iterator } = await call('GetShardIterator', {
      StreamName: 'flights',
      ShardId: SHARD_0,
      ShardIteratorType: 'TRIM_HORIZON',
    });
    const { body } = await call('GetRecords', iterator);
    const back = body.Records.map((record: { PartitionKey: string }) => record.PartitionKey);
    expect(back).toEqual(keys);
  });
});
