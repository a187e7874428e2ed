/**
 * PutRecord and PutRecords. The answer goes out when every record of the request is on disk; a request is taken whole or not
 * at all, so `FailedRecordCount` is always 0.
 */
import { hashKeyOfDecimal } from '../../adapters/local/stream/hash-range.ts';
import type {
  AppendedRecord,
  LocalStream,
  StreamEntry,
} from '../../adapters/local/stream/local-stream.ts';
import { parseSequenceNumber } from '../../adapters/local/stream/sequence-number.ts';
import { assert } from '../../core/assert.ts';
import {
  PARTITION_KEY_LENGTH_MAX,
  PUT_RECORDS_BYTES_MAX,
  PUT_RECORDS_ENTRIES_MAX,
  RECORD_BYTES_MAX,
} from '../../core/limits.ts';
import type { AppendQueue } from './append-queue.ts';
import {
  type Body,
  base64ByteLength,
  blob,
  list,
  readInput,
  required,
  text,
} from './input-shape.ts';
import { ACCOUNT_ID, invalidArgument, serialization } from './kinesis-error.ts';
import { requireStreamOf } from './stream-address.ts';

const HASH_KEY_PATTERN = '0|([1-9]\\d{0,38})';
/** Of a partition key's UTF-16 code unit in UTF-8. */
const UTF8_BYTES_MAX = 3;

const ENTRY = {
  Data: required(blob(RECORD_BYTES_MAX)),
  PartitionKey: required(text({ lengthMin: 1, lengthMax: PARTITION_KEY_LENGTH_MAX })),
  ExplicitHashKey: text({ pattern: HASH_KEY_PATTERN }),
};
const PUT_RECORD = {
  ...ENTRY,
  SequenceNumberForOrdering: text({ pattern: '0|([1-9]\\d{0,128})' }),
};
const PUT_RECORDS = { Records: required(list(ENTRY, 1, PUT_RECORDS_ENTRIES_MAX)) };

interface RawEntry {
  readonly Data: string;
  readonly PartitionKey: string;
  readonly ExplicitHashKey?: string | null;
}

export async function putRecord(
  body: Body,
  stream: LocalStream,
  queue: AppendQueue,
): Promise<string> {
  const input = readInput(body, PUT_RECORD);
  requireStreamOf(body, stream);
  const ordering = input.SequenceNumberForOrdering;
  if (ordering !== null && parseSequenceNumber(ordering) === null) {
    throw invalidArgument(
      `ExclusiveMinimumSequenceNumber ${ordering} used in PutRecord on stream ${stream.name} under account ${ACCOUNT_ID} is invalid.`,
    );
  }
  const [appended] = await queue.append(decodeEntries([input]));
  assert(appended !== undefined, 'each-entry-is-answered');
  return resultJson(appended);
}

export async function putRecords(
  body: Body,
  stream: LocalStream,
  queue: AppendQueue,
): Promise<string> {
  const entries = readEntries(body);
  requireStreamOf(body, stream);
  const appended = await queue.append(decodeEntries(entries));
  assert(appended.length === entries.length, 'each-entry-is-answered');
  let results = '';
  for (const record of appended) results += `${results === '' ? '' : ','}${resultJson(record)}`;
  return `{"FailedRecordCount":0,"Records":[${results}]}`;
}

/** Most requests are plainly right; only for others the shape is read, which words the error. */
function readEntries(body: Body): readonly RawEntry[] {
  const records = body['Records'];
  if (Array.isArray(records) && isCountRight(records.length) && records.every(isPlainlyRight)) {
    return records;
  }
  return readInput(body, PUT_RECORDS).Records;
}

function isCountRight(count: number): boolean {
  return count >= 1 && count <= PUT_RECORDS_ENTRIES_MAX;
}

function isPlainlyRight(entry: Partial<RawEntry> | null): boolean {
  return (
    typeof entry === 'object' &&
    entry !== null &&
    typeof entry.PartitionKey === 'string' &&
    entry.PartitionKey.length >= 1 &&
    entry.PartitionKey.length <= PARTITION_KEY_LENGTH_MAX &&
    typeof entry.Data === 'string' &&
    base64ByteLength(entry.Data) <= RECORD_BYTES_MAX &&
    entry.ExplicitHashKey === undefined
  );
}

/** All data in one buffer. */
function decodeEntries(entries: readonly RawEntry[]): StreamEntry[] {
  const dataBytes = refuseSizes(entries);
  const slab = Buffer.allocUnsafe(dataBytes);
  let offset = 0;
  return entries.map((entry) => {
    const length = decodeBase64(entry.Data, slab, offset);
    const data = slab.subarray(offset, offset + length);
    offset += length;
    // Half of a surrogate pair is no Unicode: it would not come back as it was sent.
    if (!entry.PartitionKey.isWellFormed()) {
      throw serialization('PartitionKey is not valid Unicode: it has a lone surrogate');
    }
    const explicitHashKey = entry.ExplicitHashKey ?? null;
    if (explicitHashKey !== null) refuseHashKey(explicitHashKey);
    return { partitionKey: entry.PartitionKey, explicitHashKey, data };
  });
}

/** Bytes of data, keys apart. Throws if a record or the request is larger than Kinesis takes. */
function refuseSizes(entries: readonly RawEntry[]): number {
  let dataBytes = 0;
  let keyBytes = 0;
  for (const { Data: data, PartitionKey: key } of entries) {
    const length = base64ByteLength(data);
    if (length + key.length * UTF8_BYTES_MAX > RECORD_BYTES_MAX) refuseRecordSize(length, key);
    dataBytes += length;
    keyBytes += key.length * UTF8_BYTES_MAX;
  }
  if (dataBytes + keyBytes > PUT_RECORDS_BYTES_MAX) {
    keyBytes = entries.reduce((sum, { PartitionKey: key }) => sum + Buffer.byteLength(key), 0);
  }
  if (dataBytes + keyBytes > PUT_RECORDS_BYTES_MAX) {
    throw invalidArgument(
      `Records size exceeds 10 MiB limit: ${dataBytes + keyBytes} bytes of data and partition keys.`,
    );
  }
  return dataBytes;
}

function refuseRecordSize(dataBytes: number, partitionKey: string): void {
  const bytes = dataBytes + Buffer.byteLength(partitionKey);
  if (bytes <= RECORD_BYTES_MAX) return;
  throw invalidArgument(
    `Record size of ${bytes} bytes, data and partition key together, exceeds the limit of ${RECORD_BYTES_MAX} bytes.`,
  );
}

/** Kinesis takes canonical base64 only; Node.js skips what it does not know and takes the alphabet for URLs as well. */
function decodeBase64(base64: string, target: Buffer, offset: number): number {
  const expected = base64ByteLength(base64);
  const isWhole = base64.length % 4 === 0;
  const length = isWhole && expected > 0 ? target.write(base64, offset, expected, 'base64') : 0;
  if (isWhole && length === expected && !base64.includes('-') && !base64.includes('_')) {
    return length;
  }
  throw serialization(
    'Data cannot be converted to a Blob: it is not base64 with padding, in groups of 4 characters.',
  );
}

function refuseHashKey(decimal: string): void {
  if (hashKeyOfDecimal(decimal) !== null) return;
  throw invalidArgument(
    `Invalid ExplicitHashKey. ExplicitHashKey must be in the range: [0, 2^128-1]. Specified value was ${decimal}`,
  );
}

/** Both values are made of letters, digits and hyphens: nothing to escape. */
function resultJson(record: AppendedRecord): string {
  return `{"SequenceNumber":"${record.sequenceNumber}","ShardId":"${record.shardId}"}`;
}
