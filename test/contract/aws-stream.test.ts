import { randomUUID } from 'node:crypto';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  CreateStreamCommand,
  DeleteStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  MergeShardsCommand,
  PutRecordsCommand,
  SplitShardCommand,
} from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AwsCalls, CLIENT_SETTINGS } from '../../adapters/aws/aws-calls.ts';
import { DynamoTable } from '../../adapters/aws/dynamodb/dynamo-table.ts';
import { DynamoTipMarks } from '../../adapters/aws/dynamodb/dynamo-tip-marks.ts';
import { decimalOfHashKey } from '../../adapters/local/stream/hash-range.ts';
import { STREAM_ID } from '../../adapters/memory/memory-ports.ts';
import { ConfigurationFault, StreamMismatchFault } from '../../core/faults.ts';
import type { StreamRecord } from '../../core/ports.ts';
import { type Position, START } from '../../core/position.ts';
import { EMULATOR_CREDENTIALS } from '../../scripts/aws-emulator.ts';
import { startKinesis } from '../e2e/kinesis-api-fixture.ts';
import { bytesOf, worldOf } from './contract.ts';
import { describeOnEmulator } from './emulator.ts';
import { findKinesisLocal, type KinesisLocal, startKinesisLocal } from './kinesis-local-process.ts';
import { MemoryTipMarks } from './kinesis-memory-tip-marks.ts';
import { tipMarksContract } from './kinesis-tip-marks-contract.ts';
import { connectKinesis, type KinesisPlace, REGION, summaryOf } from './kinesis-world.ts';
import { PIPELINE_TABLE } from './pipeline-table.ts';
import { recordSourceContract, type StreamWorld } from './record-source-contract.ts';
import { type DirectoryWorld, shardDirectoryContract } from './shard-directory-contract.ts';

const HOUR_MS = 60 * 60_000;
const RETENTION_HOURS = 24;
const systemClock = { nowMs: () => Date.now() };

const AFTER_TRIMMED =
  'Kinesis does not tell whether the record that follows one that is gone is the next one: it is taken for a gap';
const NO_TRIM = 'the emulator trims nothing that is younger than a day';
const TESTS_AFTER_TRIMMED = [
  'shards have logs of their own',
  'a read directly after the last trimmed record misses nothing',
  'what was appended is there after a restart',
];

const TESTS_THAT_TRIM = [
  ...TESTS_AFTER_TRIMMED,
  'a read before what was trimmed says so and names the oldest that is left',
  'a shard that was trimmed to its end has no oldest, and goes on',
];

tipMarksContract({
  name: 'memory',
  make: async () => {
    const marks = new MemoryTipMarks();
    const connectOther = async () => marks.ofStream('9'.repeat(16));
    return { ...worldOf(marks), connectOther };
  },
});

recordSourceContract({
  name: 'Kinesis, on the endpoint of tidemark dev',
  make: devEndpoint,
  skip: TESTS_AFTER_TRIMMED.map((test) => ({ test, reason: AFTER_TRIMMED })),
});

const NO_SPLIT = 'the endpoint of tidemark dev splits no shards';
const NO_OTHER = 'each server has a stream of its own, made at its own time';

shardDirectoryContract({
  name: 'Kinesis, on the endpoint of tidemark dev',
  make: async () => {
    const server = await startKinesis({ shardCount: 2 });
    const client = server.client();
    const place = placeOf(client, server.stream.name, 1);
    return { ...(await directoryWorld(place)), dispose: () => server.close() };
  },
  skip: [
    {
      test: 'a closed shard stays listed beside its children, which are listed in time',
      reason: NO_SPLIT,
    },
    {
      test: 'a stream has one id, whoever asks, and another stream of its name another',
      reason: NO_OTHER,
    },
  ],
});

const program = findKinesisLocal();
const missing = program === null ? ' (skipped: its package is not installed: run npm ci)' : '';

it.runIf(process.env['TIDEMARK_REQUIRE_EMULATORS'] === '1')('kinesis-local is installed', () => {
  expect(missing).toBe('');
});

