/**
 * The Kinesis Data Streams API over one local stream: `POST /` in AWS JSON 1.1, with Kinesis's limits, validation and error
 * names. Any credentials are taken, none are needed. Throughput quotas are not enforced.
 */
import type { LocalStream, StreamEntry } from '../../adapters/local/stream/local-stream.ts';
import type { Clock } from '../../core/ports.ts';
import type { PortRequest, PortResponse, Refusal, Route } from '../http/route.ts';
import { AppendQueue } from './append-queue.ts';
import { describeStream, describeStreamSummary, listStreams } from './describe-stream.ts';
import { getRecords } from './get-records.ts';
import { getShardIterator } from './get-shard-iterator.ts';
import { type Body, isBody } from './input-shape.ts';
import { KinesisError, kinesisAnswer, kinesisErrorAnswer, serialization } from './kinesis-error.ts';
import { listShards } from './list-shards.ts';
import { putRecord, putRecords } from './put-records.ts';

const TARGET_PREFIX = 'Kinesis_20131202.';
const JSON_TYPE = 'application/x-amz-json-1.1';
const CBOR_TYPE = 'application/x-amz-cbor-1.1';
/** 10 MiB of data and keys in base64, and the JSON around them. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;

export interface KinesisApiOptions {
  readonly stream: LocalStream;
  readonly clock: Clock;
  /** Named in ARNs. */
  readonly region: string;
  /** Sees the records that were put, when they are on disk. */
  readonly onAppended?: (entries: readonly StreamEntry[]) => void;
}

interface Operation {
  /** Takes the operation's members, answers with JSON or throws a `KinesisError`. */
  readonly answer: (body: Body) => string | Promise<string>;
  /** To call it again is not the same. */
  readonly hasEffect: boolean;
}

export function kinesisRoute(options: KinesisApiOptions): Route {
  const operations = operationsOf(options);
  return {
    method: 'POST',
    path: '/',
    bodyBytesMax: BODY_BYTES_MAX,
    handle: (request) => serve(request, operations),
    refuse,
  };
}

function operationsOf(options: KinesisApiOptions): ReadonlyMap<string, Operation> {
  const { stream, clock, region, onAppended } = options;
  const queue = new AppendQueue(stream, onAppended);
  const read = (answer: Operation['answer']): Operation => ({ answer, hasEffect: false });
  const put = (answer: Operation['answer']): Operation => ({ answer, hasEffect: true });
  return new Map<string, Operation>([
    ['PutRecord', put((body) => putRecord(body, stream, queue))],
    ['PutRecords', put((body) => putRecords(body, stream, queue))],
    ['GetShardIterator', read((body) => getShardIterator(body, stream, clock))],
    ['GetRecords', read((body) => getRecords(body, stream, clock))],
    ['DescribeStream', read((body) => describeStream(body, stream, region))],
    ['DescribeStreamSummary', read((body) => describeStreamSummary(body, stream, region))],
    ['ListShards', read((body) => listShards(body, stream, clock))],
    ['ListStreams', read((body) => listStreams(body, stream, region))],
  ]);
}

async function serve(
  request: PortRequest,
  operations: ReadonlyMap<string, Operation>,
): Promise<PortResponse> {
  try {
    const operation = requireOperation(request, operations);
    const answer = kinesisAnswer(await operation.answer(parseBody(request.body)));
    return { ...answer, tellsEffect: operation.hasEffect };
  } catch (error) {
    if (error instanceof KinesisError) return kinesisErrorAnswer(error);
    throw error;
  }
}

function requireOperation(
  request: PortRequest,
  operations: ReadonlyMap<string, Operation>,
): Operation {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type !== JSON_TYPE) throw unsupportedType(type);
  const target = request.headers['x-amz-target'];
  const name =
    typeof target === 'string' && target.startsWith(TARGET_PREFIX)
      ? target.slice(TARGET_PREFIX.length)
      : null;
  const operation = name === null ? undefined : operations.get(name);
  if (operation !== undefined) return operation;
  const served = [...operations.keys()].join(', ');
  throw new KinesisError(
    'UnknownOperationException',
    `X-Amz-Target '${target ?? ''}' is not served here; ${TARGET_PREFIX} and one of ${served} is.`,
  );
}

function parseBody(bytes: Buffer): Body {
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw serialization(`The body is not JSON: ${(error as Error).message}`);
  }
  if (!isBody(body)) throw serialization('The body is not a JSON object.');
  return body;
}

function unsupportedType(type: string): KinesisError {
  const cborHint =
    type === CBOR_TYPE ? ' Switch CBOR off in the SDK: AWS_CBOR_DISABLE=true does it in Java.' : '';
  return new KinesisError(
    'UnsupportedMediaTypeException',
    `The Content-Type must be ${JSON_TYPE}, not '${type}'.${cborHint}`,
    415,
  );
}

/** What the port refuses before an operation is known, and failures of our own, in Kinesis's words. */
function refuse(refusal: Refusal): PortResponse {
  return kinesisErrorAnswer(
    new KinesisError(nameOfStatus(refusal.status), refusal.detail, refusal.status),
  );
}

function nameOfStatus(status: number): string {
  switch (status) {
    case 403:
      return 'AccessDeniedException';
    case 408:
      return 'RequestTimeoutException';
    case 413:
      return 'RequestEntityTooLargeException';
    case 503:
      return 'ServiceUnavailableException';
    default:
      return status >= 500 ? 'InternalFailureException' : 'ValidationException';
  }
}
