/**
 * DescribeStream, DescribeStreamSummary and ListStreams.
 */

import { decimalOfHashKey } from '../../adapters/local/stream/hash-range.ts';
import type { LocalStream, StreamShard } from '../../adapters/local/stream/local-stream.ts';
import { RECORD_BYTES_MAX } from '../../core/limits.ts';
import { type Body, integer, readInput, text } from './input-shape.ts';
import { invalidArgument } from './kinesis-error.ts';
import { arnOf, requireStream, SHARD_ID, STREAM_ADDRESS, STREAM_NAME } from './stream-address.ts';

const PAGE_MAX = 10_000;
const PAGE_DEFAULT = 100;

const DESCRIBE_STREAM = {
  ...STREAM_ADDRESS,
  Limit: integer(1, PAGE_MAX),
  ExclusiveStartShardId: SHARD_ID,
};
const LIST_STREAMS = {
  Limit: integer(1, PAGE_MAX),
  ExclusiveStartStreamName: STREAM_NAME,
  NextToken: text({ lengthMin: 1, lengthMax: 1_048_576 }),
};

export function describeStream(body: Body, stream: LocalStream, region: string): string {
  const input = readInput(body, DESCRIBE_STREAM);
  requireStream(input, stream);
  const after = input.ExclusiveStartShardId ?? '';
  const shards = stream.shards().filter((shard) => shard.shardId > after);
  const limit = input.Limit ?? PAGE_DEFAULT;
  return JSON.stringify({
    StreamDescription: {
      ...descriptionOf(stream, region),
      Shards: shards.slice(0, limit).map(shardJson),
      HasMoreShards: shards.length > limit,
    },
  });
}

export function describeStreamSummary(body: Body, stream: LocalStream, region: string): string {
  requireStream(readInput(body, STREAM_ADDRESS), stream);
  return JSON.stringify({
    StreamDescriptionSummary: {
      ...descriptionOf(stream, region),
      OpenShardCount: stream.shards().length,
      ConsumerCount: 0,
      MaxRecordSizeInKiB: RECORD_BYTES_MAX / 1024,
    },
  });
}

/** There is one stream, so there is one page. */
export function listStreams(body: Body, stream: LocalStream, region: string): string {
  const input = readInput(body, LIST_STREAMS);
  if (input.NextToken !== null) throw invalidArgument('NextToken is none that was given out here.');
  const isAfterStart = stream.name > (input.ExclusiveStartStreamName ?? '');
  const { StreamName, StreamARN, StreamStatus, StreamModeDetails, StreamCreationTimestamp } =
    descriptionOf(stream, region);
  const summary = {
    StreamName,
    StreamARN,
    StreamStatus,
    StreamModeDetails,
    StreamCreationTimestamp,
  };
  return JSON.stringify({
    StreamNames: isAfterStart ? [stream.name] : [],
    StreamSummaries: isAfterStart ? [summary] : [],
    HasMoreStreams: false,
  });
}

/** A shard as DescribeStream and ListShards show it. */
export function shardJson(shard: StreamShard) {
  return {
    ShardId: shard.shardId,
    HashKeyRange: {
      StartingHashKey: decimalOfHashKey(shard.range.start),
      EndingHashKey: decimalOfHashKey(shard.range.end),
    },
    SequenceNumberRange: { StartingSequenceNumber: shard.startingSequenceNumber },
  };
}

function descriptionOf(stream: LocalStream, region: string) {
  return {
    StreamName: stream.name,
    StreamARN: arnOf(stream.name, region),
    StreamStatus: 'ACTIVE',
    StreamModeDetails: { StreamMode: 'PROVISIONED' },
    RetentionPeriodHours: stream.retentionHours,
    StreamCreationTimestamp: stream.createdMs / 1000,
    EnhancedMonitoring: [{ ShardLevelMetrics: [] }],
    EncryptionType: 'NONE',
  };
}
