/**
 * What the data of a record is that is no JSON object, as far as its bytes tell, and what to do about it. Asked of refused
 * records alone. Each finding says only what the bytes show: where they show nothing, there is none.
 */
import { type ByteFormat, byteFormatOf } from './byte-signature.ts';
import { JsonValueScanner, skipJsonSpace } from './json-value-scanner.ts';

/** What it is, and what the producer can do; null where the bytes do not tell. `text` is null if they are no UTF-8. */
export function foreignDataOf(data: Uint8Array, text: string | null): string | null {
  const format = byteFormatOf(data);
  if (format !== null) return OF_FORMAT[format];
  const framed = framedMessage(data);
  if (framed !== null) return framed;
  if (text === null || hasControls(text)) {
    return isProtobuf(data) ? PROTOBUF : text === null ? LATIN_1 : BINARY;
  }
  return foreignText(data, text.trim());
}

const COMPRESSED = 'Tidemark folds plain JSON: have the producer send it uncompressed';
const FILE = 'this is a file, not one record: put its rows as one JSON object each';
const ENCODE = 'have the producer encode as UTF-8';

const OF_FORMAT: Readonly<Record<ByteFormat, string>> = {
  gzip: `it is gzip (1f 8b). CloudWatch Logs subscriptions always send gzip: put a Lambda function between that unpacks them and puts one record for each log event. Otherwise ${COMPRESSED}`,
  zstd: `it is zstd. ${COMPRESSED}`,
  bzip2: `it is bzip2. ${COMPRESSED}`,
  xz: `it is xz. ${COMPRESSED}`,
  lz4: `it is lz4. ${COMPRESSED}`,
  snappy: `it is Snappy. ${COMPRESSED}`,
  zip: `it is a zip archive (xlsx files are too): ${FILE}`,
  parquet: `it is Parquet: ${FILE} ('tidemark put FILE.parquet' does)`,
  'avro-file': `it is an Avro file: ${FILE}`,
  kpl: 'it is an aggregate of the Kinesis Producer Library (f3 89 9a c2): set AggregationEnabled to false in the producer (the Kinesis Agent and Fluent Bit have a setting of their own for it)',
  'utf-16le': `it is UTF-16 (little-endian): ${ENCODE}`,
  'utf-16be': `it is UTF-16 (big-endian): ${ENCODE}`,
  'utf-32': `it is UTF-32: ${ENCODE}`,
};

const BINARY =
  'it has control characters: binary data of a format that its first bytes do not tell';
const LATIN_1 = `it is text in another encoding, such as Latin-1 (${ENCODE}), or binary data`;
const PROTOBUF =
  'it has the structure of a Protocol Buffers message: have the producer send JSON, or convert in a Lambda function between';
const AVRO =
  'an Avro or Protocol Buffers message with the header of a schema registry: have the producer send JSON, or convert in a Lambda function between';

const GLUE_HEADER_BYTES = 18;
const CONFLUENT_HEADER_BYTES = 5;

/** A message behind the header that serializers with a schema registry write. */
function framedMessage(data: Uint8Array): string | null {
  const [first, second] = data;
  // AWS Glue: version 3, compression none or zlib, the UUID of a schema version.
  if (first === 3 && (second === 0 || second === 5) && data.length > GLUE_HEADER_BYTES) {
    return `it begins as the AWS Glue schema registry writes: ${AVRO}`;
  }
  // Confluent: 0, then a schema id, which is small in practice.
  if (first === 0 && second === 0 && data.length > CONFLUENT_HEADER_BYTES) {
    return `it begins as the Confluent schema registry writes: ${AVRO}`;
  }
  return null;
}

function hasControls(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/.test(text);
}

/** Fields one after the other up to the last byte, as Protocol Buffers are written. */
function isProtobuf(data: Uint8Array): boolean {
  let index = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; index < data.length; factor *= 128) {
      const byte = data[index++] as number;
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
    return Number.NaN;
  };
  while (index < data.length) {
    const tag = varint();
    if (!(tag >= 8 && tag < FIELD_NUMBERS_MAX * 8)) return false;
    const wireType = tag % 8;
    if (wireType === 0) {
      if (Number.isNaN(varint())) return false;
    } else if (wireType === 1) index += 8;
    else if (wireType === 5) index += 4;
    else if (wireType === 2) {
      const length = varint();
      index += length;
    } else return false;
  }
  return index === data.length;
}