describe.skipIf(program === null)(`kinesis-local${missing}`, () => {
  let emulator: KinesisLocal | null = null;
  let client: KinesisClient;

  beforeAll(async () => {
    emulator = await startKinesisLocal(program ?? '');
    client = new KinesisClient({
      endpoint: emulator.url,
      region: REGION,
      credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
      // It speaks HTTP/1 only.
      requestHandler: new NodeHttpHandler(),
    });
  });
  afterAll(async () => {
    client.destroy();
    await emulator?.stop();
  });

  const makeStream = () => createStream(client, 1);

  recordSourceContract({
    name: 'Kinesis, on kinesis-local',
    make: async () => streamWorld(await makeStream()),
    skip: TESTS_THAT_TRIM.map((test) => ({ test, reason: NO_TRIM })),
  });

  shardDirectoryContract({
    name: 'Kinesis, on kinesis-local',
    make: async () => {
      const { streamName } = await makeStream();
      return directoryWorld(placeOf(client, streamName, 1));
    },
  });

  it('a split leaves the parent with its records to their end, and children with theirs', async () => {
    const place = await makeStream();
    const { source, shards, directory } = connectKinesis(place);
    const [parent, sibling] = await shards.list();
    if (parent === undefined || sibling === undefined) throw new Error('a stream of two shards');
    const { shardId, range } = parent;
    const before = await put(place, shardId, range.start, [bytesOf('a'), bytesOf('b')]);
    await directory.hashRange(shardId);
    await client.send(
      new SplitShardCommand({
        StreamName: place.streamName,
        ShardToSplit: shardId,
        NewStartingHashKey: '1000',
      }),
    );
    await expect.poll(() => openShards(place)).toHaveLength(3);

    const after = await shards.list();
    const children = after.filter(({ parents }) => parents.includes(shardId));
    expect(after.find((shard) => shard.shardId === shardId)?.isOpen).toBe(false);
    expect(children.map(({ range }) => range)).toEqual([
      { start: '0'.repeat(32), end: '000000000000000000000000000003e7' },
      { start: '000000000000000000000000000003e8', end: range.end },
    ]);
    expect(await source.readAfter(shardId, START, 1)).toMatchObject({ reachedTip: false });
    expect(await source.readAfter(shardId, START, 9)).toEqual({
      outcome: 'records',
      origin: 'stream',
      records: before,
      reachedTip: true,
    });
    const end = positionOf(before.at(-1));
    for (const read of [source, source, connectKinesis(place).source]) {
      expect(await read.readAfter(shardId, end, 9)).toEqual({
        outcome: 'records',
        origin: 'stream',
        records: [],
        reachedTip: true,
      });
    }

    const child = children[0]?.shardId ?? '';
    expect(await directory.hashRange(child)).toEqual(children[0]?.range);
    expect(await source.readAfter(child, START, 9)).toMatchObject({ records: [] });
    const later = await put(place, child, range.start, [bytesOf('c')]);
    expect(await source.readAfter(child, START, 9)).toMatchObject({ records: later });
  });

  it('a merge closes two parents, which its child names', async () => {
    const place = await makeStream();
    const { shards, directory } = connectKinesis(place);
    const parents = (await shards.list()).map(({ shardId }) => shardId);
    await client.send(
      new MergeShardsCommand({
        StreamName: place.streamName,
        ShardToMerge: parents[0],
        AdjacentShardToMerge: parents[1],
      }),
    );
    await expect.poll(() => openShards(place)).toHaveLength(1);
    const [child] = await openShards(place);
    expect([...(child?.parents ?? [])].sort()).toEqual(parents);
    expect(child?.range).toEqual({ start: '0'.repeat(32), end: 'f'.repeat(32) });
    expect(await directory.hashRange(child?.shardId ?? '')).toEqual(child?.range);
  });

  it('a stream, a shard and a number that are not there are told apart', async () => {
    const place = await makeStream();
    const { source, shards } = connectKinesis(place);
    const [one, other] = await shards.list();
    if (one === undefined || other === undefined) throw new Error('a stream of two shards');
    await put(place, one.shardId, one.range.start, [bytesOf('a')]);
    const [theirs] = await put(place, other.shardId, other.range.start, [bytesOf('a')]);
    const foreign = source.readAfter(one.shardId, positionOf(theirs), 9);
    await expect(foreign).rejects.toThrow(StreamMismatchFault);
    await expect(foreign).rejects.toThrow(`of ${one.shardId}, which is no record of`);

    for (const after of [positionOf(theirs), START]) {
      const unknown = await source.readAfter('shardId-000000000099', after, 9);
      expect(unknown).toEqual({ outcome: 'gone' });
    }

    const missing = connectKinesis({ ...place, streamName: 'none-such' });
    const nowhere = missing.source.readAfter(one.shardId, positionOf(theirs), 9);
    await expect(nowhere).rejects.toThrow(ConfigurationFault);
    await expect(missing.shards.list()).rejects.toThrow(/cannot list the shards of .*none-such/);
  });
});

