import {
  DescribeStreamCommand,
  DescribeStreamSummaryCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type KinesisClient,
  ListShardsCommand,
  ListStreamsCommand,
  PutRecordCommand,
  PutRecordsCommand,
  SplitShardCommand,
} from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type KinesisServer, startKinesis } from './kinesis-api-fixture.ts';

const StreamName = 'flights';
const bytes = (text: string) => Buffer.from(text);

/** Every record of the stream, by shard. */
async function readAll(client: KinesisClient) {
  const { Shards = [] } = await client.send(new ListShardsCommand({ StreamName }));
  const all = new Map<string, { key: string; data: string; sequenceNumber: string }[]>();
  for (const { ShardId } of Shards) {
    const records: { key: string; data: string; sequenceNumber: string }[] = [];
    let { ShardIterator } = await client.send(
      new GetShardIteratorCommand({ StreamName, ShardId, ShardIteratorType: 'TRIM_HORIZON' }),
    );
    for (;;) {
      const page = await client.send(new GetRecordsCommand({ ShardIterator, Limit: 700 }));
      for (const { PartitionKey, Data, SequenceNumber } of page.Records ?? []) {
        const data = Buffer.from(Data as Uint8Array).toString();
        records.push({
          key: PartitionKey as string,
          data,
          sequenceNumber: SequenceNumber as string,
        });
      }
      if (page.MillisBehindLatest === 0 && page.Records?.length === 0) break;
      ShardIterator = page.NextShardIterator;
    }
    all.set(ShardId as string, records);
  }
  return all;
}

const HANDLERS = [
  ['its default handler (HTTP/2)', {}],
  ['an HTTP/1.1 handler', { requestHandler: new NodeHttpHandler() }],
] as const;

