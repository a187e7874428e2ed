/**
 * Records of JSON text, told apart by what it begins with: JSON lines, a JSON array, or objects that are spread over lines.
 * Each record has the bytes that the file has. A line that is no JSON is a record too: the pipeline judges it.
 */
import {
  isJsonSpace,
  JsonValueScanner,
  skipJsonSpace,
} from '../../core/decode/json-value-scanner.ts';
import { RECORD_BYTES_MAX } from '../../core/limits.ts';
import { type Chunks, shown } from './byte-source.ts';
import { ChunkBuffer } from './chunk-buffer.ts';
import { type FileRecord, RecordFileError } from './file-record.ts';
import { documentRecords, isJson } from './json-document.ts';
import { linesOf } from './lines.ts';
import type { SourceStop } from './source-stop.ts';

export interface JsonReading {
  /** For messages; `-` is stdin. */
  readonly name: string;
  /** The reader was told that these are JSON lines: what looks like something else goes as it stands. */
  readonly isTold: boolean;
  /** Records before it are passed over, whatever is wrong with them. */
  readonly fromNumber: number;
  readonly stop: SourceStop;
}

export async function* jsonRecords(
  chunks: Chunks,
  { name, isTold, fromNumber, stop }: JsonReading,
): AsyncGenerator<FileRecord> {
  const file = shown(name);
  const buffer = new ChunkBuffer(chunks);
  const lineReading = { file, bytesMax: RECORD_BYTES_MAX, fromNumber, stop };
  try {
    await skipMark(buffer);
    const form = isTold ? 'lines' : await formOf(buffer, file);
    if (form !== 'lines') yield* documentRecords(buffer, { file, form, fromNumber });
    else {
      for await (const { bytes, number } of linesOf(buffer.rest(), lineReading)) {
        if (bytes.every(isJsonSpace)) continue;
        yield { data: bytes, unit: 'line', number };
      }
    }
  } finally {
    await buffer.close();
  }
}

const MARK = [0xef, 0xbb, 0xbf];
const LINE_FEED = 0x0a;
const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;

/** The mark says that the file is UTF-8; it is no part of the first record. */
async function skipMark(buffer: ChunkBuffer): Promise<void> {
  while (buffer.bytes.length < MARK.length && MARK[0] === (buffer.bytes[0] ?? MARK[0])) {
    if (!(await buffer.more())) break;
  }
  if (MARK.every((byte, index) => buffer.bytes[index] === byte)) buffer.drop(MARK.length);
}

type JsonForm = 'lines' | 'array' | 'values';

async function formOf(buffer: ChunkBuffer, file: string): Promise<JsonForm> {
  const start = await nextByte(buffer, 0);
  const first = buffer.bytes[start];
  if (first === OPENING_BRACKET) {
    // An array of anything but objects can be no records: such a line is one that the pipeline judges.
    const second = buffer.bytes[await nextByte(buffer, start + 1)];
    return second === OPENING_BRACE || second === CLOSING_BRACKET ? 'array' : 'lines';
  }
  const lineEnd = await firstLineEnd(buffer, start);
  const line = buffer.bytes.subarray(start, lineEnd);
  if (first === OPENING_BRACE) {
    if (isJson(line)) return 'lines';
    if (await isSpreadOut(buffer, start, lineEnd)) return 'values';
    refuseList(buffer.bytes.subarray(start), file);
    return 'lines';
  }
  refuseHeader(line, file);
  return 'lines';
}

async function nextByte(buffer: ChunkBuffer, from: number): Promise<number> {
  let index = skipJsonSpace(buffer.bytes, from);
  while (index === buffer.bytes.length && (await buffer.more())) {
    index = skipJsonSpace(buffer.bytes, index);
  }
  return index;
}

async function firstLineEnd(buffer: ChunkBuffer, from: number): Promise<number> {
  let end = buffer.bytes.indexOf(LINE_FEED, from);
  while (end < 0 && buffer.bytes.length - from <= RECORD_BYTES_MAX && (await buffer.more())) {
    end = buffer.bytes.indexOf(LINE_FEED, from);
  }
  return end < 0 ? buffer.bytes.length : end;
}

/** True if the value that begins on the first line ends on a later one, and is JSON. */
async function isSpreadOut(buffer: ChunkBuffer, start: number, lineEnd: number): Promise<boolean> {
  const scanner = new JsonValueScanner();
  let end = scanner.end(buffer.bytes, start);
  while (end < 0 && buffer.bytes.length - start <= RECORD_BYTES_MAX) {
    const scanned = buffer.bytes.length;
    if (!(await buffer.more())) return false;
    end = scanner.end(buffer.bytes, scanned);
  }
  return end > lineEnd && isJson(buffer.bytes.subarray(start, end));
}

const LIST_START = /^\{\s*"([A-Za-z_]\w*)"\s*:\s*\[\s*\{/;

/** One object around all records, which is too large to be a record itself. */
function refuseList(bytes: Uint8Array, file: string): void {
  if (bytes.length <= RECORD_BYTES_MAX) return;
  const text = Buffer.from(bytes.subarray(0, 1_000)).toString('utf8');
  const [, name] = LIST_START.exec(text) ?? [];
  if (name === undefined) return;
  throw new RecordFileError(
    `${file} begins with one object that is larger than a record may be. If the records are inside '${name}': jq -c '.${name}[]' FILE | npx tidemark put - …`,
    1,
  );
}

/** Names with separators between them, or Excel's line that states the separator. */
const HEADER = /^(?:[\p{L}\p{N}_. "-]+([,;\t|][\p{L}\p{N}_. "-]*)+|"?sep=."?)\r?$/iu;

function refuseHeader(line: Uint8Array, file: string): void {
  const text = Buffer.from(line).toString('utf8');
  if (!HEADER.test(text)) return;
  const shortened = text.trim().slice(0, 60);
  throw new RecordFileError(
    `${file} looks like CSV, not JSON: its first line is ${JSON.stringify(shortened)}. Read it with --format csv; with --format ndjson its lines are sent as they stand`,
    1,
  );
}