await describeOnEmulator('the stream on ministack', (endpoint) => {
  const settings = {
    ...CLIENT_SETTINGS,
    endpoint,
    region: REGION,
    credentials: EMULATOR_CREDENTIALS,
  };
  const kinesis = new KinesisClient({ ...settings, requestHandler: new NodeHttpHandler() });
  const dynamo = new DynamoDBClient(settings);
  afterAll(() => {
    kinesis.destroy();
    dynamo.destroy();
  });

  // It takes no second page of a list without the stream's name, which Kinesis refuses.
  const SHARDS_PER_PAGE = 100;

  recordSourceContract({
    name: 'Kinesis, with padded sequence numbers',
    make: async () => streamWorld(await createStream(kinesis, SHARDS_PER_PAGE)),
    skip: TESTS_THAT_TRIM.map((test) => ({ test, reason: NO_TRIM })),
  });

  shardDirectoryContract({
    name: 'Kinesis, with padded sequence numbers',
    make: async () => {
      const { streamName } = await createStream(kinesis, SHARDS_PER_PAGE);
      return directoryWorld(placeOf(kinesis, streamName, SHARDS_PER_PAGE));
    },
    skip: [
      {
        test: 'a closed shard stays listed beside its children, which are listed in time',
        reason:
          'ministack forgets a shard that is split; Kinesis keeps it for as long as its records',
      },
    ],
  });

  tipMarksContract({
    name: 'DynamoDB',
    make: async () => {
      const tableName = `marks-${randomUUID()}`;
      await dynamo.send(new CreateTableCommand({ ...PIPELINE_TABLE, TableName: tableName }));
      const calls = new AwsCalls({ timeLeftMs: () => 20_000 });
      const table = new DynamoTable({ client: dynamo, tableName, calls });
      const connect = async (id: string) => new DynamoTipMarks(table, { streamId: async () => id });
      return {
        connect: () => connect(STREAM_ID),
        connectOther: () => connect('9'.repeat(16)),
        disconnect: async () => {},
        dispose: async () => {},
      };
    },
  });
});

async function createStream(client: KinesisClient, shardsPerPage: number): Promise<KinesisPlace> {
  const streamName = `flights-${randomUUID()}`;
  await client.send(new CreateStreamCommand({ StreamName: streamName, ShardCount: 2 }));
  const marks = new MemoryTipMarks();
  const place = { client, streamName, marks, clock: systemClock, shardsPerPage };
  await expect.poll(() => openShards(place).catch(() => [])).toHaveLength(2);
  return place;
}

/** A stream that nobody trims, with slices that begin while it is empty. */
async function streamWorld(place: KinesisPlace): Promise<StreamWorld> {
  const { shards, directory } = connectKinesis(place);
  const [one, other] = await shards.list();
  if (one === undefined || other === undefined) throw new Error('a stream of two shards');
  for (const { shardId } of [one, other]) await directory.hashRange(shardId);
  return {
    shardIds: [one.shardId, other.shardId],
    connect: async () => connectKinesis(place).source,
    append: (shardId, datas) =>
      put(place, shardId, shardId === one.shardId ? one.range.start : other.range.start, datas),
    trim: async () => {
      throw new Error(NO_TRIM);
    },
    disconnect: async () => {},
    dispose: async () => {
      await place.client.send(new DeleteStreamCommand({ StreamName: place.streamName }));
    },
  };
}

