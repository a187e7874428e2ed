/**
 * The records of a file or of stdin. What it holds is told by its bytes where these tell it, otherwise by its name.
 */
import { basename, extname } from 'node:path';
import type { Plan } from '../../core/definition/plan.ts';
import { UsageError } from '../usage-error.ts';
import { type ByteSource, openBytes, shown } from './byte-source.ts';
import type { ColumnTypes } from './csv-columns.ts';
import { type FileRecord, RecordFileError } from './file-record.ts';
import { jsonRecords } from './json-records.ts';
import type { SourceStop } from './source-stop.ts';

/** `ndjson`: lines as they stand; `json`: lines, an array or objects spread over lines, whichever it is. */
export const RECORD_FORMATS = ['ndjson', 'json', 'csv', 'parquet'] as const;
export type RecordFormat = (typeof RECORD_FORMATS)[number];

export interface RecordReading {
  /** Null: what it is. */
  readonly format: RecordFormat | null;
  /** Of CSV; null finds out. */
  readonly delimiter: string | null;
  readonly types: ColumnTypes;
  /** What a cell of CSV says, or a number of Parquet is, that has no value. */
  readonly nullText: string | null;
  /** What the records are for; null if that is not known. */
  readonly plan: Plan | null;
  /** Records before it are passed over, whatever is wrong with them. */
  readonly fromNumber: number;
  /** Told what the reader decided by itself, for a person. */
  readonly tell: (text: string) => void;
  readonly stop: SourceStop;
}

/**
 * Reads `name` (`-` is stdin). Rejects with `RecordFileError`, or with `UsageError` where it could not be read whatever is in
 * it. A regular file of CSV is read through once before its first record comes: nothing of it is used if a row at its end is
 * wrong. What can be read only once (stdin, a pipe, a FIFO) is judged row by row.
 */
export async function* recordsOf(name: string, reading: RecordReading): AsyncGenerator<FileRecord> {
  const first = await open(name, reading);
  if (first.format !== 'csv' || !first.isRepeatable) {
    yield* first.records;
    return;
  }
  let judged = 0;
  for await (const _ of first.records) judged++;
  const second = await open(name, { ...reading, tell: () => {} });
  let given = 0;
  for await (const record of second.records) {
    given++;
    yield record;
  }
  if (given >= judged || reading.stop.isStopped) return;
  throw new RecordFileError(
    `${name} changed while it was read: it had ${judged} records, and then ${given}`,
  );
}

interface OpenFile {
  readonly format: RecordFormat;
  readonly isRepeatable: boolean;
  readonly records: AsyncGenerator<FileRecord>;
}

async function open(name: string, reading: RecordReading): Promise<OpenFile> {
  const named = reading.format ?? formatByName(name);
  const source = await openBytes(name, reading.stop);
  const { chunks, isRepeatable } = source;
  const format = formatOf(source, named, reading.format !== null);
  switch (format) {
    // The readers are loaded by what needs them, since every command loads this file.
    case 'parquet': {
      source.close();
      refuseParquet(name, source);
      const { parquetRecords } = await import('./parquet-records.ts');
      return { format, isRepeatable, records: parquetRecords(name, reading) };
    }
    case 'csv': {
      const { csvRecords } = await import('./csv-records.ts');
      const delimiter = reading.delimiter ?? (isTabbed(name) ? '\t' : null);
      return { format, isRepeatable, records: csvRecords(chunks, { ...reading, name, delimiter }) };
    }
    case 'json':
    case 'ndjson': {
      const isTold = reading.format === 'ndjson';
      const { fromNumber, stop } = reading;
      return {
        format,
        isRepeatable,
        records: jsonRecords(chunks, { name, isTold, fromNumber, stop }),
      };
    }
  }
}

const PACKED = /\.(gz|gzip|zst|zstd)$/i;
const FORMAT_BY_EXTENSION: Readonly<Record<string, RecordFormat>> = {
  '.ndjson': 'json',
  '.jsonl': 'json',
  '.jsonlines': 'json',
  '.json': 'json',
  '.csv': 'csv',
  '.tsv': 'csv',
  '.tab': 'csv',
  '.parquet': 'parquet',
  '.pq': 'parquet',
};

function extensionOf(name: string): string {
  return extname(basename(name).replace(PACKED, '')).toLowerCase();
}

function isTabbed(name: string): boolean {
  return ['.tsv', '.tab'].includes(extensionOf(name));
}

function formatByName(name: string): RecordFormat {
  if (name === '-') return 'json';
  const format = FORMAT_BY_EXTENSION[extensionOf(name)];
  if (format !== undefined) return format;
  throw new UsageError(
    `${name}: expected a name that ends in ${Object.keys(FORMAT_BY_EXTENSION).join(', ')} (or one of these and .gz or .zst), - for stdin, or --format ${RECORD_FORMATS.join('|')}`,
  );
}

/** JSON by its first bytes, whatever the name says. */
const JSON_START = /^\uFEFF?\s*(\{\s*"|\[\s*\{)/;

function formatOf(source: ByteSource, named: RecordFormat, isTold: boolean): RecordFormat {
  if (source.isParquet) return 'parquet';
  const text = Buffer.from(source.head).toString('utf8');
  return named === 'csv' && !isTold && JSON_START.test(text) ? 'json' : named;
}

function refuseParquet(name: string, { isParquet, isPacked, isRepeatable }: ByteSource): void {
  const file = shown(name);
  if (!isParquet) throw new RecordFileError(`${file} is not Parquet: it does not begin with PAR1`);
  if (isRepeatable && !isPacked) return;
  throw new RecordFileError(
    `${file} is Parquet, which is read from its end: put it as a file, unpacked`,
  );
}
