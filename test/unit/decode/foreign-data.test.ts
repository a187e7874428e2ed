import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createJsonDecoder } from '../../../core/decode/json-decoder.ts';
import type { BadRecord } from '../../../core/decode/record-decoder.ts';
import { parsePlan } from '../../../core/definition/parse-plan.ts';

const EVENT = '{"order":"a","price":1}';
const decoder = decoderOf({});

function decoderOf(part: object) {
  const views = { v: { groupBy: ['order'], aggregates: { total: { sum: 'price' } } } };
  const parsed = parsePlan({ name: 'p', views, ...part });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return createJsonDecoder(parsed.plan);
}

function refusal(data: string | Uint8Array | readonly number[], by = decoder): BadRecord | null {
  const bytes = typeof data === 'string' ? Buffer.from(data) : Uint8Array.from(data);
  return by.decode(bytes, {
    timeMs: null,
    isTimeNumber: false,
    category: null,
    dedupeId: null,
    values: [],
  });
}

const utf16le = Buffer.from(EVENT, 'utf16le');
const utf16be = Buffer.from(utf16le).swap16();
/** `{1: "shop", 2: 300}` as Protocol Buffers are written. */
const MESSAGE = [0x0a, 0x04, 0x73, 0x68, 0x6f, 0x70, 0x10, 0xac, 0x02];

describe('the detail of a record that is not JSON', () => {
  it.each<[string, string | Uint8Array | readonly number[], RegExp]>([
    ['gzip, as CloudWatch Logs sends', gzipSync(EVENT), /it is gzip .*CloudWatch Logs subscr/],
    ['zstd', zstdCompressSync(EVENT), /it is zstd\. .*uncompressed/],
    ['bzip2', Buffer.from('425a6839314159265359', 'hex'), /it is bzip2/],
    ['a zip archive', Buffer.from('504b0304140000000800', 'hex'), /a zip archive \(xlsx/],
    ['a KPL aggregate', [0xf3, 0x89, 0x9a, 0xc2, 0x0a, 0x01], /AggregationEnabled to false/],
    ['Parquet', Buffer.from('PAR1\x15\x04\xff', 'latin1'), /Parquet: .*put FILE\.parquet/],
    ['an Avro file', Buffer.from('Obj\x01\x04\x14', 'latin1'), /it is an Avro file/],
    ['UTF-16 with a mark', [0xff, 0xfe, ...utf16le], /UTF-16 \(little-endian\): .*UTF-8/],
    ['UTF-16 without a mark', utf16le, /UTF-16 \(little-endian\)/],
    ['UTF-16, big-endian', utf16be, /UTF-16 \(big-endian\)/],
    ['Latin-1', Buffer.from('{"city":"Köln"}', 'latin1'), /another encoding, such as Latin-1/],
    ['behind the header of Glue', [3, 0, ...Buffer.alloc(16, 7), 2, 0x80], /AWS Glue schema reg/],
    ['behind the header of Confluent', [0, 0, 0, 0, 9, 2, 0x61], /Confluent schema registry/],
    ['Protocol Buffers', MESSAGE, /structure of a Protocol Buffers message/],
    ['binary of no known kind', brotliCompressSync(EVENT), /binary data/],
    ['two values', `${EVENT}${EVENT}`, /it is 2 JSON values in one record/],
    ['a value on each line', `${EVENT}\n${EVENT}\r\n${EVENT}\n`, /it is 3 JSON values/],
    ['very many values', '1 '.repeat(400_000), /it is more than 1000 JSON values/],
    ['JSON in base64', Buffer.from(EVENT).toString('base64'), /JSON in base64: SDKs encode/],
    ['gzip in base64', gzipSync(EVENT).toString('base64'), /gzip in base64/],
    ['a line of CSV', 'a-1,2026-03-01T10:00:00Z,north,1.5', /looks like CSV \(4 fields .*commas/],
    ['semicolons', 'a;b;1,5', /looks like CSV \(3 fields between semicolons/],
    ['XML', '<order id="a"/>', /XML or HTML/],
    ['a Python dict', "{'order': 'a'}", /single quotes, as Python prints/],
    ['NaN', '{"price": NaN}', /NaN, Infinity and undefined are no JSON/],
    ['cut off', '{"order":"a","pri', /JSON that is cut off/],
    ['whitespace', ' \n', /it is whitespace alone/],
    ['empty', '', /the producer put an empty record/],
  ])('says that it is %s', (_, data, says) => {
    const bad = refusal(data);

    expect(bad?.reason).toBe('not-json');
    expect(bad?.detail).toMatch(says);
  });

  it.each([['not a flight'], ['hello, world'], ['{"a":01}'], ['ORChid'], ['BZhello'], ['id 7']])(
    'claims nothing of %j',
    (text) => {
      expect(refusal(text)?.detail).toBe(`the data is not JSON: ${JSON.stringify(text)}`);
    },
  );
});

describe('the detail of JSON that is no object', () => {
  it.each([
    [JSON.stringify(EVENT), /a string that holds JSON: the producer encodes twice/],
    [`[${EVENT}]`, /have the producer put one record for each element/],
    ['"text"', /expected one JSON object for each record$/],
    ['[]', /expected one JSON object for each record$/],
  ])('%s', (text, says) => {
    expect(refusal(text)).toEqual({
      reason: 'not-an-object',
      detail: expect.stringMatching(says),
    });
  });
});

describe('an envelope around the record', () => {
  const timed = decoderOf({ time: { field: 'at' } });

  it.each<[string, object, RegExp]>([
    [
      'an EventBridge event',
      { version: '0', id: '1', 'detail-type': 'Order', source: 'shop', detail: { at: 1 } },
      /lie under detail: write detail\.FIELD/,
    ],
    [
      'a change of a DynamoDB table',
      { eventName: 'INSERT', tableName: 't', dynamodb: { NewImage: { at: { N: '1' } } } },
      /dynamodb\.NewImage, with a type around each value/,
    ],
    [
      'an SNS notification',
      { Type: 'Notification', TopicArn: 'arn', Message: EVENT },
      /text under Message/,
    ],
    [
      'a batch of CloudWatch Logs',
      { messageType: 'DATA_MESSAGE', logGroup: 'g', logEvents: [] },
      /several log events/,
    ],
    ['a change from AWS DMS', { data: {}, metadata: { 'record-type': 'data' } }, /under data/],
    ['a change from Debezium', { schema: {}, payload: { op: 'c' } }, /payload\.after/],
    ['a record of a Firehose transformation', { recordId: '1', data: 'e30=' }, /base64 under data/],
    [
      'the event of a Lambda function',
      { Records: [{ eventSource: 'aws:sqs' }] },
      /several records under Records/,
    ],
  ])('is named where its time is missing: %s', (name, record, says) => {
    const bad = refusal(JSON.stringify(record), timed);

    expect(bad?.reason).toBe('no-time');
    expect(bad?.detail).toContain(`found nothing, expected`);
    expect(bad?.detail).toContain(`; the record is ${name}: `);
    expect(bad?.detail).toMatch(says);
  });

  it('is none where the names are the record’s own', () => {
    const own = { data: 1, metadata: {}, source: 's', detail: 'd', Records: [], payload: 1 };

    expect(refusal(JSON.stringify(own), timed)?.detail).not.toContain('the record is');
  });
});