describe.each(HANDLERS)('the SDK for JavaScript with %s', (_, config) => {
  let server: KinesisServer;
  let client: KinesisClient;

  beforeAll(async () => {
    server = await startKinesis({ shardCount: 4 });
    client = server.client(config);
  });
  afterAll(() => server.close());

  it('describes the stream', async () => {
    const { StreamNames } = await client.send(new ListStreamsCommand({}));
    expect(StreamNames).toEqual(['flights']);
    const { StreamDescription } = await client.send(new DescribeStreamCommand({ StreamName }));
    expect(StreamDescription).toMatchObject({
      StreamStatus: 'ACTIVE',
      StreamARN: 'arn:aws:kinesis:eu-central-1:000000000000:stream/flights',
      HasMoreShards: false,
      RetentionPeriodHours: 24,
    });
    expect(StreamDescription?.StreamCreationTimestamp?.getTime()).toBe(server.stream.createdMs);
    expect(StreamDescription?.Shards).toHaveLength(4);
    const { StreamDescriptionSummary } = await client.send(
      new DescribeStreamSummaryCommand({ StreamARN: StreamDescription?.StreamARN }),
    );
    expect(StreamDescriptionSummary).toMatchObject({ OpenShardCount: 4, ConsumerCount: 0 });
  });

  it('puts a record and reads it back', async () => {
    const put = await client.send(
      new PutRecordCommand({ StreamName, PartitionKey: 'solo', Data: bytes('{"n":1}') }),
    );
    const { ShardIterator } = await client.send(
      new GetShardIteratorCommand({
        StreamName,
        ShardId: put.ShardId,
        ShardIteratorType: 'AT_SEQUENCE_NUMBER',
        StartingSequenceNumber: put.SequenceNumber,
      }),
    );
    const { Records, MillisBehindLatest } = await client.send(
      new GetRecordsCommand({ ShardIterator }),
    );
    expect(Records).toHaveLength(1);
    expect(Records?.[0]).toMatchObject({
      PartitionKey: 'solo',
      SequenceNumber: put.SequenceNumber,
    });
    expect(Buffer.from(Records?.[0]?.Data as Uint8Array).toString()).toBe('{"n":1}');
    const arrivedMs = Records?.[0]?.ApproximateArrivalTimestamp?.getTime() as number;
    expect(Math.abs(Date.now() - arrivedMs)).toBeLessThan(60_000);
    expect(MillisBehindLatest).toBe(0);
  });

  it('puts batches at once and reads each record exactly once, keys in order', async () => {
    const before = await readAll(client);
    const beforeCount = [...before.values()].flat().length;
    const batch = (id: number) =>
      Array.from({ length: 250 }, (_entry, index) => ({
        PartitionKey: `key-${index % 50}`,
        Data: bytes(`${id}/${index}`),
      }));
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_answer, id) =>
        client.send(new PutRecordsCommand({ StreamName, Records: batch(id) })),
      ),
    );
    const put = answers.flatMap(({ Records = [], FailedRecordCount }) => {
      expect(FailedRecordCount).toBe(0);
      return Records.map(({ ShardId, SequenceNumber }) => `${ShardId} ${SequenceNumber}`);
    });
    expect(new Set(put).size).toBe(3_000);

    const all = await readAll(client);
    const read = [...all].flatMap(([shardId, records]) =>
      records.map((record) => ({ ...record, shardId })),
    );
    expect(read).toHaveLength(beforeCount + 3_000);
    const places = new Set(
      read.map(({ shardId, sequenceNumber }) => `${shardId} ${sequenceNumber}`),
    );
    expect(put.every((place) => places.has(place))).toBe(true);
    const shardsOfKey = new Map<string, Set<string>>();
    for (const { key, shardId } of read) {
      shardsOfKey.set(key, (shardsOfKey.get(key) ?? new Set()).add(shardId));
    }
    expect([...shardsOfKey.values()].every((shards) => shards.size === 1)).toBe(true);
    for (const records of all.values()) {
      const numbers = records.map(({ sequenceNumber }) => BigInt(sequenceNumber));
      expect(numbers.every((number, at) => at === 0 || number > (numbers[at - 1] as bigint))).toBe(
        true,
      );
      // Within a request, a key's records keep their order.
      const ofKey = records.filter(({ key, data }) => key === 'key-7' && data.startsWith('3/'));
      const order = ofKey.map(({ data }) => Number(data.slice(2)));
      expect(order).toEqual([...order].sort((a, b) => a - b));
    }
  });

  it('carries requests of the largest size', async () => {
    const Data = Buffer.alloc(1024 * 1024 - 1, 'z');
    const Records = Array.from({ length: 10 }, () => ({ PartitionKey: 'k', Data }));
    const { FailedRecordCount } = await client.send(new PutRecordsCommand({ StreamName, Records }));
    expect(FailedRecordCount).toBe(0);
  });

  it('gets the exceptions of Kinesis', async () => {
    const put = (input: object) =>
      client.send(
        new PutRecordCommand({ StreamName, PartitionKey: 'k', Data: bytes('x'), ...input }),
      );
    await expect(put({ StreamName: 'other' })).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
      message: expect.stringContaining('Stream other under account'),
      $metadata: { httpStatusCode: 400, requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    });
    await expect(put({ PartitionKey: '' })).rejects.toMatchObject({ name: 'ValidationException' });
    await expect(put({ ExplicitHashKey: String(2n ** 128n) })).rejects.toMatchObject({
      name: 'InvalidArgumentException',
    });
    const iterator = new GetRecordsCommand({ ShardIterator: 'AAAA' });
    await expect(client.send(iterator)).rejects.toMatchObject({ name: 'InvalidArgumentException' });
    const split = new SplitShardCommand({
      StreamName,
      ShardToSplit: 'shardId-000000000000',
      NewStartingHashKey: '1',
    });
    await expect(client.send(split)).rejects.toMatchObject({ name: 'UnknownOperationException' });
    expect(server.errors).toEqual([]);
  });

  it('by a host that is not allowed is told so', async () => {
    // The SDK takes the host from the endpoint; the header is what the guard sees.
    const foreign = server.client(config);
    foreign.middlewareStack.add(
      (next) => (args) => {
        const request = args.request as { headers: Record<string, string> };
        request.headers['host'] = 'evil.example.com';
        return next(args);
      },
      { step: 'finalizeRequest', priority: 'low' },
    );
    await expect(foreign.send(new ListStreamsCommand({}))).rejects.toMatchObject({
      // Over HTTP/2 the connection names another host beside it.
      name: expect.stringMatching(/^(AccessDenied|Validation)Exception$/),
      message: expect.stringContaining("'evil.example.com'"),
    });
  });
});

describe('a producer at a full disk', () => {
  it('gets an error that says so after its retries, and is served when there is room', async () => {
    const server = await startKinesis({ maxPages: 60 });
    try {
      const client = server.client({ maxAttempts: 2 });
      const put = () =>
        client.send(
          new PutRecordCommand({ StreamName, PartitionKey: 'k', Data: Buffer.alloc(300_000) }),
        );
      await put();
      await expect(put()).rejects.toMatchObject({
        name: 'ServiceUnavailableException',
        message: expect.stringContaining('disk is full'),
        $metadata: { httpStatusCode: 503, attempts: 2 },
      });
      const small = new PutRecordCommand({ StreamName, PartitionKey: 'k', Data: bytes('x') });
      expect((await client.send(small)).SequenceNumber).toMatch(/^49/);
    } finally {
      await server.close();
    }
  });
});
