/**
 * GetRecords: reads on from an iterator.
 */
import type { LocalStream, StreamShard } from '../../adapters/local/stream/local-stream.ts';
import { mayHavePassed } from '../../core/elapsed.ts';
import {
  GET_RECORDS_BYTES_MAX,
  GET_RECORDS_COUNT_MAX,
  SHARD_ITERATOR_AGE_MS_MAX,
} from '../../core/limits.ts';
import type { Clock, StreamRecord } from '../../core/ports.ts';
import { type Body, integer, readInput, required, text } from './input-shape.ts';
import { ACCOUNT_ID, invalidArgument, KinesisError, resourceNotFound } from './kinesis-error.ts';
import { formatShardIterator, parseShardIterator, type ShardIterator } from './shard-iterator.ts';
import { requireStream, STREAM_ARN } from './stream-address.ts';

const GET_RECORDS = {
  StreamARN: STREAM_ARN,
  ShardIterator: required(text({ lengthMin: 1, lengthMax: 512 })),
  Limit: integer(1, GET_RECORDS_COUNT_MAX),
};

export function getRecords(body: Body, stream: LocalStream, clock: Clock): string {
  const input = readInput(body, GET_RECORDS);
  if (input.StreamARN !== null) requireStream({ StreamName: null, ...input }, stream);
  const nowMs = clock.nowMs();
  const iterator = requireIterator(input.ShardIterator, nowMs);
  const shard = requireShardOf(iterator, stream);
  const { records, nextOrdinal } = stream.readFrom(shard.shardId, iterator.ordinal, {
    countMax: input.Limit ?? GET_RECORDS_COUNT_MAX,
    bytesMax: GET_RECORDS_BYTES_MAX,
  });
  const newest = records.at(-1);
  const reachedTip = nextOrdinal > stream.tip(shard.shardId).ordinal;
  // 0 says that nothing follows, so what follows within the millisecond is a millisecond away.
  const behindMs = reachedTip || newest === undefined ? 0 : Math.max(1, nowMs - newest.arrivalMs);
  const next = formatShardIterator({ ...iterator, ordinal: nextOrdinal, issuedMs: nowMs });
  return `{"Records":[${records.map(recordJson).join(',')}],"NextShardIterator":"${next}","MillisBehindLatest":${behindMs}}`;
}

function recordJson(record: StreamRecord): string {
  const { sequenceNumber, arrivalMs, partitionKey, data } = record;
  const base64 = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
  return `{"SequenceNumber":"${sequenceNumber}","ApproximateArrivalTimestamp":${arrivalMs / 1000},"Data":"${base64}","PartitionKey":${JSON.stringify(partitionKey)}}`;
}

function requireIterator(text: string, nowMs: number): ShardIterator {
  const iterator = parseShardIterator(text);
  if (iterator === null) throw invalidArgument('Invalid ShardIterator.');
  if (!mayHavePassed(iterator.issuedMs, SHARD_ITERATOR_AGE_MS_MAX + 1, nowMs)) return iterator;
  throw new KinesisError(
    'ExpiredIteratorException',
    `Iterator expired. The iterator was created at time ${timeText(iterator.issuedMs)} while right now it is ${timeText(nowMs)} which is further in the future than the tolerated delay of ${SHARD_ITERATOR_AGE_MS_MAX} milliseconds.`,
  );
}

function requireShardOf(iterator: ShardIterator, stream: LocalStream): StreamShard {
  const shard = stream.shards()[iterator.shardIndex];
  if (shard !== undefined && iterator.streamCreatedMs === stream.createdMs) return shard;
  throw resourceNotFound(
    `The ShardIterator is of a stream that is not here: the stream ${stream.name} under account ${ACCOUNT_ID} was created later.`,
  );
}

/** `Thu Jan 22 01:22:02 UTC 2015` */
function timeText(ms: number): string {
  const [weekday, day, month, year, time] = new Date(ms).toUTCString().replace(',', '').split(' ');
  return `${weekday} ${month} ${day} ${time} UTC ${year}`;
}
