/**
 * ListShards, in pages. All shards are open since the stream was made, which makes most filters the same.
 */
import type { LocalStream, StreamShard } from '../../adapters/local/stream/local-stream.ts';
import { unreachable } from '../../core/assert.ts';
import { mayHavePassed } from '../../core/elapsed.ts';
import { SHARD_ITERATOR_AGE_MS_MAX } from '../../core/limits.ts';
import type { Clock } from '../../core/ports.ts';
import { shardJson } from './describe-stream.ts';
import {
  type Body,
  choice,
  type Input,
  integer,
  readInput,
  required,
  structure,
  text,
  timestamp,
} from './input-shape.ts';
import { invalidArgument, KinesisError } from './kinesis-error.ts';
import { formatShardIterator, parseShardIterator } from './shard-iterator.ts';
import { requireStream, SHARD_ID, STREAM_ADDRESS } from './stream-address.ts';

const PAGE_MAX = 10_000;
const PAGE_DEFAULT = 1_000;
/** Kinesis's own age of a NextToken, the same as of an iterator. */
const TOKEN_AGE_MS_MAX = SHARD_ITERATOR_AGE_MS_MAX;

const SHARD_FILTER = {
  Type: required(
    choice(
      'AFTER_SHARD_ID',
      'AT_TRIM_HORIZON',
      'FROM_TRIM_HORIZON',
      'AT_LATEST',
      'AT_TIMESTAMP',
      'FROM_TIMESTAMP',
    ),
  ),
  ShardId: SHARD_ID,
  Timestamp: timestamp(),
};
const LIST_SHARDS = {
  ...STREAM_ADDRESS,
  NextToken: text({ lengthMin: 1, lengthMax: 1_048_576 }),
  ExclusiveStartShardId: SHARD_ID,
  MaxResults: integer(1, PAGE_MAX),
  StreamCreationTimestamp: timestamp(),
  ShardFilter: structure(SHARD_FILTER),
};

type ListInput = Input<typeof LIST_SHARDS>;

export function listShards(body: Body, stream: LocalStream, clock: Clock): string {
  const input = readInput(body, LIST_SHARDS);
  const nowMs = clock.nowMs();
  const shards =
    input.NextToken === null
      ? firstPage(input, stream)
      : nextPage(input, input.NextToken, stream, nowMs);
  const page = shards.slice(0, input.MaxResults ?? PAGE_DEFAULT);
  const next = shards[page.length];
  return JSON.stringify({
    Shards: page.map(shardJson),
    ...(next === undefined ? {} : { NextToken: tokenOf(next, stream, nowMs) }),
  });
}

function firstPage(input: ListInput, stream: LocalStream): readonly StreamShard[] {
  requireStream(input, stream);
  const after = input.ExclusiveStartShardId ?? '';
  const shards = stream.shards().filter((shard) => shard.shardId > after);
  return input.ShardFilter === null ? shards : filtered(shards, input.ShardFilter);
}

function filtered(
  shards: readonly StreamShard[],
  filter: Input<typeof SHARD_FILTER>,
): readonly StreamShard[] {
  switch (filter.Type) {
    case 'AFTER_SHARD_ID': {
      const after = filter.ShardId;
      if (after === null) throw filterLacks('ShardId', filter.Type);
      return shards.filter((shard) => shard.shardId > after);
    }
    case 'AT_TIMESTAMP': {
      const at = filter.Timestamp;
      if (at === null) throw filterLacks('Timestamp', filter.Type);
      return shards.filter((shard) => shard.createdMs <= at);
    }
    case 'FROM_TIMESTAMP':
      if (filter.Timestamp === null) throw filterLacks('Timestamp', filter.Type);
      return shards;
    case 'AT_TRIM_HORIZON':
    case 'FROM_TRIM_HORIZON':
    case 'AT_LATEST':
      return shards;
    default:
      return unreachable(filter.Type);
  }
}

function nextPage(
  input: ListInput,
  token: string,
  stream: LocalStream,
  nowMs: number,
): readonly StreamShard[] {
  if (input.StreamName !== null || input.StreamARN !== null) {
    throw invalidArgument('NextToken and StreamName cannot be provided together.');
  }
  const from = parseShardIterator(token);
  if (from === null || from.streamCreatedMs !== stream.createdMs) {
    throw invalidArgument('NextToken is none that was given out here.');
  }
  if (mayHavePassed(from.issuedMs, TOKEN_AGE_MS_MAX + 1, nowMs)) {
    const message = `NextToken is older than ${TOKEN_AGE_MS_MAX / 1000} seconds: list from the start again.`;
    throw new KinesisError('ExpiredNextTokenException', message);
  }
  return stream.shards().filter((shard) => shard.index >= from.shardIndex);
}

/** Has the form of an iterator that reads nothing: a shard to go on from, and a time. */
function tokenOf(shard: StreamShard, stream: LocalStream, nowMs: number): string {
  return formatShardIterator({
    streamCreatedMs: stream.createdMs,
    shardIndex: shard.index,
    ordinal: 0,
    issuedMs: nowMs,
  });
}

function filterLacks(member: string, type: string) {
  return invalidArgument(`${member} must be given in a ShardFilter of type ${type}.`);
}
