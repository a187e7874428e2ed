/**
 * GetShardIterator: where in a shard to begin to read.
 */
import type { LocalStream, StreamShard } from '../../adapters/local/stream/local-stream.ts';
import type { Located, ReadFrom } from '../../adapters/local/stream/shard-log.ts';
import { shardIdOf } from '../../adapters/local/stream/stream-database.ts';
import { unreachable } from '../../core/assert.ts';
import type { Clock } from '../../core/ports.ts';
import {
  type Body,
  choice,
  type Input,
  readInput,
  required,
  text,
  timestamp,
} from './input-shape.ts';
import { ACCOUNT_ID, invalidArgument } from './kinesis-error.ts';
import { formatShardIterator } from './shard-iterator.ts';
import { requireShard, requireStream, SHARD_ID, STREAM_ADDRESS } from './stream-address.ts';

const GET_SHARD_ITERATOR = {
  ...STREAM_ADDRESS,
  ShardId: required(SHARD_ID),
  ShardIteratorType: required(
    choice('AFTER_SEQUENCE_NUMBER', 'LATEST', 'AT_TIMESTAMP', 'AT_SEQUENCE_NUMBER', 'TRIM_HORIZON'),
  ),
  StartingSequenceNumber: text({ pattern: '0|([1-9]\\d{0,128})' }),
  Timestamp: timestamp(),
};

export function getShardIterator(body: Body, stream: LocalStream, clock: Clock): string {
  const input = readInput(body, GET_SHARD_ITERATOR);
  requireStream(input, stream);
  const shard = requireShard(input.ShardId, stream);
  const nowMs = clock.nowMs();
  const located = stream.locate(shard.shardId, readFromOf(input, nowMs));
  if (located.outcome === 'foreign') throw foreign(located, input, shard, stream);
  const iterator = formatShardIterator({
    streamCreatedMs: stream.createdMs,
    shardIndex: shard.index,
    ordinal: located.ordinal,
    issuedMs: nowMs,
  });
  return JSON.stringify({ ShardIterator: iterator });
}

type IteratorInput = Input<typeof GET_SHARD_ITERATOR>;

function readFromOf(input: IteratorInput, nowMs: number): ReadFrom {
  const { ShardIteratorType: type, StartingSequenceNumber: sequenceNumber, Timestamp } = input;
  switch (type) {
    case 'TRIM_HORIZON':
    case 'LATEST':
      if (sequenceNumber !== null) throw mismatch(type, 'also a StartingSequenceNumber');
      return { kind: type };
    case 'AT_SEQUENCE_NUMBER':
    case 'AFTER_SEQUENCE_NUMBER':
      if (sequenceNumber === null) throw mismatch(type, 'no StartingSequenceNumber');
      return { kind: type === 'AT_SEQUENCE_NUMBER' ? 'AT' : 'AFTER', sequenceNumber };
    case 'AT_TIMESTAMP':
      if (Timestamp === null) {
        throw invalidArgument(
          'Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP. Current request has no timestamp parameter.',
        );
      }
      if (Timestamp > nowMs) {
        throw invalidArgument(
          `The timestampInMillis parameter cannot be greater than the currentTimestampInMillis. timestampInMillis: ${Timestamp}, currentTimestampInMillis: ${nowMs}`,
        );
      }
      return { kind: 'AT_TIMESTAMP', timestampMs: Timestamp };
    default:
      return unreachable(type);
  }
}

function mismatch(type: string, what: string) {
  return invalidArgument(
    `Must either specify (1) AT_SEQUENCE_NUMBER or AFTER_SEQUENCE_NUMBER and StartingSequenceNumber or (2) TRIM_HORIZON or LATEST and no StartingSequenceNumber. Request specified ${type} and ${what}.`,
  );
}

function foreign(
  located: Located & { outcome: 'foreign' },
  input: IteratorInput,
  shard: StreamShard,
  stream: LocalStream,
) {
  const used = `StartingSequenceNumber ${input.StartingSequenceNumber} used in GetShardIterator on shard ${shard.shardId} in stream ${stream.name} under account ${ACCOUNT_ID} is invalid`;
  switch (located.reason) {
    case 'malformed':
      return invalidArgument(`${used}.`);
    case 'other-shard':
      return invalidArgument(
        `Invalid StartingSequenceNumber. It encodes ${shardIdOf(located.parts?.shardIndex ?? 0)}, while it was used in a call to a shard with ${shard.shardId}`,
      );
    case 'other-stream':
      return invalidArgument(`${used} because it did not come from this stream.`);
    case 'not-written-yet':
      return invalidArgument(`${used} because no record has it yet.`);
    default:
      return unreachable(located.reason);
  }
}
