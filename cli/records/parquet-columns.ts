/**
 * The columns of a Parquet file, one row group at a time: much smaller than its rows as objects.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import {
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
  type ParquetParsers,
  parquetMetadataAsync,
  parquetRead,
} from 'hyparquet';

const COMPRESSORS: Compressors = {
  ZSTD: (input) => zstdDecompressSync(input),
  GZIP: (input) => gunzipSync(input),
};

/** The values of a row group by column; all have the same length. */
export type ParquetColumns = Readonly<Record<string, ArrayLike<unknown>>>;

export interface ParquetReading {
  /** Instead of those that make a `Date` of a time, and the like. */
  readonly parsers?: Partial<ParquetParsers>;
  /** False: bytes that are not declared to be text stay bytes. */
  readonly utf8?: boolean;
  /** Sees what the file says of itself before anything is read, and may change it. */
  readonly onMetadata?: (metadata: FileMetaData) => void;
}

export async function* parquetColumns(
  path: string,
  { parsers = {}, utf8 = true, onMetadata }: ParquetReading = {},
): AsyncGenerator<ParquetColumns> {
  const handle = await open(path);
  try {
    const file = await asyncBuffer(handle);
    const metadata = await parquetMetadataAsync(file);
    onMetadata?.(metadata);
    let rowStart = 0;
    for (const group of metadata.row_groups) {
      const rowEnd = rowStart + Number(group.num_rows);
      const columns = new Map<string, ArrayLike<unknown>[]>();
      await parquetRead({
        file,
        metadata,
        rowStart,
        rowEnd,
        parsers,
        utf8,
        compressors: COMPRESSORS,
        // A column comes in several parts, in order, where it has several pages.
        onChunk: ({ columnName, columnData }) => {
          const parts = columns.get(columnName);
          if (parts === undefined) columns.set(columnName, [columnData]);
          else parts.push(columnData);
        },
      });
      yield wholeColumns(path, columns, rowEnd - rowStart);
      rowStart = rowEnd;
    }
  } finally {
    await handle.close();
  }
}

async function asyncBuffer(handle: FileHandle): Promise<AsyncBuffer> {
  const { size } = await handle.stat();
  return {
    byteLength: size,
    async slice(from, to = size) {
      const bytes = Buffer.alloc(to - from);
      await handle.read(bytes, 0, bytes.length, from);
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    },
  };
}

function wholeColumns(
  path: string,
  columns: ReadonlyMap<string, readonly ArrayLike<unknown>[]>,
  rowCount: number,
): ParquetColumns {
  const whole: Record<string, ArrayLike<unknown>> = Object.create(null);
  for (const [name, parts] of columns) {
    const [first] = parts;
    const column =
      parts.length === 1 && first !== undefined ? first : parts.flatMap((part) => Array.from(part));
    if (column.length !== rowCount) {
      throw new Error(
        `${path}: column '${name}' has ${column.length} values in a row group of ${rowCount} rows: the file is damaged`,
      );
    }
    whole[name] = column;
  }
  return whole;
}
