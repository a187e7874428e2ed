/**
 * The records of a file, one JSON text each: NDJSON as it stands, CSV and Parquet rows as objects. Integers of any width
 * keep their digits.
 */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { type AsyncBuffer, type Compressors, parquetMetadataAsync, parquetRead } from 'hyparquet';
import { UsageError } from './usage-error.ts';

/** Reads `path` (`-`: NDJSON from stdin) by its ending. */
export async function* recordsOf(path: string): AsyncGenerator<string> {
  const extension = extname(path).toLowerCase();
  if (path === '-' || extension === '.ndjson' || extension === '.jsonl') yield* linesOf(path);
  else if (extension === '.csv') yield* csvRecords(path);
  else if (extension === '.parquet') yield* parquetRecords(path);
  else
    throw new UsageError(`${path}: expected a name that ends in .ndjson, .csv or .parquet, or -`);
}

const COMPRESSORS: Compressors = {
  ZSTD: (input) => zstdDecompressSync(input),
  GZIP: (input) => gunzipSync(input),
};

/** A row group's values by column: much smaller than its rows as objects. */
export type ParquetColumns = Readonly<Record<string, ArrayLike<unknown>>>;

/** The columns of a Parquet file, one row group at a time. */
export async function* parquetColumns(path: string): AsyncGenerator<ParquetColumns> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const file: AsyncBuffer = {
      byteLength: size,
      async slice(from, to = size) {
        const bytes = Buffer.alloc(to - from);
        await handle.read(bytes, 0, bytes.length, from);
        return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
      },
    };
    const metadata = await parquetMetadataAsync(file);
    let rowStart = 0;
    for (const group of metadata.row_groups) {
      const rowEnd = rowStart + Number(group.num_rows);
      const columns: Record<string, ArrayLike<unknown>> = Object.create(null);
      await parquetRead({
        file,
        metadata,
        rowStart,
        rowEnd,
        compressors: COMPRESSORS,
        onChunk: ({ columnName, columnData }) => {
          columns[columnName] = columnData;
        },
      });
      yield columns;
      rowStart = rowEnd;
    }
  } finally {
    await handle.close();
  }
}

async function* parquetRecords(path: string): AsyncGenerator<string> {
  for await (const columns of parquetColumns(path)) {
    const named = Object.entries(columns).map(([name, values]) => ({
      name: JSON.stringify(name),
      values,
    }));
    const rowCount = named[0]?.values.length ?? 0;
    for (let row = 0; row < rowCount; row++) {
      yield `{${named.map(({ name, values }) => `${name}:${toJson(values[row])}`).join(',')}}`;
    }
  }
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const input = path === '-' ? process.stdin : createReadStream(path);
  let isFirst = true;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    const text = isFirst ? line.replace(BYTE_ORDER_MARK, '') : line;
    isFirst = false;
    if (text.trim() !== '') yield text;
  }
}

const BYTE_ORDER_MARK = /^\uFEFF/;

async function* csvRecords(path: string): AsyncGenerator<string> {
  let names: string[] | null = null;
  let row = 0;
  for await (const fields of csvRows(path)) {
    row++;
    if (names === null) {
      names = fields.map((name) => JSON.stringify(name));
      continue;
    }
    const isEmpty = fields.length === 1 && fields[0] === '';
    if (isEmpty && names.length > 1) continue;
    if (fields.length > names.length) {
      throw new Error(
        `row ${row} of ${path} has ${fields.length} fields, and its header names ${names.length}: quote fields that have commas in them`,
      );
    }
    const values = fields.map(csvValue);
    yield `{${values.map((value, index) => `${names?.[index]}:${value}`).join(',')}}`;
  }
}

/** Rows of RFC 4180: quoted fields may hold commas, quotes (doubled) and line breaks. */
async function* csvRows(path: string): AsyncGenerator<string[]> {
  let row: string[] = [];
  let field = '';
  let isQuoted = false;
  let afterQuote = false;
  let isFirst = true;
  const endRow = () => {
    const ended = [...row, field];
    row = [];
    field = '';
    afterQuote = false;
    return ended;
  };
  for await (const chunk of createReadStream(path, 'utf8')) {
    const text = isFirst ? (chunk as string).replace(BYTE_ORDER_MARK, '') : (chunk as string);
    isFirst = false;
    for (const character of text) {
      if (isQuoted) {
        if (character === '"') {
          isQuoted = false;
          afterQuote = true;
        } else field += character;
      } else if (character === '"') {
        // A quote that follows a closing one is a quote of the text.
        if (afterQuote) field += '"';
        isQuoted = true;
        afterQuote = false;
      } else if (character === ',') {
        row.push(field);
        field = '';
        afterQuote = false;
      } else if (character === '\n') yield endRow();
      else if (character !== '\r') field += character;
    }
  }
  if (isQuoted) throw new Error(`${path} ends inside a quoted field: its last quote is missing`);
  if (field !== '' || row.length > 0) yield endRow();
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Numbers stay as they are written, so that no digit is lost; an empty field is null. */
function csvValue(text: string): string {
  if (text === '') return 'null';
  if (text === 'true' || text === 'false' || NUMBER.test(text)) return text;
  return JSON.stringify(text);
}

function toJson(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Date) return JSON.stringify(value.toISOString());
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).map(
      ([name, member]) => `${JSON.stringify(name)}:${toJson(member)}`,
    );
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}