/** Of most messages; it keeps chance findings few. */
const FIELD_NUMBERS_MAX = 1_000;

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** Base64 of `{"`, of `{` and whitespace, of `[{`; of gzip; of a KPL aggregate. */
const OF_BASE64: readonly (readonly [RegExp, string])[] = [
  [/^(eyJ|ewo|ew0|eyA|W3s)/, 'JSON'],
  [/^H4sI/, 'gzip'],
  [/^84mawg/, 'an aggregate of the Kinesis Producer Library'],
];

function foreignText(data: Uint8Array, text: string): string | null {
  if (text === '') return 'it is whitespace alone';
  if (BASE64.test(text)) {
    const inside = OF_BASE64.find(([start]) => start.test(text))?.[1];
    return inside === undefined
      ? null
      : `it is ${inside} in base64: SDKs encode the data themselves, so that the producer must not do it again`;
  }
  if (text.startsWith('<')) return 'it is XML or HTML: have the producer send JSON';
  return text.startsWith('{') || text.startsWith('[')
    ? brokenJson(data, text)
    : (severalValues(data) ?? delimited(text));
}

function brokenJson(data: Uint8Array, text: string): string | null {
  const several = severalValues(data);
  if (several !== null) return several;
  if (/^\{\s*'/.test(text)) {
    return 'its names are in single quotes, as Python prints a dict: json.dumps(…) writes JSON';
  }
  if (/[:,[]\s*-?(NaN|Infinity|undefined)\b/.test(text)) {
    return 'NaN, Infinity and undefined are no JSON: have the producer send null';
  }
  const start = skipJsonSpace(data, skipMark(data));
  if (JSON_START.test(text) && new JsonValueScanner().end(data, start) < 0) {
    return 'it is JSON that is cut off: its brackets or quotes are not closed';
  }
  return null;
}

/** An object with a member, or an array of objects: what begins so was meant to be JSON. */
const JSON_START = /^(\{\s*"[^"]*"\s*:|\[\s*\{)/;

/** Several JSON values, one after the other or one on each line. Only claimed where each of them is JSON. */
function severalValues(data: Uint8Array): string | null {
  let count = 0;
  let from = skipJsonSpace(data, skipMark(data));
  while (from < data.length && count < VALUES_COUNTED_MAX) {
    const end = new JsonValueScanner().end(data, from);
    const value = data.subarray(from, end < 0 ? data.length : end);
    if (value.length === 0 || !isJson(value)) return null;
    count++;
    from = skipJsonSpace(data, from + value.length);
  }
  if (count < 2) return null;
  const values = from < data.length ? `more than ${count}` : count;
  return `it is ${values} JSON values in one record: have the producer put one record for each (Firehose and some agents join several)`;
}

/** Each costs a call of `JSON.parse`, and a record of 1 MiB has room for very many. */
const VALUES_COUNTED_MAX = 1_000;

const decoder = new TextDecoder();

function isJson(value: Uint8Array): boolean {
  try {
    JSON.parse(decoder.decode(value));
    return true;
  } catch {
    return false;
  }
}

/** After the byte order mark of UTF-8, if there is one. */
function skipMark(data: Uint8Array): number {
  return data[0] === 0xef && data[1] === 0xbb && data[2] === 0xbf ? 3 : 0;
}

/** Text with the same separator again and again on its first line. */
function delimited(text: string): string | null {
  const line = text.split(/\r?\n/, 1)[0] ?? '';
  for (const [separator, name] of SEPARATORS) {
    const fields = line.split(separator).length;
    if (fields < FIELDS_MIN) continue;
    return `it looks like CSV (${fields} fields between ${name}): 'tidemark put FILE.csv' makes a JSON object of each row`;
  }
  return null;
}

const FIELDS_MIN = 3;
const SEPARATORS = [
  [',', 'commas'],
  [';', 'semicolons'],
  ['\t', 'TABs'],
  ['|', 'vertical bars'],
] as const;