/** Its clock can be set ahead. */
function placeOf(client: KinesisClient, streamName: string, shardsPerPage: number) {
  let passedMs = 0;
  return {
    ...{ client, streamName, shardsPerPage, marks: new MemoryTipMarks() },
    clock: { nowMs: () => Date.now() + passedMs },
    pass: (ms: number) => {
      passedMs += ms;
    },
  };
}

async function directoryWorld(place: ReturnType<typeof placeOf>): Promise<DirectoryWorld> {
  const { client, streamName } = place;
  const { shardIds, append, dispose } = await streamWorld(place);
  const connect = async () => {
    const { source, directory } = connectKinesis(place, summaryOf(place));
    return { source, shards: directory };
  };
  return {
    shardIds,
    connect,
    append: (shardId, data) => append(shardId, [data]),
    split: async (shardId) => {
      const { start, end } = await (await connect()).shards.hashRange(shardId);
      const middle = (BigInt(`0x${start}`) + BigInt(`0x${end}`)) / 2n;
      const NewStartingHashKey = middle.toString();
      const names = { StreamName: streamName, ShardToSplit: shardId };
      await client.send(new SplitShardCommand({ ...names, NewStartingHashKey }));
      await expect.poll(() => openShards(place)).toHaveLength(3);
    },
    pass: place.pass,
    // Of the second of its creation, which must be another one.
    connectOther: async () => {
      await dispose();
      await expect
        .poll(
          () =>
            openShards(place)
              .then(() => 'there')
              .catch(() => 'gone'),
          { timeout: 10_000 },
        )
        .toBe('gone');
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await client.send(new CreateStreamCommand({ StreamName: streamName, ShardCount: 2 }));
      await expect.poll(() => openShards(place).catch(() => [])).toHaveLength(2);
      return connect();
    },
    goneShardId: 'shardId-000000000099',
    disconnect: async () => {},
    dispose,
  };
}

async function openShards(place: KinesisPlace) {
  const shards = await connectKinesis(place).shards.list();
  return shards.filter(({ isOpen }) => isOpen);
}

function positionOf(record: StreamRecord | undefined): Position {
  return { sequenceNumber: record?.sequenceNumber ?? '', subSequence: 0 };
}

/** Puts records by explicit hash key; resolves to them as the shard has them. */
async function put(
  { client, streamName }: KinesisPlace,
  shardId: string,
  hashKey: string,
  datas: readonly Uint8Array[],
): Promise<StreamRecord[]> {
  const ExplicitHashKey = decimalOfHashKey(hashKey);
  const Records = datas.map((Data) => ({ PartitionKey: 'key', ExplicitHashKey, Data }));
  const answer = await client.send(new PutRecordsCommand({ StreamName: streamName, Records }));
  expect(answer.FailedRecordCount ?? 0).toBe(0);
  const { ShardIterator } = await client.send(
    new GetShardIteratorCommand({
      StreamName: streamName,
      ShardId: shardId,
      ShardIteratorType: 'TRIM_HORIZON',
    }),
  );
  const all = await client.send(new GetRecordsCommand({ ShardIterator }));
  return (all.Records ?? []).slice(-datas.length).map((record) => ({
    sequenceNumber: BigInt(record.SequenceNumber ?? '').toString(),
    subSequence: 0,
    partitionKey: record.PartitionKey ?? '',
    arrivalMs: record.ApproximateArrivalTimestamp?.getTime() ?? 0,
    data: record.Data ?? new Uint8Array(0),
  }));
}

/** Its trimming ends a day, in which ticks have watched the shards. */
async function devEndpoint(): Promise<StreamWorld> {
  const server = await startKinesis({ shardCount: 2 });
  const { stream } = server;
  let passedMs = 0;
  const place: KinesisPlace = {
    client: server.client(),
    streamName: stream.name,
    marks: new MemoryTipMarks(),
    clock: { nowMs: () => Date.now() + passedMs },
    shardsPerPage: 1,
  };
  const { tips } = connectKinesis(place);
  return {
    ...(await streamWorld(place)),
    trim: async (shardId, to) => {
      for (let hours = 0; hours <= RETENTION_HOURS; hours += 4) {
        await tips.observe(shardId, to);
        passedMs += 4 * HOUR_MS;
      }
      await stream.trimExpired(place.clock.nowMs(), new Map([[shardId, to]]));
    },
    dispose: () => server.close(),
  };
}
