/**
 * How requests name the stream: by name or by ARN. There is one stream; any other is not found.
 */
import type { LocalStream } from '../../adapters/local/stream/local-stream.ts';
import { type Body, readInput, text } from './input-shape.ts';
import { ACCOUNT_ID, invalidArgument, resourceNotFound } from './kinesis-error.ts';

const NAME_PATTERN = '[a-zA-Z0-9_.-]+';
const ARN = /^arn:aws[^:]*:kinesis:[^:]*:[0-9]{12}:stream\/(?<name>[^/:]+)$/;

export const STREAM_NAME = text({ lengthMin: 1, lengthMax: 128, pattern: NAME_PATTERN });
const ARN_PATTERN = 'arn:aws.*:kinesis:.*:\\d{12}:stream/\\S+';
export const STREAM_ARN = text({ lengthMin: 1, lengthMax: 2048, pattern: ARN_PATTERN });
export const SHARD_ID = text({ lengthMin: 1, lengthMax: 128, pattern: NAME_PATTERN });

/** The members that address a stream, for the shapes of operations. */
export const STREAM_ADDRESS = { StreamName: STREAM_NAME, StreamARN: STREAM_ARN };

export interface StreamAddress {
  readonly StreamName: string | null;
  readonly StreamARN: string | null;
}

export function arnOf(streamName: string, region: string): string {
  return `arn:aws:kinesis:${region}:${ACCOUNT_ID}:stream/${streamName}`;
}

/** Throws unless the address is this stream's. Region and account of an ARN may be any. */
export function requireStream(address: StreamAddress, stream: LocalStream): void {
  const { StreamName: name, StreamARN: arn } = address;
  if (name === null && arn === null) {
    throw invalidArgument('Either StreamName or StreamARN must be given.');
  }
  const arnName = arn === null ? null : nameInArn(arn);
  if (name !== null && arnName !== null && name !== arnName) {
    throw invalidArgument(`StreamName ${name} and StreamARN ${arn} name different streams.`);
  }
  requireName(name ?? (arnName as string), stream);
}

/** As `requireStream`, for an operation that reads its other members by hand. */
export function requireStreamOf(body: Body, stream: LocalStream): void {
  // What nearly every request holds, without the cost of a shape.
  if (body['StreamName'] === stream.name && body['StreamARN'] === undefined) return;
  requireStream(readInput(body, STREAM_ADDRESS), stream);
}

export function requireName(name: string, stream: LocalStream): void {
  if (name === stream.name) return;
  throw resourceNotFound(
    `Stream ${name} under account ${ACCOUNT_ID} not found. The stream here is ${stream.name}.`,
  );
}

/** The shard, or the error that it is not there. */
export function requireShard(shardId: string, stream: LocalStream) {
  const shard = stream.shards().find((candidate) => candidate.shardId === shardId);
  if (shard !== undefined) return shard;
  throw resourceNotFound(
    `Shard ${shardId} in stream ${stream.name} under account ${ACCOUNT_ID} does not exist`,
  );
}

function nameInArn(arn: string): string {
  const name = ARN.exec(arn)?.groups?.['name'];
  if (name === undefined) throw invalidArgument(`StreamARN ${arn} is not the ARN of a stream.`);
  return name;
}
